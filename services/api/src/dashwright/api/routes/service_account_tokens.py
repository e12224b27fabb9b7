"""Routes of service account tokens. A token's text is only returned when it is created."""

from typing import Final

from dashwright.api.accounts.service_accounts import ADD_TOKEN, REMOVE_TOKEN, ServiceAccounts, TokenRequest
from dashwright.api.domain import times
from dashwright.api.http.call import Call
from dashwright.api.http.response import NO_STORE, Response, json_response, message_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models import keys as shapes
from dashwright.api.models.response import Message
from dashwright.api.routes.service_account_views import account_of
from dashwright.api.stores import keys
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database

TAG: Final = "service_accounts"
_READ, _WRITE = "serviceaccounts:read", "serviceaccounts:write"
_SOON_SECONDS: Final = 7 * 86_400


def routes(database: Database, accounts: ServiceAccounts, clock: Clock) -> list[Route]:
    """Return the routes, for accounts of the caller's organization; ``{id}`` is a number or a uid."""

    async def listed(call: Call) -> Response:
        async with database.connection() as connection:
            account_id = await account_of(connection, call, _READ)
            found = await keys.tokens(connection, call.identity.org_id, account_id)
        now = clock.seconds()
        return json_response([_token_view(token, now).members() for token in found])

    async def create(call: Call) -> Response:
        # Before the body: a missing right is reported even if the body is invalid.
        async with database.connection() as connection:
            account_id = await account_of(connection, call, _WRITE)
        form = await call.fields(shapes.AddServiceAccountTokenCommand, fault="Bad request data")
        token_id, text = await accounts.add_token(call.actor, call.identity, account_id, TokenRequest(form.name, form.seconds_to_live))
        return json_response(shapes.MadeToken(id=token_id, name=form.name, key=text).members(), headers=NO_STORE)

    async def delete(call: Call) -> Response:
        async with database.connection() as connection:
            account_id = await account_of(connection, call, _WRITE)
        await accounts.remove_token(call.actor, account_id, call.integer("tokenId", "Token ID is invalid"))
        return message_response("Service account token deleted")

    tokens = "/api/serviceaccounts/{id}/tokens"
    read, write = Permission(_READ, any_scope=True), Permission(_WRITE, any_scope=True)
    return [
        Route(
            "GET",
            tokens,
            listed,
            read,
            Operation("listTokens", "an account's tokens, by name; empty for an unknown account", TAG, responses={200: list[shapes.Token]}),
        ),
        Route(
            "POST",
            tokens,
            create,
            write,
            Operation(
                "createToken",
                "create a token; only this response contains its text",
                TAG,
                request=shapes.AddServiceAccountTokenCommand,
                responses={200: shapes.MadeToken},
                errors=(404,),
            ),
            audit=ADD_TOKEN,
        ),
        Route(
            "DELETE",
            f"{tokens}/{{tokenId}}",
            delete,
            write,
            Operation(
                "deleteToken",
                "delete a token, effective immediately",
                TAG,
                responses={200: Message},
                parameters={"tokenId": int},
                errors=(404,),
            ),
            audit=REMOVE_TOKEN,
        ),
    ]


def _token_view(token: keys.StoredToken, now: float) -> shapes.Token:
    left = 0.0 if token.expires is None else max(token.expires - now, 0.0)
    return shapes.Token(
        id=token.id,
        name=token.name,
        created=times.format_time(token.created),
        last_used_at=None if token.last_used_at is None else times.format_time(token.last_used_at),
        expiration=None if token.expires is None else times.format_seconds(token.expires),
        seconds_until_expiration=left if left < _SOON_SECONDS else 0.0,
        has_expired=token.expires is not None and token.expires <= now,
        is_revoked=token.is_revoked,
    )

"""Routes of service account tokens. A token is only returned in full when it is created."""

from typing import Final

from dashwright.api.accounts.service_accounts import ADD_TOKEN, REMOVE_TOKEN, ServiceAccounts, TokenRequest
from dashwright.api.domain import times
from dashwright.api.http.call import Call
from dashwright.api.http.response import NO_STORE, Response, json_response, message_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models import keys as models
from dashwright.api.models.response import Message
from dashwright.api.routes.service_account_views import account_id_of
from dashwright.api.stores import keys
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database

TAG: Final = "service_accounts"
_READ_PERMISSION, _WRITE_PERMISSION = "serviceaccounts:read", "serviceaccounts:write"
_EXPIRES_SOON_SECONDS: Final = 7 * 86_400
"""Remaining life below which the view of a token has the seconds until its expiration, as in Grafana."""


def routes(database: Database, accounts: ServiceAccounts, clock: Clock) -> list[Route]:
    """Return the routes, for accounts of the caller's organization; ``{id}`` is an id or a uid."""

    async def list_tokens(call: Call) -> Response:
        async with database.connection() as connection:
            account_id = await account_id_of(connection, call, _READ_PERMISSION)
            stored_tokens = await keys.list_tokens(connection, call.identity.org_id, account_id)
        now = clock.seconds()
        return json_response([_token_view(token, now).members() for token in stored_tokens])

    async def create(call: Call) -> Response:
        # Before the body is read: a missing permission is reported even if the body is invalid.
        async with database.connection() as connection:
            account_id = await account_id_of(connection, call, _WRITE_PERMISSION)
        body = await call.model_or_400(models.AddServiceAccountTokenCommand, message="Bad request data")
        token_id, token = await accounts.add_token(call.actor, call.identity, account_id, TokenRequest(body.name, body.seconds_to_live))
        return json_response(models.CreatedToken(id=token_id, name=body.name, key=token).members(), headers=NO_STORE)

    async def delete(call: Call) -> Response:
        async with database.connection() as connection:
            account_id = await account_id_of(connection, call, _WRITE_PERMISSION)
        await accounts.remove_token(call.actor, account_id, call.path_integer("tokenId", "Token ID is invalid"))
        return message_response("Service account token deleted")

    path = "/api/serviceaccounts/{id}/tokens"
    read, write = Permission(_READ_PERMISSION, any_scope_suffices=True), Permission(_WRITE_PERMISSION, any_scope_suffices=True)
    return [
        Route(
            "GET",
            path,
            list_tokens,
            read,
            Operation("listTokens", "an account's tokens, by name; empty for an unknown account", TAG, responses={200: list[models.Token]}),
        ),
        Route(
            "POST",
            path,
            create,
            write,
            Operation(
                "createToken",
                "create a token; only this response contains the token itself",
                TAG,
                request=models.AddServiceAccountTokenCommand,
                responses={200: models.CreatedToken},
                errors=(404,),
            ),
            audit=ADD_TOKEN,
        ),
        Route(
            "DELETE",
            f"{path}/{{tokenId}}",
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


def _token_view(token: keys.StoredToken, now: float) -> models.Token:
    remaining_seconds = 0.0 if token.expires is None else max(token.expires - now, 0.0)
    return models.Token(
        id=token.id,
        name=token.name,
        created=times.format_time(token.created),
        last_used_at=None if token.last_used_at is None else times.format_time(token.last_used_at),
        expiration=None if token.expires is None else times.format_seconds(token.expires),
        seconds_until_expiration=remaining_seconds if remaining_seconds < _EXPIRES_SOON_SECONDS else 0.0,
        has_expired=token.expires is not None and token.expires <= now,
        is_revoked=token.is_revoked,
    )

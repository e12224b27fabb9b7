"""Routes of legacy API keys: list and delete. Creating them was removed in favour of service account tokens."""

from typing import Final

import structlog

from dashwright.api.auth.identity_cache import IdentityInvalidation
from dashwright.api.domain import times
from dashwright.api.domain.access.metadata import ScopedType, access_control
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import PUBLIC, Operation, Permission, Route
from dashwright.api.models.keys import ApiKey
from dashwright.api.models.response import Message
from dashwright.api.stores import audit, keys
from dashwright.api.stores.keys import StoredLegacyKey
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import NotFound
from dashwright.common.identity import Identity

log = structlog.get_logger()

REMOVED_MESSAGE: Final = (
    "this endpoint has been removed, please use POST /api/serviceaccounts and POST /api/serviceaccounts/{id}/tokens instead"
)
_DELETE_FAILED: Final = "Failed to delete API key"
_LIST_DESCRIPTION: Final = "Deprecated: use GET /api/serviceaccounts and GET /api/serviceaccounts/{id}/tokens instead."
_DELETE_DESCRIPTION: Final = "Deprecated: use GET /api/serviceaccounts and DELETE /api/serviceaccounts/{id}/tokens/{tokenId} instead."
_CREATE_DESCRIPTION: Final = "Removed: use POST /api/serviceaccounts and POST /api/serviceaccounts/{id}/tokens instead."


def routes(database: Database, identities: IdentityInvalidation, clock: Clock) -> list[Route]:
    """Return the routes. They list and delete legacy keys of the caller's organization, not tokens. ``POST`` always returns 410."""

    async def list_keys(call: Call) -> Response:
        not_before = None if call.query_flag("includeExpired") else int(clock.seconds())
        readable_ids = call.identity.ids("apikeys:read", ScopedType.API_KEY.prefix)
        async with database.connection() as connection:
            legacy_keys = await keys.list_legacy(connection, call.identity.org_id, not_before=not_before, ids=readable_ids)
        caller = call.identity if call.query_flag("accesscontrol") else None
        return json_response([_key_view(key, caller).members() for key in legacy_keys])

    async def delete(call: Call) -> Response:
        key_id = call.path_integer("id", "id is invalid")
        try:
            async with database.transaction() as connection:
                name = await keys.delete_legacy(connection, call.identity.org_id, key_id)
                if name is None:
                    raise NotFound(_DELETE_FAILED)
                org_id = call.identity.org_id
                await audit.record(connection, call.actor, "api-key.delete", f"api-key:{key_id}", org_id=org_id, details={"name": name})
        # After an error, too: the transaction may have been committed before the connection was lost.
        finally:
            identities.invalidate(f"key:{key_id}")
        return message_response("API key deleted")

    async def create(call: Call) -> Response:
        log.warning("removed_endpoint_called")
        return message_response(REMOVED_MESSAGE, 410)

    return [
        Route(
            "GET",
            "/api/auth/keys",
            list_keys,
            Permission("apikeys:read", any_scope_suffices=True),
            Operation(
                "getAPIkeys",
                "the organization's legacy keys, by name",
                "api_keys",
                responses={200: list[ApiKey]},
                query={"includeExpired": "include expired keys", "accesscontrol": "add the caller's permissions on each"},
                parameters={"includeExpired": bool, "accesscontrol": bool},
                description=_LIST_DESCRIPTION,
                deprecated=True,
            ),
            failure_message="Failed to list api keys",
        ),
        Route(
            "DELETE",
            "/api/auth/keys/{id}",
            delete,
            Permission("apikeys:delete", ScopedType.API_KEY.prefix + "{id}"),
            Operation(
                "deleteAPIkey",
                "delete a legacy key",
                "api_keys",
                responses={200: Message},
                parameters={"id": int},
                errors=(404,),
                description=_DELETE_DESCRIPTION,
                deprecated=True,
            ),
            failure_message=_DELETE_FAILED,
            audit="api-key.delete",
        ),
        Route(
            "POST",
            "/api/auth/keys",
            create,
            PUBLIC,
            Operation("addAPIkey", "removed", "api_keys", responses={410: Message}, description=_CREATE_DESCRIPTION, deprecated=True),
        ),
    ]


def _key_view(key: StoredLegacyKey, caller: Identity | None) -> ApiKey:
    """Return the response model of a key. With ``caller``, it includes the caller's permissions on the key."""
    fields: dict[str, object] = {"id": key.id, "name": key.name, "role": key.role.value}
    if key.expires is not None:
        fields["expiration"] = times.format_seconds(key.expires)
    if key.last_used_at is not None:
        fields["last_used_at"] = times.format_time(key.last_used_at)
    if caller is not None and (permissions := access_control(caller, ScopedType.API_KEY, key.id)):
        fields["access_control"] = permissions
    return ApiKey.model_validate(fields)

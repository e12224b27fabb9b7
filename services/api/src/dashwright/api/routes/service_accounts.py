"""Routes of service accounts, and of the migration of legacy keys to them."""

from typing import Final

from dashwright.api.accounts.service_accounts import (
    CREATE,
    DELETE,
    MIGRATE,
    UPDATE,
    ServiceAccountChanges,
    ServiceAccounts,
    unknown_account,
)
from dashwright.api.domain.access.metadata import ScopedType
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.response import Message
from dashwright.api.models.service_accounts import (
    CreateServiceAccountForm,
    Migration,
    ServiceAccount,
    ServiceAccountChanged,
    ServiceAccountPage,
    ServiceAccountProfile,
    UpdateServiceAccountForm,
)
from dashwright.api.routes.service_account_views import account_id_of, item_view, profile_view
from dashwright.api.stores import service_accounts
from dashwright.api.stores.service_accounts import ServiceAccountQuery
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database

TAG: Final = "service_accounts"
_BAD_BODY: Final = "Bad request data"
# The limit on the number of a page keeps the offset within a bigint.
_DEFAULT_PAGE_SIZE, _MAX_PAGE_SIZE, _MAX_PAGE = 1000, 5000, 1_000_000
_READ_PERMISSION, _WRITE_PERMISSION, _DELETE_PERMISSION = "serviceaccounts:read", "serviceaccounts:write", "serviceaccounts:delete"
_SEARCH_QUERY: Final = {
    "query": "text in name, login or e-mail, ignoring case",
    "page": "number of the page, from 1",
    "perpage": f"accounts on a page, by default {_DEFAULT_PAGE_SIZE}, at most {_MAX_PAGE_SIZE}",
    "disabled": "disabled accounts only",
    "expiredTokens": "accounts with an expired token only",
    "external": "externally managed accounts only; always empty",
    "accesscontrol": "add the caller's permissions on each",
}
_PARAMETER_TYPES: Final[dict[str, type]] = {
    "page": int,
    "perpage": int,
    "disabled": bool,
    "expiredTokens": bool,
    "external": bool,
    "accesscontrol": bool,
}


def routes(database: Database, accounts: ServiceAccounts, clock: Clock) -> list[Route]:
    """Return the routes, for the caller's organization. ``{id}`` is an id or a uid."""

    async def search(call: Call) -> Response:
        page = call.query_integer("page", 1, minimum=1, maximum=_MAX_PAGE)
        per_page = call.query_integer("perpage", _DEFAULT_PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE)
        account_query = _account_query(call, clock)
        async with database.connection() as connection:
            org_id, offset = call.identity.org_id, (page - 1) * per_page
            matching_accounts, total = await service_accounts.search(connection, org_id, account_query, limit=per_page, offset=offset)
        caller = call.identity if call.query_flag("accesscontrol") else None
        views = [item_view(account, caller) for account in matching_accounts]
        return json_response(ServiceAccountPage(total_count=total, service_accounts=views, page=page, per_page=per_page).members())

    async def create(call: Call) -> Response:
        body = await call.model_or_400(CreateServiceAccountForm, message=_BAD_BODY)
        account = await accounts.create(call.actor, call.identity, ServiceAccountChanges(body.name, body.role, body.is_disabled))
        return json_response(item_view(account).members(), 201)

    async def get(call: Call) -> Response:
        async with database.connection() as connection:
            account_id = await account_id_of(connection, call, _READ_PERMISSION)
            account = await service_accounts.find(connection, call.identity.org_id, account_id)
        if account is None:
            raise unknown_account()
        # ``members`` keeps the null of ``teams``, which ``json_response`` would leave out of a model.
        return json_response(profile_view(account, call.identity if call.query_flag("accesscontrol") else None).members())

    async def change(call: Call) -> Response:
        # The connection is returned before the body is read, which a slow client may send for a long time.
        async with database.connection() as connection:
            account_id = await account_id_of(connection, call, _WRITE_PERMISSION)
        body = await call.model_or_400(UpdateServiceAccountForm, message=_BAD_BODY)
        account = await accounts.change(
            call.actor, call.identity, account_id, ServiceAccountChanges(body.name, body.role, body.is_disabled)
        )
        view = profile_view(account)
        message = "Service account updated"
        return json_response(ServiceAccountChanged(message=message, id=account.id, name=account.name, serviceaccount=view).members())

    async def delete(call: Call) -> Response:
        async with database.connection() as connection:
            account_id = await account_id_of(connection, call, _DELETE_PERMISSION, error_message="Service account ID is invalid")
        await accounts.remove(call.actor, account_id)
        return message_response("Service account deleted")

    async def migrate(call: Call) -> Response:
        """Migrate all legacy keys, and respond with the numbers of keys and the reasons of failures."""
        migration = await accounts.migrate(call.actor, call.identity)
        details = [f"{name}: all possible logins are taken" for name in migration.failed_keys.values()]
        failed_ids = list(migration.failed_keys)
        response_model = Migration(
            total=migration.total,
            migrated=migration.total - len(failed_ids),
            failed=len(failed_ids),
            failed_apikey_ids=failed_ids,
            failed_details=details,
        )
        return json_response(response_model.members())

    async def migrate_one(call: Call) -> Response:
        migration = await accounts.migrate(call.actor, call.identity, call.path_integer("keyId", "Key ID is invalid"))
        if migration.failed_keys:
            return message_response("Error migrating API key: all possible logins are taken", 409)
        return message_response("Service accounts migrated")

    account_path = "/api/serviceaccounts/{id}"
    read, write = Permission(_READ_PERMISSION, any_scope_suffices=True), Permission(_WRITE_PERMISSION, any_scope_suffices=True)
    write_all = Permission(_WRITE_PERMISSION, "serviceaccounts:*")
    page_responses = {200: ServiceAccountPage}
    return [
        Route(
            "GET",
            "/api/serviceaccounts",
            search,
            read,
            Operation(
                "listServiceAccounts",
                "service accounts, by e-mail and login",
                TAG,
                responses=page_responses,
                query=_SEARCH_QUERY,
                parameters=_PARAMETER_TYPES,
            ),
        ),
        Route(
            "GET",
            "/api/serviceaccounts/search",
            search,
            read,
            Operation(
                "searchOrgServiceAccountsWithPaging",
                "service accounts, by e-mail and login",
                TAG,
                responses=page_responses,
                query=_SEARCH_QUERY,
                parameters=_PARAMETER_TYPES,
            ),
        ),
        Route(
            "POST",
            "/api/serviceaccounts",
            create,
            Permission("serviceaccounts:create", any_scope_suffices=True),
            Operation(
                "createServiceAccount", "create a service account", TAG, request=CreateServiceAccountForm, responses={201: ServiceAccount}
            ),
            audit=CREATE,
        ),
        Route(
            "GET",
            account_path,
            get,
            read,
            Operation(
                "retrieveServiceAccount",
                "get a service account",
                TAG,
                responses={200: ServiceAccountProfile},
                query={"accesscontrol": _SEARCH_QUERY["accesscontrol"]},
                parameters={"accesscontrol": bool},
                errors=(404,),
            ),
        ),
        Route(
            "PATCH",
            account_path,
            change,
            write,
            Operation(
                "updateServiceAccount",
                "change the members that the body contains",
                TAG,
                request=UpdateServiceAccountForm,
                responses={200: ServiceAccountChanged},
                errors=(404,),
            ),
            audit=UPDATE,
        ),
        Route(
            "DELETE",
            account_path,
            delete,
            Permission(_DELETE_PERMISSION, any_scope_suffices=True),
            Operation("deleteServiceAccount", "delete a service account with its tokens", TAG, responses={200: Message}, errors=(404,)),
            audit=DELETE,
        ),
        Route(
            "POST",
            "/api/serviceaccounts/migrate",
            migrate,
            write_all,
            Operation("migrateAPIKeysToServiceAccounts", "migrate all legacy keys to service accounts", TAG, responses={200: Migration}),
            audit=MIGRATE,
        ),
        Route(
            "POST",
            "/api/serviceaccounts/migrate/{keyId}",
            migrate_one,
            write_all,
            Operation(
                "migrateAPIKeyToServiceAccount",
                "migrate a legacy key to a service account",
                TAG,
                responses={200: Message},
                parameters={"keyId": int},
                errors=(404, 409),
            ),
            audit=MIGRATE,
        ),
    ]


def _account_query(call: Call, clock: Clock) -> ServiceAccountQuery:
    """Return the search that the query parameters describe, among the accounts that the caller may read."""
    ids = call.identity.ids(_READ_PERMISSION, ScopedType.SERVICE_ACCOUNT.prefix)
    # Grafana's API description spells the parameter ``Disabled``; its frontend sends ``disabled``.
    only_disabled = call.query_flag("disabled") or call.query_flag("Disabled")
    expired_at = int(clock.seconds()) if call.query_flag("expiredTokens") else None
    # No account is managed externally.
    ids_to_find = frozenset[int]() if call.query_flag("external") else ids
    containing = call.query.get("query", "")
    return ServiceAccountQuery(containing=containing, only_disabled=only_disabled, expired_at=expired_at, ids=ids_to_find)

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
from dashwright.api.domain.access.metadata import Subject
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.response import Message
from dashwright.api.models.service_accounts import (
    CreateServiceAccountForm,
    Migration,
    ServiceAccount,
    ServiceAccountChange,
    ServiceAccountChanged,
    ServiceAccountPage,
    ServiceAccountProfile,
)
from dashwright.api.routes.service_account_views import account_of, item_view, profile_view
from dashwright.api.stores import service_accounts
from dashwright.api.stores.service_accounts import ServiceAccountQuery
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database

TAG: Final = "service_accounts"
_BAD_BODY: Final = "Bad request data"
_PAGE, _LARGEST_PAGE, _LAST_PAGE = 1000, 5000, 1_000_000
_READ, _WRITE, _DELETE = "serviceaccounts:read", "serviceaccounts:write", "serviceaccounts:delete"
_SEARCHED: Final = {
    "query": "text in name, login or e-mail, in any case of letters",
    "page": "from 1",
    "perpage": f"accounts on a page, by default {_PAGE}, at most {_LARGEST_PAGE}",
    "disabled": "disabled accounts only",
    "expiredTokens": "accounts with an expired token only",
    "external": "externally managed accounts only; always empty",
    "accesscontrol": "add the caller's permissions on each",
}
_TYPES: Final[dict[str, type]] = {
    "page": int,
    "perpage": int,
    "disabled": bool,
    "expiredTokens": bool,
    "external": bool,
    "accesscontrol": bool,
}


def routes(database: Database, accounts: ServiceAccounts, clock: Clock) -> list[Route]:
    """Return the routes, for the caller's organization. ``{id}`` is a number or a uid."""

    async def search(call: Call) -> Response:
        page = call.number("page", 1, least=1, most=_LAST_PAGE)
        per_page = call.number("perpage", _PAGE, least=1, most=_LARGEST_PAGE)
        wanted = _search(call, clock)
        async with database.connection() as connection:
            org_id, offset = call.identity.org_id, (page - 1) * per_page
            found, total = await service_accounts.matching(connection, org_id, wanted, limit=per_page, offset=offset)
        caller = call.identity if call.switch("accesscontrol") else None
        shown = [item_view(account, caller) for account in found]
        return json_response(ServiceAccountPage(total_count=total, service_accounts=shown, page=page, per_page=per_page).members())

    async def create(call: Call) -> Response:
        form = await call.fields(CreateServiceAccountForm, fault=_BAD_BODY)
        made = await accounts.create(call.actor, call.identity, ServiceAccountChanges(form.name, form.role, form.is_disabled))
        return json_response(item_view(made).members(), 201)

    async def one(call: Call) -> Response:
        async with database.connection() as connection:
            account_id = await account_of(connection, call, _READ)
            account = await service_accounts.find(connection, call.identity.org_id, account_id)
        if account is None:
            raise unknown_account()
        return json_response(profile_view(account, call.identity if call.switch("accesscontrol") else None).members())

    async def change(call: Call) -> Response:
        async with database.connection() as connection:
            account_id = await account_of(connection, call, _WRITE)
        form = await call.fields(ServiceAccountChange, fault=_BAD_BODY)
        changed = await accounts.change(
            call.actor, call.identity, account_id, ServiceAccountChanges(form.name, form.role, form.is_disabled)
        )
        shown = profile_view(changed)
        text = "Service account updated"
        return json_response(ServiceAccountChanged(message=text, id=changed.id, name=changed.name, serviceaccount=shown).members())

    async def delete(call: Call) -> Response:
        async with database.connection() as connection:
            account_id = await account_of(connection, call, _DELETE, fault="Service account ID is invalid")
        await accounts.remove(call.actor, account_id)
        return message_response("Service account deleted")

    async def migrate(call: Call) -> Response:
        done = await accounts.migrate(call.actor, call.identity)
        details = [f"{name}: all possible logins are taken" for name in done.failed.values()]
        migrated, failed = done.total - len(done.failed), list(done.failed)
        answer = Migration(total=done.total, migrated=migrated, failed=len(failed), failed_apikey_ids=failed, failed_details=details)
        return json_response(answer.members())

    async def migrate_one(call: Call) -> Response:
        done = await accounts.migrate(call.actor, call.identity, call.integer("keyId", "Key ID is invalid"))
        if done.failed:
            return message_response("Error migrating API key: all possible logins are taken", 409)
        return message_response("Service accounts migrated")

    one_account = "/api/serviceaccounts/{id}"
    read, write = Permission(_READ, any_scope=True), Permission(_WRITE, any_scope=True)
    write_all = Permission(_WRITE, "serviceaccounts:*")
    page_answer = {200: ServiceAccountPage}
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
                responses=page_answer,
                query=_SEARCHED,
                parameters=_TYPES,
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
                responses=page_answer,
                query=_SEARCHED,
                parameters=_TYPES,
            ),
        ),
        Route(
            "POST",
            "/api/serviceaccounts",
            create,
            Permission("serviceaccounts:create", any_scope=True),
            Operation(
                "createServiceAccount", "create a service account", TAG, request=CreateServiceAccountForm, responses={201: ServiceAccount}
            ),
            audit=CREATE,
        ),
        Route(
            "GET",
            one_account,
            one,
            read,
            Operation(
                "retrieveServiceAccount",
                "get a service account",
                TAG,
                responses={200: ServiceAccountProfile},
                query={"accesscontrol": _SEARCHED["accesscontrol"]},
                parameters={"accesscontrol": bool},
                errors=(404,),
            ),
        ),
        Route(
            "PATCH",
            one_account,
            change,
            write,
            Operation(
                "updateServiceAccount",
                "change the given members",
                TAG,
                request=ServiceAccountChange,
                responses={200: ServiceAccountChanged},
                errors=(404,),
            ),
            audit=UPDATE,
        ),
        Route(
            "DELETE",
            one_account,
            delete,
            Permission(_DELETE, any_scope=True),
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


def _search(call: Call, clock: Clock) -> ServiceAccountQuery:
    ids = call.identity.ids(_READ, Subject.SERVICE_ACCOUNT.prefix)
    only_disabled = call.switch("disabled") or call.switch("Disabled")
    expired_at = int(clock.seconds()) if call.switch("expiredTokens") else None
    return ServiceAccountQuery(call.query.get("query", ""), only_disabled, expired_at, frozenset[int]() if call.switch("external") else ids)

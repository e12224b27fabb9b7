"""Routes of quotas of organizations and users. While quotas are disabled, every call returns 403."""

from collections.abc import Sequence
from typing import Final

from dashwright.api.http.call import Call, user_only
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Operation, OrganizationInPath, OrganizationView, Permission, Route
from dashwright.api.models.quota_records import QuotaLimit, QuotaRecord
from dashwright.api.models.response import Message
from dashwright.api.stores import audit
from dashwright.common.database.pool import Database
from dashwright.common.errors import Forbidden, NotFound
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.stores import quotas
from dashwright.common.stores.quotas import Quota

SET: Final = "quota.update"
TAG: Final = "quota"
_BAD_REQUEST: Final = "quota.bad-request"
_BAD_USER, _BAD_BODY = "id is invalid", "bad request data"
_DONE: Final = "Organization quota updated"
_ORG_NOT_READ, _USER_NOT_READ, _NOT_SET = "failed to get quota", "Failed to get org quotas", "Failed to update org quotas"


def routes(database: Database, rules: QuotaRules) -> list[Route]:
    """Return the routes. Usage is counted on request. Unknown organizations, users and targets are 404."""

    def require_enabled() -> None:
        if not rules.enabled:
            raise Forbidden("Quotas not enabled", message_id="quota.disabled")

    async def of_org(org_id: int) -> Response:
        require_enabled()
        async with database.connection() as connection:
            found = await quotas.of_org(connection, rules, org_id)
        if found is None:
            raise _unknown_org()
        return _records(found)

    async def of_user(user_id: int) -> Response:
        async with database.connection() as connection:
            found = await quotas.of_user(connection, rules, user_id)
        if found is None:
            raise NotFound("user not found")
        return _records(found)

    async def of_current_org(call: Call) -> Response:
        return await of_org(call.identity.org_id)

    async def of_any_org(call: Call) -> Response:
        return await of_org(_org_id(call))

    async def of_caller(call: Call) -> Response:
        user_id = user_only(call, lacks="user quotas")
        require_enabled()
        return await of_user(user_id)

    async def of_any_user(call: Call) -> Response:
        require_enabled()
        return await of_user(_user_id(call))

    async def put_of_org(call: Call) -> Response:
        require_enabled()
        body = await call.fields(QuotaLimit, fault=_BAD_BODY, message_id=_BAD_REQUEST)
        target, org_id = call.parameters["quota_target"], _org_id(call)
        quotas.check_target(Scope.ORG, target)
        if org_id == 0:  # The store takes 0 for "no organization".
            raise _unknown_org()
        async with database.transaction() as connection:
            await quotas.put(connection, org_id=org_id, target=target, limit=body.limit)
            details = {"target": target, "limit": max(body.limit, -1)}
            await audit.record(connection, call.actor, SET, f"org:{org_id}", org_id=org_id, details=details)
        return message_response(_DONE)

    async def put_of_user(call: Call) -> Response:
        require_enabled()
        body = await call.fields(QuotaLimit, fault=_BAD_BODY, message_id=_BAD_REQUEST)
        target, user_id = call.parameters["quota_target"], _user_id(call)
        quotas.check_target(Scope.USER, target)
        async with database.transaction() as connection:
            await quotas.put(connection, user_id=user_id, target=target, limit=body.limit)
            details = {"target": target, "limit": max(body.limit, -1)}
            await audit.record(connection, call.actor, SET, f"user:{user_id}", org_id=None, details=details)
        return message_response(_DONE)

    in_path = OrganizationInPath("org_id", "orgId is invalid", _BAD_REQUEST)
    listed = {200: list[QuotaRecord]}
    basic = ("basicAuth",)
    return [
        Route(
            "GET",
            "/api/org/quotas",
            of_current_org,
            Permission("orgs.quotas:read", "org:id:{current_org}"),
            Operation("getCurrentOrgQuota", "quotas of the current organization", TAG, responses=listed, errors=(404,)),
            failure=_ORG_NOT_READ,
        ),
        Route(
            "GET",
            "/api/orgs/{org_id}/quotas",
            of_any_org,
            Permission("orgs.quotas:read", "org:id:{org_id}", organization=in_path),
            Operation("getOrgQuota", "quotas of an organization", TAG, responses=listed, parameters={"org_id": int}, errors=(404,)),
            failure=_ORG_NOT_READ,
        ),
        Route(
            "PUT",
            "/api/orgs/{org_id}/quotas/{quota_target}",
            put_of_org,
            Permission("orgs.quotas:write", "org:id:{org_id}", organization=in_path),
            Operation(
                "updateOrgQuota",
                "set a limit of an organization",
                TAG,
                request=QuotaLimit,
                responses={200: Message},
                parameters={"org_id": int},
                errors=(404,),
                security=basic,
            ),
            failure=_NOT_SET,
            audit=SET,
        ),
        Route(
            "GET",
            "/api/user/quotas",
            of_caller,
            SIGNED_IN,
            Operation("getUserQuotas", "quotas of the signed-in user", TAG, responses=listed, errors=(403, 404)),
            failure=_USER_NOT_READ,
        ),
        Route(
            "GET",
            "/api/admin/users/{user_id}/quotas",
            of_any_user,
            Permission("users.quotas:list", "global.users:{user_id}", organization=OrganizationView.GLOBAL),
            Operation(
                "getUserQuota", "quotas of a user", TAG, responses=listed, parameters={"user_id": int}, errors=(404,), security=basic
            ),
            failure=_USER_NOT_READ,
        ),
        Route(
            "PUT",
            "/api/admin/users/{user_id}/quotas/{quota_target}",
            put_of_user,
            Permission("users.quotas:update", "global.users:{user_id}", organization=OrganizationView.GLOBAL),
            Operation(
                "updateUserQuota",
                "set a limit of a user",
                TAG,
                request=QuotaLimit,
                responses={200: Message},
                parameters={"user_id": int},
                errors=(404,),
                security=basic,
            ),
            failure=_NOT_SET,
            audit=SET,
        ),
    ]


def _org_id(call: Call) -> int:
    return call.integer("org_id", "orgId is invalid", message_id=_BAD_REQUEST)


def _user_id(call: Call) -> int:
    return call.integer("user_id", _BAD_USER, message_id=_BAD_REQUEST)


def _unknown_org() -> NotFound:
    return NotFound("Organization not found")


def _records(found: Sequence[Quota]) -> Response:
    return json_response([_record(quota).members() for quota in found])


def _record(quota: Quota) -> QuotaRecord:
    owner = {"org_id": quota.org_id} if quota.org_id else {"user_id": quota.user_id}
    return QuotaRecord(**owner, target=quota.target, limit=quota.limit, used=quota.used)

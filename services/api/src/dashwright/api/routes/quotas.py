"""Routes of quotas of organizations and users. While quotas are disabled, every call returns 403."""

from collections.abc import Sequence
from typing import Final

from dashwright.api.http.call import Call, require_user_id
from dashwright.api.http.response import Response, json_response, message_response
from dashwright.api.http.routing import SIGNED_IN, Operation, OrganizationInPath, OrganizationScope, Permission, Route
from dashwright.api.models.quota_records import QuotaLimit, QuotaRecord
from dashwright.api.models.response import Message
from dashwright.api.stores import audit
from dashwright.common.database.pool import Database
from dashwright.common.errors import Forbidden, NotFound
from dashwright.common.models.quotas import QuotaRules, Scope
from dashwright.common.stores import quotas
from dashwright.common.stores.quotas import Quota

UPDATE: Final = "quota.update"
"""Name of the audit event of a changed limit."""
TAG: Final = "quota"
_BAD_REQUEST_ID: Final = "quota.bad-request"
"""Message id of the error for an invalid path or body."""
_BAD_USER, _BAD_BODY = "id is invalid", "bad request data"
# Messages of Grafana, which name organizations for users, too.
_UPDATED_MESSAGE: Final = "Organization quota updated"
_ORG_READ_FAILED, _USER_READ_FAILED, _UPDATE_FAILED = "failed to get quota", "Failed to get org quotas", "Failed to update org quotas"


def routes(database: Database, rules: QuotaRules) -> list[Route]:
    """Return the routes. The usage is counted for each request. Unknown organizations, users and targets are 404."""

    def require_enabled() -> None:
        if not rules.enabled:
            raise Forbidden("Quotas not enabled", message_id="quota.disabled")

    async def org_quotas_response(org_id: int) -> Response:
        require_enabled()
        async with database.connection() as connection:
            stored_quotas = await quotas.list_for_org(connection, rules, org_id)
        if stored_quotas is None:
            raise _org_not_found()
        return _quotas_response(stored_quotas)

    async def user_quotas_response(user_id: int) -> Response:
        async with database.connection() as connection:
            stored_quotas = await quotas.list_for_user(connection, rules, user_id)
        if stored_quotas is None:
            raise NotFound("user not found")
        return _quotas_response(stored_quotas)

    async def get_current_org_quotas(call: Call) -> Response:
        return await org_quotas_response(call.identity.org_id)

    async def get_org_quotas(call: Call) -> Response:
        return await org_quotas_response(_org_id(call))

    async def get_own_quotas(call: Call) -> Response:
        user_id = require_user_id(call, user_data="user quotas")
        require_enabled()
        return await user_quotas_response(user_id)

    async def get_user_quotas(call: Call) -> Response:
        require_enabled()
        return await user_quotas_response(_user_id(call))

    async def set_org_quota(call: Call) -> Response:
        require_enabled()
        body = await call.model_or_400(QuotaLimit, message=_BAD_BODY, message_id=_BAD_REQUEST_ID)
        target, org_id = call.parameters["quota_target"], _org_id(call)
        quotas.check_target(Scope.ORG, target)
        if org_id == 0:  # For the store, 0 means no organization.
            raise _org_not_found()
        async with database.transaction() as connection:
            await quotas.set_limit(connection, org_id=org_id, target=target, limit=body.limit)
            details = {"target": target, "limit": _stored_limit(body.limit)}
            await audit.record(connection, call.actor, UPDATE, f"org:{org_id}", org_id=org_id, details=details)
        return message_response(_UPDATED_MESSAGE)

    async def set_user_quota(call: Call) -> Response:
        require_enabled()
        body = await call.model_or_400(QuotaLimit, message=_BAD_BODY, message_id=_BAD_REQUEST_ID)
        target, user_id = call.parameters["quota_target"], _user_id(call)
        quotas.check_target(Scope.USER, target)
        async with database.transaction() as connection:
            await quotas.set_limit(connection, user_id=user_id, target=target, limit=body.limit)
            details = {"target": target, "limit": _stored_limit(body.limit)}
            await audit.record(connection, call.actor, UPDATE, f"user:{user_id}", org_id=None, details=details)
        return message_response(_UPDATED_MESSAGE)

    organization_in_path = OrganizationInPath("org_id", "orgId is invalid", _BAD_REQUEST_ID)
    quota_responses = {200: list[QuotaRecord]}
    # As Grafana describes these routes.
    security = ("basicAuth",)
    return [
        Route(
            "GET",
            "/api/org/quotas",
            get_current_org_quotas,
            Permission("orgs.quotas:read", "org:id:{current_org}"),
            Operation("getCurrentOrgQuota", "quotas of the current organization", TAG, responses=quota_responses, errors=(404,)),
            failure_message=_ORG_READ_FAILED,
        ),
        Route(
            "GET",
            "/api/orgs/{org_id}/quotas",
            get_org_quotas,
            Permission("orgs.quotas:read", "org:id:{org_id}", organization=organization_in_path),
            Operation(
                "getOrgQuota", "quotas of an organization", TAG, responses=quota_responses, parameters={"org_id": int}, errors=(404,)
            ),
            failure_message=_ORG_READ_FAILED,
        ),
        Route(
            "PUT",
            "/api/orgs/{org_id}/quotas/{quota_target}",
            set_org_quota,
            Permission("orgs.quotas:write", "org:id:{org_id}", organization=organization_in_path),
            Operation(
                "updateOrgQuota",
                "set a limit of an organization",
                TAG,
                request=QuotaLimit,
                responses={200: Message},
                parameters={"org_id": int},
                errors=(404,),
                security=security,
            ),
            failure_message=_UPDATE_FAILED,
            audit=UPDATE,
        ),
        Route(
            "GET",
            "/api/user/quotas",
            get_own_quotas,
            SIGNED_IN,
            Operation("getUserQuotas", "quotas of the signed-in user", TAG, responses=quota_responses, errors=(403, 404)),
            failure_message=_USER_READ_FAILED,
        ),
        Route(
            "GET",
            "/api/admin/users/{user_id}/quotas",
            get_user_quotas,
            Permission("users.quotas:list", "global.users:{user_id}", organization=OrganizationScope.GLOBAL),
            Operation(
                "getUserQuota",
                "quotas of a user",
                TAG,
                responses=quota_responses,
                parameters={"user_id": int},
                errors=(404,),
                security=security,
            ),
            failure_message=_USER_READ_FAILED,
        ),
        Route(
            "PUT",
            "/api/admin/users/{user_id}/quotas/{quota_target}",
            set_user_quota,
            Permission("users.quotas:update", "global.users:{user_id}", organization=OrganizationScope.GLOBAL),
            Operation(
                "updateUserQuota",
                "set a limit of a user",
                TAG,
                request=QuotaLimit,
                responses={200: Message},
                parameters={"user_id": int},
                errors=(404,),
                security=security,
            ),
            failure_message=_UPDATE_FAILED,
            audit=UPDATE,
        ),
    ]


def _org_id(call: Call) -> int:
    return call.path_integer("org_id", "orgId is invalid", message_id=_BAD_REQUEST_ID)


def _user_id(call: Call) -> int:
    return call.path_integer("user_id", _BAD_USER, message_id=_BAD_REQUEST_ID)


def _stored_limit(limit: int) -> int:
    """Return a limit as it is stored: every negative number means unlimited, and is stored as -1."""
    return max(limit, -1)


def _org_not_found() -> NotFound:
    return NotFound("Organization not found")


def _quotas_response(stored_quotas: Sequence[Quota]) -> Response:
    return json_response([_record(quota).members() for quota in stored_quotas])


def _record(quota: Quota) -> QuotaRecord:
    # A record has only the id of its owner: an organization or a user.
    owner = {"org_id": quota.org_id} if quota.org_id else {"user_id": quota.user_id}
    return QuotaRecord(**owner, target=quota.target, limit=quota.limit, used=quota.used)

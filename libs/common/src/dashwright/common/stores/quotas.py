"""Store of quotas: the limits of organizations, users and the installation, and the checks that creations are within them.

Most uses of quotas are counted at each check; triggers keep the counts of objects in ``resource_count``. A transaction that
creates something takes a lock before it counts, so that two transactions never claim the same remaining place. Dashboards of an
organization use the lock of objects. All other targets use one lock for each owner and target. Locks are taken in this order:
objects, jobs, quotas, rows. Transactions must be read committed, since a count has to include all that was committed before the
lock was taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import Cause, Forbidden, NotFound
from dashwright.common.identity import org_of
from dashwright.common.models.quotas import ORG_TARGETS, TARGETS, UNLIMITED, USER_TARGETS, QuotaRules, Scope

_DASHBOARD = "dashboard"
#: Names in messages of targets that have another name there, as in Grafana.
_SHORT_NAMES = {"org_user": "org"}

_sql = queries.load(__package__, "quotas.sql")


@dataclass(frozen=True, slots=True)
class Quota:
    """Limit and use of one target of an owner: the organization ``org_id`` or the user ``user_id``. The other id is 0."""

    target: str
    limit: int  #: -1: unlimited.
    used: int
    org_id: int = 0
    user_id: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """Intention of a transaction to create ``count`` objects of a target for an owner."""

    scope: Scope
    owner_id: int  #: Id of an organization or user; 0 if the scope is global.
    target: str
    count: int = 1

    def __post_init__(self) -> None:
        if self.target not in TARGETS[self.scope]:
            raise ValueError(f"{self.target} is not counted for the scope {self.scope}")

    @property
    def lock_key(self) -> str:
        """Key of the lock for creations of this target, such as ``org/5/api_key``."""
        return f"{self.scope}/{self.owner_id}/{self.target}"


class QuotaReached(Forbidden):
    """Rejection of a creation that would exceed a limit. ``used`` is the use before the creation."""

    def __init__(self, claim: Claim, *, limit: int, used: int, message: str | None = None) -> None:
        super().__init__(
            message or f"{_SHORT_NAMES.get(claim.target, claim.target)} Quota reached",
            message_id="quota.reached",
            causes=[Cause(f"quota.{claim.target}", "QuotaReached", f"limit {limit}, used {used}")],
            extra={"scope": claim.scope.value, "target": claim.target, "limit": limit, "used": used},
        )
        self.claim = claim
        self.limit = limit
        self.used = used


async def list_for_org(connection: Connection, rules: QuotaRules, org_id: int) -> Sequence[Quota] | None:
    """Return all quotas of an organization in their documented order, or None if it does not exist."""
    rows = await _limits_and_use(connection, rules, [Claim(Scope.ORG, org_id, target) for target in ORG_TARGETS], count_unlimited=True)
    # Every row has ``is_known``, which is true if the owner exists.
    return [Quota(row["target"], row["limit"], row["used"], org_id=org_id) for row in rows] if rows[0]["is_known"] else None


async def list_for_user(connection: Connection, rules: QuotaRules, user_id: int) -> Sequence[Quota] | None:
    """Return all quotas of a user, or None if the user does not exist or is a service account."""
    rows = await _limits_and_use(connection, rules, [Claim(Scope.USER, user_id, target) for target in USER_TARGETS], count_unlimited=True)
    return [Quota(row["target"], row["limit"], row["used"], user_id=user_id) for row in rows] if rows[0]["is_known"] else None


def check_target(scope: Scope, target: str) -> None:
    """Raise NotFound, which lists the known targets, if a scope has no such target."""
    if target not in TARGETS[scope]:
        raise NotFound(f'unknown quota target "{target}"; known: {", ".join(TARGETS[scope])}', message_id="quota.invalid-target")


async def set_limit(connection: Connection, *, org_id: int = 0, user_id: int = 0, target: str, limit: int) -> None:
    """Set the limit of an organization or a user. A negative limit means unlimited.

    After the commit all creations observe the new limit, except those that began while the target was unlimited. Raises
    NotFound for an unknown target, organization or user. Takes the locks that the module docstring describes.
    """
    scope, owner_id = (Scope.ORG, org_id) if org_id else (Scope.USER, user_id)
    check_target(scope, target)
    if target == _DASHBOARD and scope is Scope.ORG:
        await connection.execute(_sql.lock_dashboards, org_id)
    await connection.execute(_sql.lock, [Claim(scope, owner_id, target).lock_key])
    statement = _sql.set_limit_of_org if scope is Scope.ORG else _sql.set_limit_of_user
    if await connection.fetchval(statement, owner_id, target, max(limit, UNLIMITED)) is None:
        raise NotFound("Organization not found" if scope is Scope.ORG else "user not found")


async def reserve(connection: Connection, rules: QuotaRules, *claims: Claim, message: str | None = None) -> None:
    """Ensure that the claims of the caller's transaction are within all limits. Other transactions with such claims wait.

    Raises QuotaReached with ``message``, by default ``org Quota reached`` with the target's name. Call this once for each
    transaction, with all claims, before any row is written or locked. Without limits it costs one small query and no lock.
    """
    if not rules.enabled:
        return
    limits = await connection.fetch(_sql.limits, *_claim_columns(rules, claims))
    limited_claims = [claim for claim, row in zip(claims, limits, strict=True) if row["limit"] >= 0]
    if not limited_claims:
        return
    await connection.execute(_sql.lock, [claim.lock_key for claim in limited_claims])
    for claim, row in zip(limited_claims, await _limits_and_use(connection, rules, limited_claims), strict=True):
        if 0 <= row["limit"] < row["used"] + claim.count:
            raise QuotaReached(claim, limit=row["limit"], used=row["used"], message=message)


async def limits_dashboards(connection: Connection, rules: QuotaRules, namespace: str) -> bool:
    """Return whether the number of dashboards in a namespace has a limit. Without a limit, a sync need not count dashboards."""
    claims = _dashboard_claims(namespace, 0)
    return rules.enabled and any(row["limit"] >= 0 for row in await connection.fetch(_sql.limits, *_claim_columns(rules, claims)))


async def check_dashboards(
    connection: Connection,
    rules: QuotaRules,
    namespace: str,
    *,
    created: int,
    removed: int = 0,
    operation: str | None = None,
    are_changes_written: bool = True,
) -> None:
    """Raise QuotaReached if the caller's transaction creates more dashboards than a limit allows.

    ``created`` and ``removed`` are the changes of this transaction. Pass ``are_changes_written=False`` before they are written. A
    transaction that creates none is always allowed. ``operation``, such as ``sync``, is named in the error if the
    transaction writes more than one object. Call this under the lock of objects.
    """
    if not rules.enabled or created == 0:
        return
    claims = _dashboard_claims(namespace, created)
    # The lock of objects does not exclude writers of other namespaces, so a global limit needs a lock of its own.
    if rules.default(Scope.GLOBAL, _DASHBOARD) >= 0:
        global_claim = claims[-1]
        await connection.execute(_sql.lock, [global_claim.lock_key])
    for claim, row in zip(claims, await _limits_and_use(connection, rules, claims), strict=True):
        change = created - removed
        used_before = row["used"] - change if are_changes_written else row["used"]
        if 0 <= row["limit"] < used_before + change:
            raise _too_many_dashboards(claim, row["limit"], used_before, removed, operation)


def _too_many_dashboards(claim: Claim, limit: int, used: int, removed: int, operation: str | None) -> QuotaReached:
    """Return the error for dashboards beyond a limit. ``used`` is their number before the transaction."""
    if operation is None:
        return QuotaReached(claim, limit=limit, used=used, message=f"dashboard Quota reached: limit {limit}, used {used}")
    subject, pronoun_and_verb = ("the organization", "it has") if claim.scope is Scope.ORG else ("all organizations together", "they have")
    change = f"would add {claim.count}" + (f" and remove {removed}" if removed else "")
    message = (
        f"dashboard Quota reached: {subject} may have {limit}, {pronoun_and_verb} {used} and this {operation} {change}; nothing was written"
    )
    return QuotaReached(claim, limit=limit, used=used, message=message)


def _dashboard_claims(namespace: str, count: int) -> Sequence[Claim]:
    """Return the claims for dashboards in a namespace: that of its organization, if it has one, and last the global one."""
    global_claim = Claim(Scope.GLOBAL, 0, _DASHBOARD, count)
    org_id = org_of(namespace)
    return [global_claim] if org_id is None else [Claim(Scope.ORG, org_id, _DASHBOARD, count), global_claim]


async def _limits_and_use(
    connection: Connection, rules: QuotaRules, claims: Sequence[Claim], *, count_unlimited: bool = False
) -> Sequence[Any]:
    """Return a row for each claim, in order: ``limit``, which is negative if unlimited, ``used``, ``is_known`` and more.

    The use of an unlimited target is counted only with ``count_unlimited``, and is 0 otherwise.
    """
    return await connection.fetch(_sql.limits_and_use, *_claim_columns(rules, claims), count_unlimited)


def _claim_columns(rules: QuotaRules, claims: Sequence[Claim]) -> tuple[list[str], list[int], list[str], list[int]]:
    """Return the scopes, owners, targets and default limits of claims, as parameters of the queries."""
    return (
        [claim.scope.value for claim in claims],
        [claim.owner_id for claim in claims],
        [claim.target for claim in claims],
        [rules.default(claim.scope, claim.target) for claim in claims],
    )

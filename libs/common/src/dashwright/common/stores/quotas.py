"""Store of quotas: limits of organizations, users and the installation, their actual use, and creation within them.

Use is always counted, never stored. A creator holds a lock from before the count to the commit, so that no two of them
count the same free place: the lock of objects for dashboards, one for each owner and target for all else. Locks are
taken in this order: objects, jobs, quotas, rows. Transactions must be read committed, since a count has to see what was
committed before the lock was taken.
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
_SHORT_NAMES = {"org_user": "org"}

_sql = queries.load(__package__, "quotas.sql")


@dataclass(frozen=True, slots=True)
class Quota:
    """Limit and use of one target of an owner. One of the two ids is 0."""

    target: str
    limit: int  #: -1: unlimited.
    used: int
    org_id: int = 0
    user_id: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim of ``new`` more of a target for an owner."""

    scope: Scope
    owner: int  #: Id of an organization or user; 0 if the scope is global.
    target: str
    new: int = 1

    def __post_init__(self) -> None:
        if self.target not in TARGETS[self.scope]:
            raise ValueError(f"{self.target} is not counted for the scope {self.scope}")

    @property
    def place(self) -> str:
        """Key of the lock that creators share: ``org/5/api_key``."""
        return f"{self.scope}/{self.owner}/{self.target}"


class QuotaReached(Forbidden):
    """Creation beyond a limit. ``used`` is the use before it."""

    def __init__(self, claim: Claim, *, limit: int, used: int, text: str | None = None) -> None:
        super().__init__(
            text or f"{_SHORT_NAMES.get(claim.target, claim.target)} Quota reached",
            message_id="quota.reached",
            causes=[Cause(f"quota.{claim.target}", "QuotaReached", f"limit {limit}, used {used}")],
            extra={"scope": claim.scope.value, "target": claim.target, "limit": limit, "used": used},
        )
        self.claim = claim
        self.limit = limit
        self.used = used


async def of_org(connection: Connection, rules: QuotaRules, org_id: int) -> Sequence[Quota] | None:
    """Return all quotas of an organization in their order; None if it does not exist."""
    rows = await _state(connection, rules, [Claim(Scope.ORG, org_id, target) for target in ORG_TARGETS], all_used=True)
    return [Quota(row["target"], row["limit"], row["used"], org_id=org_id) for row in rows] if rows[0]["is_known"] else None


async def of_user(connection: Connection, rules: QuotaRules, user_id: int) -> Sequence[Quota] | None:
    """Return all quotas of a user; None if it does not exist or is a service account."""
    rows = await _state(connection, rules, [Claim(Scope.USER, user_id, target) for target in USER_TARGETS], all_used=True)
    return [Quota(row["target"], row["limit"], row["used"], user_id=user_id) for row in rows] if rows[0]["is_known"] else None


def check_target(scope: Scope, target: str) -> None:
    """Raise NotFound, naming the known targets, if a target has no limit to set."""
    if target not in TARGETS[scope]:
        raise NotFound(f'unknown quota target "{target}"; known: {", ".join(TARGETS[scope])}', message_id="quota.invalid-target")


async def put(connection: Connection, *, org_id: int = 0, user_id: int = 0, target: str, limit: int) -> None:
    """Set the limit of an organization or a user; a negative one removes it.

    After the commit no creation uses the old limit, except those that began while there was none. Raises NotFound for
    an unknown target, organization or user. Takes the locks of creators: see the module docstring.
    """
    scope, owner = (Scope.ORG, org_id) if org_id else (Scope.USER, user_id)
    check_target(scope, target)
    if target == _DASHBOARD:
        await connection.execute(_sql.lock_dashboards)
    await connection.execute(_sql.lock, [Claim(scope, owner, target).place])
    statement = _sql.put_of_org if scope is Scope.ORG else _sql.put_of_user
    if await connection.fetchval(statement, owner, target, max(limit, UNLIMITED)) is None:
        raise NotFound("Organization not found" if scope is Scope.ORG else "user not found")


async def reserve(connection: Connection, rules: QuotaRules, *claims: Claim, text: str | None = None) -> None:
    """Ensure that what the caller creates next, in the same transaction, is within every limit; other creators wait.

    Raises QuotaReached with ``text``, by default ``org Quota reached`` with the target. Call it once a transaction with
    all claims, before any row is written or locked. Without limits it costs one small query and no lock.
    """
    if not rules.enabled:
        return
    limits = await connection.fetch(_sql.limits, *_claim_columns(rules, claims))
    finite = [claim for claim, row in zip(claims, limits, strict=True) if row["limit"] >= 0]
    if not finite:
        return
    await connection.execute(_sql.lock, [claim.place for claim in finite])
    for claim, row in zip(finite, await _state(connection, rules, finite), strict=True):
        if 0 <= row["limit"] < row["used"] + claim.new:
            raise QuotaReached(claim, limit=row["limit"], used=row["used"], text=text)


async def limits_dashboards(connection: Connection, rules: QuotaRules, namespace: str) -> bool:
    """Return whether anything limits the dashboards of a namespace. Without a limit a sync need not count them."""
    claims = _dashboard_claims(namespace, 0)
    return rules.enabled and any(row["limit"] >= 0 for row in await connection.fetch(_sql.limits, *_claim_columns(rules, claims)))


async def check_dashboards(
    connection: Connection,
    rules: QuotaRules,
    namespace: str,
    *,
    created: int,
    removed: int = 0,
    by: str | None = None,
    is_written: bool = True,
) -> None:
    """Raise QuotaReached if the transaction, which holds the lock of objects, has created too many dashboards.

    Call after everything is written, so that ``created`` and ``removed`` are counted already; before that, pass
    ``is_written=False``. A caller that created none is never refused. ``by`` names the work (``sync``) if it concerns
    more than one object.
    """
    if not rules.enabled or created == 0:
        return
    claims = _dashboard_claims(namespace, created)
    for claim, row in zip(claims, await _state(connection, rules, claims), strict=True):
        before = row["used"] - created + removed if is_written else row["used"]
        if 0 <= row["limit"] < before + created - removed:
            raise _too_many(claim, row["limit"], before, removed, by)


def _too_many(claim: Claim, limit: int, used: int, removed: int, by: str | None) -> QuotaReached:
    if by is None:
        return QuotaReached(claim, limit=limit, used=used, text=f"dashboard Quota reached: limit {limit}, used {used}")
    whose, has = ("the organization", "it has") if claim.scope is Scope.ORG else ("all organizations together", "they have")
    change = f"would add {claim.new}" + (f" and remove {removed}" if removed else "")
    text = f"dashboard Quota reached: {whose} may have {limit}, {has} {used} and this {by} {change}; nothing was written"
    return QuotaReached(claim, limit=limit, used=used, text=text)


def _dashboard_claims(namespace: str, new: int) -> Sequence[Claim]:
    everyone = Claim(Scope.GLOBAL, 0, _DASHBOARD, new)
    org_id = org_of(namespace)
    return [everyone] if org_id is None else [Claim(Scope.ORG, org_id, _DASHBOARD, new), everyone]


async def _state(connection: Connection, rules: QuotaRules, claims: Sequence[Claim], *, all_used: bool = False) -> Sequence[Any]:
    return await connection.fetch(_sql.state, *_claim_columns(rules, claims), all_used)


def _claim_columns(rules: QuotaRules, claims: Sequence[Claim]) -> tuple[list[str], list[int], list[str], list[int]]:
    return (
        [claim.scope.value for claim in claims],
        [claim.owner for claim in claims],
        [claim.target for claim in claims],
        [rules.default(claim.scope, claim.target) for claim in claims],
    )

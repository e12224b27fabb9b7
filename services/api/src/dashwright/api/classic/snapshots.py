"""Use cases on snapshots: copies of dashboards with their data, which clients read by key, without credentials, until they expire."""

import hashlib
import re
import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.view import bypasses_rules
from dashwright.api.domain.actor import Actor
from dashwright.api.http.errors import permission_denied
from dashwright.api.stores import access, audit, snapshots
from dashwright.api.stores.snapshots import SnapshotContent, SnapshotOwner, SnapshotRow
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import AlreadyExists, BadRequest, Forbidden, Invalid, NotFound
from dashwright.common.identity import Identity
from dashwright.common.json_documents import check_strings, write_json
from dashwright.common.kinds.registry import DASHBOARD

# Actions of permissions.
READ: Final = "snapshots:read"
CREATE: Final = "snapshots:create"
DELETE: Final = "snapshots:delete"

#: Name of the audit event of a deletion.
DELETED: Final = "snapshot.delete"

#: The lifetime of a snapshot that never expires, as in Grafana.
MAX_LIFETIME_SECONDS: Final = 50 * 365 * 86_400

#: Number of characters of a generated key.
_KEY_LENGTH: Final = 32
_KEY_CHARACTERS: Final = string.ascii_letters + string.digits
#: Keys that clients may choose.
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """A snapshot to create."""

    name: str
    #: The dashboard with its data.
    dashboard: dict[str, Any]
    #: Lifetime in seconds; 0: ``MAX_LIFETIME_SECONDS``.
    expires_seconds: int
    #: Empty for a generated key.
    key: str
    delete_key: str


@dataclass(frozen=True, slots=True)
class SnapshotKeys:
    """The keys of a new snapshot. Of the delete key, only a hash is stored."""

    key: str
    delete_key: str


class Snapshots:
    """The snapshots of a caller's current organization."""

    def __init__(self, database: Database, policy: AccessPolicy, clock: Clock, *, limit: int) -> None:
        """Create the use cases. ``limit`` is the largest number of snapshots of an organization; 0 disables snapshots."""
        self._database = database
        self._policy = policy
        self._clock = clock
        self._limit = limit

    @property
    def are_enabled(self) -> bool:
        """True unless the settings permit no snapshots."""
        return self._limit > 0

    async def create(self, actor: Actor, caller: Identity, request: SnapshotRequest) -> SnapshotKeys:
        """Store a snapshot and return its keys.

        Raises Forbidden if snapshots are disabled, if there are too many, or if the caller may not read the dashboard; BadRequest for an
        invalid key; and AlreadyExists for a key in use.
        """
        self._require_enabled()
        keys = SnapshotKeys(_checked_key(request.key, "key"), _checked_key(request.delete_key, "deleteKey"))
        uid = request.dashboard.get("uid")
        dashboard_uid = uid if isinstance(uid, str) and "\0" not in uid else ""
        # A dashboard that was never saved is unknown, but a snapshot of it is permitted.
        if not await self._may(caller, "get", dashboard_uid, unknown_suffices=True):
            raise permission_denied(DASHBOARD.actions["get"])
        now = self._clock.now()
        lifetime = min(request.expires_seconds or MAX_LIFETIME_SECONDS, MAX_LIFETIME_SECONDS)
        expires_at = now + timedelta(seconds=lifetime)
        content = SnapshotContent(request.name, _encode(request.dashboard), created_at=now, expires_at=expires_at)
        async with self._database.transaction() as connection:
            # Without the lock, concurrent requests could each see one free place and exceed the limit.
            await snapshots.lock(connection, caller.org_id)
            if await snapshots.count(connection, caller.org_id, now=now) >= self._limit:
                raise Forbidden(
                    f"The organization has {self._limit} snapshots, which is the limit (DASHWRIGHT_SNAPSHOTS); delete some first"
                )
            delete_key_hash = _hash(keys.delete_key)
            snapshot_id = await snapshots.insert(
                connection, caller.org_id, caller.user_id, keys.key, delete_key_hash, dashboard_uid, content
            )
            if snapshot_id is None:
                raise AlreadyExists("A snapshot with this key or deleteKey exists; choose another, or leave both out")
            details = {"dashboard": dashboard_uid} if dashboard_uid else {}
            await audit.record(connection, actor, "snapshot.create", _audit_target(snapshot_id), org_id=caller.org_id, details=details)
        return keys

    async def read(self, key: str) -> SnapshotContent:
        """Return the snapshot with a key, from any organization. Raises NotFound, and Forbidden if snapshots are disabled."""
        self._require_enabled()
        _require_possible(key)
        async with self._database.connection() as connection:
            content = await snapshots.read(connection, key, now=self._clock.now())
        if content is None:
            raise _not_found()
        return content

    async def list(self, caller: Identity, containing: str, *, limit: int) -> Sequence[SnapshotRow]:
        """Return the caller's snapshots whose name contains a string; for an Admin, those of all creators."""
        user_id = None if bypasses_rules(caller) else caller.user_id
        async with self._database.connection() as connection:
            return await snapshots.list_all(
                connection, caller.org_id, user_id=user_id, containing=containing, now=self._clock.now(), limit=limit
            )

    async def delete(self, actor: Actor, caller: Identity, key: str) -> int:
        """Delete a snapshot and return its id.

        Raises NotFound, and Forbidden unless the caller is an Admin, its creator, or a user who may edit the dashboard.
        """
        self._require_enabled()
        _require_possible(key)
        async with self._database.connection() as connection:
            owner = await snapshots.find(connection, caller.org_id, key=key, now=self._clock.now())
        if owner is None:
            raise _not_found()
        if not await self._may_delete(caller, owner):
            raise Forbidden("Access denied to this snapshot")
        # Begins after the check of the rights, which needs connections, too: requests that hold one could wait for each other.
        async with self._database.transaction() as connection:
            if not await self._delete(connection, actor, owner):
                raise _not_found()
        return owner.id

    async def delete_by_delete_key(self, actor: Actor, caller: Identity, delete_key: str) -> int:
        """Delete the snapshot of the caller's organization that has a delete key, and return its id. Raises NotFound."""
        self._require_enabled()
        async with self._database.transaction() as connection:
            owner = await snapshots.find(connection, caller.org_id, delete_key_hash=_hash(delete_key), now=self._clock.now())
            if owner is None or not await self._delete(connection, actor, owner):
                raise _not_found()
        return owner.id

    def _require_enabled(self) -> None:
        """Raise Forbidden if snapshots are disabled."""
        if not self.are_enabled:
            raise Forbidden("Dashboard Snapshots are disabled")

    async def _may_delete(self, caller: Identity, owner: SnapshotOwner) -> bool:
        """Return whether the caller is an Admin, the creator of a snapshot, or a user who may edit its dashboard."""
        if bypasses_rules(caller) or (caller.user_id and caller.user_id == owner.user_id):
            return True
        return bool(owner.dashboard_uid) and await self._may(caller, "update", owner.dashboard_uid, unknown_suffices=False)

    async def _may(self, caller: Identity, verb: str, uid: str, *, unknown_suffices: bool) -> bool:
        """Return whether the caller may use a verb on a dashboard.

        With ``unknown_suffices``, an unknown dashboard counts as a dashboard at the root. Without it, the result for an unknown dashboard
        is False.
        """
        async with self._database.connection() as connection:
            dashboard = await access.find(connection, DASHBOARD, caller.namespace, uid) if uid else None
        if dashboard is None and not unknown_suffices:
            return False
        folder = None if dashboard is None else dashboard.folder
        view = await self._policy.view_on(caller, caller.namespace, folder)
        return view.may(DASHBOARD.actions[verb], DASHBOARD, uid, folder)

    async def _delete(self, connection: Connection, actor: Actor, owner: SnapshotOwner) -> bool:
        """Delete a snapshot with an audit event. Return False if another request has deleted it."""
        is_deleted = await snapshots.delete(connection, owner.id)
        if is_deleted:
            await audit.record(connection, actor, DELETED, _audit_target(owner.id), org_id=actor.org_id)
        return is_deleted


def _checked_key(key: str, member: str) -> str:
    """Return the key of a request, or a random one if it is empty. Raises BadRequest for an invalid key."""
    if not key:
        return "".join(secrets.choice(_KEY_CHARACTERS) for _ in range(_KEY_LENGTH))
    if _KEY.fullmatch(key) is None:
        raise BadRequest(f"{member} must have at most 100 letters, digits, hyphens or underscores; leave it out for a random one")
    return key


def _require_possible(key: str) -> None:
    """Raise NotFound for a string that cannot be a key. The database could not even compare some of these strings."""
    if _KEY.fullmatch(key) is None:
        raise _not_found()


def _encode(dashboard: dict[str, Any]) -> str:
    """Return the dashboard as JSON. Raises BadRequest for a string that cannot be stored."""
    try:
        check_strings(dashboard)
    except Invalid as error:
        raise BadRequest(error.message) from error
    return write_json(dashboard).decode()


def _hash(delete_key: str) -> bytes:
    """Return the hash of a delete key. A reader of the database must not be able to delete snapshots by it."""
    return hashlib.sha256(delete_key.encode(errors="replace")).digest()


def _not_found() -> NotFound:
    return NotFound("Snapshot not found")


def _audit_target(snapshot_id: int) -> str:
    return f"snapshot:{snapshot_id}"

"""A change stream in this gateway: the newest changes in memory, and the cursors of its watchers.

There is one stream for objects and one for jobs. A stream reads each change once, however many clients watch, appends it to its
buffer and wakes the cursors that select it. A cursor then reads from the buffer, or from the database if it is further behind.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from dashwright.api.changes.buffer import ChangeBuffer
from dashwright.api.changes.cursor import Cursor, WakeReason
from dashwright.common.database.pool import Connection, Database
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores import changes
from dashwright.common.stores.changes import MAX_TRANSACTION_AGE, Change, Snapshot, StreamName

PAGE_SIZE: Final = 500
"""Limit on the changes that one query reads."""

_SETTLE_SECONDS: Final = 10.0
"""Seconds between two checks for namespaces without a writer. Their bookmarks then advance although nothing changes."""

_MAX_GAP_SECONDS: Final = MAX_TRANSACTION_AGE.total_seconds() / 2
"""Seconds after which the stream does not continue from its last snapshot: changes may have been dropped since then."""

_DATABASE_READERS: Final = 4
"""Limit on the watchers that read from the database concurrently, so that requests find free connections."""

WatchKey = tuple[str, str, str]
"""API group, plural of the kind, and namespace."""


class ChangeStream:
    """A stream of changes that wakes the watchers that a change affects.

    Each ``advance`` reads the changes of the transactions that the previous snapshot did not contain. Within a namespace they arrive
    in the order of their versions; docs/decisions/0012-change-feed-by-namespace.md explains why. ``index`` advances only after all
    changes of a snapshot are buffered and their watchers are woken. Without watchers the stream does not advance.
    """

    def __init__(self, database: Database, stream_name: StreamName) -> None:
        self._database = database
        self.stream_name = stream_name
        #: Cursors by watch key, then by the name of the watched object (None: all objects).
        self._cursors: dict[WatchKey, dict[str | None, set[Cursor]]] = {}
        self._database_readers = asyncio.Semaphore(_DATABASE_READERS)
        self._new_cursors: set[Cursor] = set()  #: Cursors that joined since the last ``advance`` began.
        self._snapshot: Snapshot | None = None  #: Snapshot of the last read; None: the next ``advance`` skips to the newest one.
        self._read_at = 0.0  #: Time of the last read, by the clock of the loop.
        self._settled_at = 0.0  #: Time of the last check for namespaces without a writer, by the clock of the loop.
        #: By watched namespace, the newest version up to which all changes were read.
        self._boundaries: dict[str, int] = {}
        self.change_event = asyncio.Event()
        self.buffer = ChangeBuffer()
        self.index = 0

    @property
    def is_following(self) -> bool:
        """True if cursors can read; false until the first ``advance`` after the first cursor joined."""
        return self._snapshot is not None

    @property
    def is_watched(self) -> bool:
        """True while the stream has cursors."""
        return bool(self._cursors)

    def join(self, kind: Kind, namespace: str, name: str | None, caller: Identity) -> Cursor:
        """Return a new cursor. Call ``Cursor.start`` to set its position."""
        cursor, was_watched = Cursor(self, kind, namespace, name, caller), self.is_watched
        self._cursors.setdefault(_watch_key(kind, namespace), {}).setdefault(name, set()).add(cursor)
        self._new_cursors.add(cursor)
        self._boundaries.setdefault(namespace, 0)
        if not (was_watched and self.is_following):
            # A stream without watchers does not poll, so its first watcher must start it.
            self.change_event.set()
        return cursor

    def leave(self, cursor: Cursor) -> None:
        """Remove a cursor."""
        self._new_cursors.discard(cursor)
        key = _watch_key(cursor.kind, cursor.namespace)
        cursors_by_name = self._cursors.get(key, {})
        cursors = cursors_by_name.get(cursor.name, set())
        cursors.discard(cursor)
        if not cursors:
            cursors_by_name.pop(cursor.name, None)
        if not cursors_by_name:
            self._cursors.pop(key, None)
            if not any(namespace == cursor.namespace for _, _, namespace in self._cursors):
                self._boundaries.pop(cursor.namespace, None)

    def boundary(self, namespace: str) -> int:
        """Return the newest version up to which the stream has read all changes of a watched namespace."""
        return self._boundaries.get(namespace, 0)

    def stop_following(self) -> None:
        """Stop reading changes and discard the buffered ones. Call it when the stream has no watchers."""
        if self.is_following:
            self._snapshot = None
            self.buffer.clear()
            self.index = self.buffer.last_index

    async def advance(self) -> set[str] | None:
        """Read the changes since the last snapshot, and wake the cursors that they affect.

        Returns the namespaces in which folders or access rules changed, or None for any namespace if changes were skipped.
        Raises Unavailable without a change of the index.
        """
        # A cursor that joins during the reads was not matched against the earlier changes, so it is always woken.
        self._new_cursors.clear()
        async with self._database.connection() as connection:
            settled_versions = await self._settled_versions(connection)
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                snapshot = await changes.snapshot(connection)
                previous_snapshot = self._readable_predecessor(snapshot)
                if previous_snapshot is None:
                    self._skip_to(snapshot)
                    changed_namespaces = None
                else:
                    changed_namespaces = await self._read(connection, previous_snapshot, snapshot)
        for namespace, version in settled_versions.items():
            self._raise_boundary(namespace, version)
        return changed_namespaces

    def _readable_predecessor(self, snapshot: Snapshot) -> Snapshot | None:
        """Return the snapshot of the last read, or None if the changes between it and ``snapshot`` cannot be read."""
        previous_snapshot = self._snapshot
        if previous_snapshot is None:
            return None
        if snapshot.latest < previous_snapshot.latest:
            # Versions only increase, so the database was restored to an older state.
            for cursor in self._all_cursors():
                cursor.wake(WakeReason.RELIST)
            return None
        is_recent = asyncio.get_running_loop().time() - self._read_at < _MAX_GAP_SECONDS
        # Trimmed versions above the first snapshot are missing among the changes between the two snapshots.
        is_complete = snapshot.horizon <= previous_snapshot.latest
        return previous_snapshot if is_recent and is_complete else None

    async def _read(self, connection: Connection, previous_snapshot: Snapshot, snapshot: Snapshot) -> set[str]:
        """Read the changes between two snapshots and wake the cursors that they affect.

        Returns the namespaces in which folders or access rules changed.
        """
        changed_namespaces: set[str] = set()
        affected_cursors: set[Cursor] = set()
        newest_versions: dict[str, int] = {}
        try:
            async for change in changes.list_since(connection, self.stream_name, previous_snapshot, page=PAGE_SIZE):
                self.buffer.append(change)
                affected_cursors.update(self._cursors_affected_by(change))
                if change.changes_trees:
                    changed_namespaces.add(change.namespace)
                newest_versions[change.namespace] = change.resource_version
        except BaseException:
            # The next ``advance`` reads these changes again. If they remained buffered, watchers would receive them twice.
            self.buffer.clear()
            self.index = self.buffer.last_index
            raise
        # Before the index changes: ``wake`` sets the position of a waiting cursor to the old index.
        for cursor in affected_cursors | self._new_cursors:
            cursor.wake(WakeReason.CHANGES)
        self._move_to(snapshot)
        for namespace, version in newest_versions.items():
            self._raise_boundary(namespace, version)
        return changed_namespaces

    def _skip_to(self, snapshot: Snapshot) -> None:
        """Continue after a snapshot. Watchers read the skipped changes from the database."""
        for cursor in self._all_cursors():
            cursor.wake(WakeReason.CHANGES)
        self.buffer.clear()
        self._move_to(snapshot)

    def _move_to(self, snapshot: Snapshot) -> None:
        """Let cursors read everything up to a snapshot."""
        # Set together, because a cursor that reads the database relies on the snapshot to contain exactly the changes up to the index.
        self._snapshot, self.index = snapshot, self.buffer.last_index
        self._read_at = asyncio.get_running_loop().time()

    def _raise_boundary(self, namespace: str, version: int) -> None:
        """Set the boundary of a namespace to ``version`` if it was lower. A namespace that is not watched gets no boundary."""
        boundary = self._boundaries.get(namespace)
        if boundary is not None and boundary < version:
            self._boundaries[namespace] = version

    async def _settled_versions(self, connection: Connection) -> dict[str, int]:
        """Return versions by namespace: once the next snapshot is read, all changes up to these versions are read.

        The result is empty within ``_SETTLE_SECONDS`` of the last check.
        """
        now = asyncio.get_running_loop().time()
        if now - self._settled_at < _SETTLE_SECONDS:
            return {}
        self._settled_at = now
        version, namespaces = await changes.settled_version(connection, self.stream_name, self._boundaries)
        return dict.fromkeys(namespaces, version)

    async def read_from_database(self, cursor: Cursor) -> tuple[Sequence[Change], int | None]:
        """Return a page of the changes that a cursor selects, and the index of the stream up to which the cursor has then read."""
        snapshot, index = self._snapshot, self.index
        assert snapshot is not None, "a cursor reads only what the stream has read"
        async with self._database_readers, self._database.connection() as connection:
            page = await changes.list_after(
                connection,
                self.stream_name,
                cursor.version,
                snapshot=snapshot,
                limit=PAGE_SIZE,
                kind=cursor.kind,
                namespace=cursor.namespace,
                name=cursor.name,
            )
        return page, None if len(page) == PAGE_SIZE else index

    def _all_cursors(self) -> Iterator[Cursor]:
        """Return the cursors of all watchers."""
        return (cursor for cursors_by_name in self._cursors.values() for cursors in cursors_by_name.values() for cursor in cursors)

    def _cursors_affected_by(self, change: Change) -> Iterator[Cursor]:
        """Yield the cursors that select a change, and the cursors whose readable objects it may change. A cursor may occur twice."""
        if change.kind is not None:
            cursors_by_name = self._cursors.get(_watch_key(change.kind, change.namespace))
            if cursors_by_name is not None:
                yield from cursors_by_name.get(None, ())
                yield from cursors_by_name.get(change.name, ())
        if change.changes_access:
            for (_, _, namespace), cursors_by_name in self._cursors.items():
                if namespace == change.namespace:
                    for cursors in cursors_by_name.values():
                        yield from (cursor for cursor in cursors if cursor.is_affected_by(change))


def _watch_key(kind: Kind, namespace: str) -> WatchKey:
    return (kind.group, kind.plural, namespace)

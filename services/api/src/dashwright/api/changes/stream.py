"""A change stream as this gateway follows it: the newest changes in memory, and the cursors of its watchers.

There is one stream for objects and one for jobs. A stream reads each change once, however many clients watch, appends it to its
buffer and wakes the cursors that select it. A cursor then reads from the buffer, or from the database if it is further behind.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from dashwright.api.changes.buffer import ChangeBuffer
from dashwright.api.changes.cursor import Cursor, Wake
from dashwright.common.database.pool import Database
from dashwright.common.errors import Gone
from dashwright.common.identity import Identity
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores import changes
from dashwright.common.stores.changes import Change, StreamName

PAGE: Final = 500
"""Changes that one query reads."""

_DATABASE_READERS: Final = 4
"""Watchers that may read from the database concurrently; the others wait, so that they leave connections to requests."""

WatchKey = tuple[str, str, str]
"""API group, plural of the kind, and namespace."""


class ChangeStream:
    """A stream that wakes the watchers that a change concerns.

    ``boundary`` is the newest resource version read so far. It is always the end of a transaction, and advances only after every
    change below it is buffered and its watchers are woken. Without watchers it does not advance.
    """

    def __init__(self, database: Database, stream_name: StreamName) -> None:
        self._database = database
        self.stream_name = stream_name
        self._cursors: dict[WatchKey, dict[str | None, set[Cursor]]] = {}  #: By key, then by name of the object; None: all objects.
        self._database_readers = asyncio.Semaphore(_DATABASE_READERS)
        self._newcomers: set[Cursor] = set()  #: Cursors that joined since the last ``advance`` began.
        self._is_following = False  #: False while nothing is read: the next ``advance`` skips to the newest version.
        self.has_news = asyncio.Event()
        self.buffer = ChangeBuffer()
        self.boundary = 0

    @property
    def is_watched(self) -> bool:
        """True while the stream has cursors."""
        return bool(self._cursors)

    def join(self, kind: Kind, namespace: str, name: str | None, caller: Identity) -> Cursor:
        """Return a new cursor. The caller sets its version."""
        cursor = Cursor(self, kind, namespace, name, caller)
        self._cursors.setdefault(_watch_key(kind, namespace), {}).setdefault(name, set()).add(cursor)
        self._newcomers.add(cursor)
        if not self._is_following:
            # Without this the first watcher would wait for the next change or poll before anything is read.
            self.has_news.set()
        return cursor

    def leave(self, cursor: Cursor) -> None:
        """Remove a cursor."""
        self._newcomers.discard(cursor)
        key = _watch_key(cursor.kind, cursor.namespace)
        by_name = self._cursors.get(key, {})
        watching = by_name.get(cursor.name, set())
        watching.discard(cursor)
        if not watching:
            by_name.pop(cursor.name, None)
        if not by_name:
            self._cursors.pop(key, None)

    def rest(self) -> None:
        """Stop following, for a stream without watchers."""
        self._is_following = False
        self.buffer.clear(self.boundary)

    async def advance(self) -> set[str] | None:
        """Read the changes since the boundary, and wake the cursors that they concern.

        Returns the namespaces in which folders or access rules changed, or None if some changes were skipped and any may have.
        Raises Unavailable; then the boundary has not moved.
        """
        # A cursor that joins while pages are read was not matched against the earlier ones. It is woken in any case.
        self._newcomers.clear()
        async with self._database.connection() as connection:
            head = await changes.head(connection, self.stream_name)
            if head == self.boundary and self._is_following:
                return set()
            if head < self.boundary:
                # Versions only grow, so the database was restored to an older state.
                self._restart_watchers()
            moved: set[str] = set()
            concerned: set[Cursor] = set()
            version = self.boundary
            try:
                while self._is_following:
                    page = await changes.after(connection, self.stream_name, version, until=head, limit=PAGE)
                    for change in page:
                        self.buffer.append(change)
                        concerned.update(self._cursors_concerned(change))
                        if change.alters_tree:
                            moved.add(change.namespace)
                    if len(page) < PAGE:
                        break
                    version = page[-1].resource_version
            except Gone:
                self._is_following = False
            except BaseException:
                # Changes above the boundary are read again next time; a second copy in the buffer would be sent twice.
                self.buffer.clear(self.boundary)
                raise
        if not self._is_following:
            self._pass_over(head)
            return None
        # Waking comes first: it sets the version of a waiting cursor to the old boundary, from which the cursor reads on.
        for cursor in concerned | self._newcomers:
            cursor.wake(Wake.CHANGES)
        self.boundary = head
        return moved

    async def look_back(self, cursor: Cursor, until: int) -> tuple[Sequence[Change], int]:
        """Return a page of the changes that a cursor selects, from the database, and the cursor's version after them."""
        async with self._database_readers, self._database.connection() as connection:
            found = await changes.after(
                connection,
                self.stream_name,
                cursor.version,
                until=until,
                limit=PAGE,
                kind=cursor.kind,
                namespace=cursor.namespace,
                name=cursor.name,
            )
        return found, found[-1].resource_version if len(found) == PAGE else until

    def _restart_watchers(self) -> None:
        """Make all watchers list again."""
        for cursor in self._all_cursors():
            cursor.wake(Wake.RELIST)
        self._is_following = False

    def _pass_over(self, head: int) -> None:
        """Continue at the newest version. Watchers read the skipped changes from the database."""
        for cursor in self._all_cursors():
            cursor.wake(Wake.CHANGES)
        self.buffer.clear(head)
        self.boundary = head
        self._is_following = True

    def _all_cursors(self) -> Iterator[Cursor]:
        return (cursor for by_name in self._cursors.values() for watching in by_name.values() for cursor in watching)

    def _cursors_concerned(self, change: Change) -> Iterator[Cursor]:
        if change.kind is not None:
            by_name = self._cursors.get(_watch_key(change.kind, change.namespace))
            if by_name is not None:
                yield from by_name.get(None, ())
                yield from by_name.get(change.name, ())
        if change.moves_access:
            for (_, _, namespace), by_name in self._cursors.items():
                if namespace == change.namespace:
                    for watching in by_name.values():
                        yield from (cursor for cursor in watching if cursor.looks_for(change))


def _watch_key(kind: Kind, namespace: str) -> WatchKey:
    return (kind.group, kind.plural, namespace)

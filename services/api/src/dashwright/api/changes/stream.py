"""One half of the feed as this gateway follows it."""

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
"""Changes read at once."""

_LOOKING_BACK: Final = 4
"""Watchers that may read from the database at the same time."""

Lane = tuple[str, str, str]


class ChangeStream:
    """The changes of one half up to ``boundary``: the newest version there was when it was last looked, so the end of a transaction.

    Nothing else may move the boundary, and it moves only once everything below it is in the ring and whoever looks for some of it is
    woken. While nobody watches it stays where it is.
    """

    def __init__(self, database: Database, stream_name: StreamName) -> None:
        self._database = database
        self.stream_name = stream_name
        self._lanes: dict[Lane, dict[str | None, set[Cursor]]] = {}
        self._looking_back = asyncio.Semaphore(_LOOKING_BACK)
        self._newcomers: set[Cursor] = set()
        self._is_following = False
        self.heard = asyncio.Event()
        self.buffer = ChangeBuffer()
        self.boundary = 0

    @property
    def is_watched(self) -> bool:
        return bool(self._lanes)

    def join(self, kind: Kind, namespace: str, name: str | None, caller: Identity) -> Cursor:
        """A new place; whoever takes it sets its version."""
        cursor = Cursor(self, kind, namespace, name, caller)
        self._lanes.setdefault(_lane(kind, namespace), {}).setdefault(name, set()).add(cursor)
        self._newcomers.add(cursor)
        if not self._is_following:
            self.heard.set()
        return cursor

    def leave(self, cursor: Cursor) -> None:
        self._newcomers.discard(cursor)
        lane = _lane(cursor.kind, cursor.namespace)
        by_name = self._lanes.get(lane, {})
        watching = by_name.get(cursor.name, set())
        watching.discard(cursor)
        if not watching:
            by_name.pop(cursor.name, None)
        if not by_name:
            self._lanes.pop(lane, None)

    def rest(self) -> None:
        """Nobody watches: what happens from now on need not be kept."""
        self._is_following = False
        self.buffer.clear(self.boundary)

    async def advance(self) -> set[str] | None:
        """Takes in what happened since, and wakes whom it concerns.

        Answers the namespaces in which others than before may see objects; None where that is not known, since some of the feed was
        passed over. Raises Unavailable; then nothing has moved.
        """
        # Who joins meanwhile was not asked whether the first pages concern it.
        self._newcomers.clear()
        async with self._database.connection() as connection:
            head = await changes.head(connection, self.stream_name)
            if head == self.boundary and self._is_following:
                return set()
            if head < self.boundary:
                self._begin_anew()
            moved: set[str] = set()
            concerned: set[Cursor] = set()
            version = self.boundary
            try:
                while self._is_following:
                    page = await changes.after(connection, self.stream_name, version, until=head, limit=PAGE)
                    for change in page:
                        self.buffer.append(change)
                        concerned.update(self._concerned(change))
                        if change.alters_tree:
                            moved.add(change.namespace)
                    if len(page) < PAGE:
                        break
                    version = page[-1].resource_version
            except Gone:
                self._is_following = False
            except BaseException:
                self.buffer.clear(self.boundary)
                raise
        if not self._is_following:
            self._pass_over(head)
            return None
        for cursor in concerned | self._newcomers:
            cursor.wake(Wake.CHANGES)
        self.boundary = head
        return moved

    async def look_back(self, cursor: Cursor, until: int) -> tuple[Sequence[Change], int]:
        """A page of what a cursor looks for, from the database, and the version that it then stands at."""
        async with self._looking_back, self._database.connection() as connection:
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

    def _begin_anew(self) -> None:
        """The database is an older one: what was told is not so any more."""
        for cursor in self._everybody():
            cursor.wake(Wake.AGAIN)
        self._is_following = False

    def _pass_over(self, head: int) -> None:
        """Goes on at the newest version; whoever watches reads from the database what lies between."""
        for cursor in self._everybody():
            cursor.wake(Wake.CHANGES)
        self.buffer.clear(head)
        self.boundary = head
        self._is_following = True

    def _everybody(self) -> Iterator[Cursor]:
        return (cursor for by_name in self._lanes.values() for watching in by_name.values() for cursor in watching)

    def _concerned(self, change: Change) -> Iterator[Cursor]:
        if change.kind is not None:
            by_name = self._lanes.get(_lane(change.kind, change.namespace))
            if by_name is not None:
                yield from by_name.get(None, ())
                yield from by_name.get(change.name, ())
        if change.moves_access:
            for (_, _, namespace), by_name in self._lanes.items():
                if namespace == change.namespace:
                    for watching in by_name.values():
                        yield from (cursor for cursor in watching if cursor.looks_for(change))


def _lane(kind: Kind, namespace: str) -> Lane:
    return (kind.group, kind.plural, namespace)

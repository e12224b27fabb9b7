"""The lines of a watch, written once for all who want them alike."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple
from uuid import UUID

from dashwright.api.resources import formats
from dashwright.api.resources.formats import Format
from dashwright.api.resources.watching.transitions import Told
from dashwright.api.stores import lists
from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Kind
from dashwright.common.single_flight import SingleFlight
from dashwright.common.stores import changes
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.stores.resources import Stored

_BYTES: Final = 16 * 1024 * 1024
_AT_ONCE: Final = 4
"""Pieces whose bodies are read at the same time."""

_INITIAL: Final = "INITIAL"
"""The event in the key of a line that tells of an object which was there when the watch began."""

_BODIES: Final = 1024 * 1024
"""Bytes of the bodies of one piece, unless a single one has more."""


class Piece(NamedTuple):
    """What tells pieces apart: the events in them by their keys, and the shape that they have."""

    events: tuple[tuple[int, str], ...]
    kind: Kind
    version: str
    form: Format
    with_columns: bool


class Written(NamedTuple):
    """Lines, and of how many events they are."""

    lines: bytes
    events: int


class Lines:
    """Pieces of watches, each of some lines. The newest are kept, up to some bytes of them: many watchers hear the same at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._room = _BYTES
        self._written: OrderedDict[Piece, Written] = OrderedDict()
        self._under_way: SingleFlight[Piece, Written] = SingleFlight()
        self._reading = asyncio.Semaphore(_AT_ONCE)

    async def of(self, events: Sequence[Told], kind: Kind, version: str, form: Format, *, with_columns: bool) -> Written:
        """The lines of the first of some events, in order: of as many as have no more bodies than fit into memory. Raises Unavailable."""
        piece = Piece(tuple(event.key for event in events), kind, version, form, with_columns)
        written = self._written.get(piece)
        return written if written is not None else await self._under_way.once(piece, lambda: self._write(piece, events))

    async def of_objects(self, items: Sequence[Stored | StoredJob], kind: Kind, version: str, form: Format, *, with_columns: bool) -> bytes:
        """Return an ``ADDED`` line for each object, in order. Raises Unavailable, and Gone where a body is not kept any more."""
        piece = Piece(tuple((item.resource_version, _INITIAL) for item in items), kind, version, form, with_columns)
        written = self._written.get(piece) or await self._under_way.once(piece, lambda: self._write_objects(piece, items))
        return written.lines

    async def _write_objects(self, piece: Piece, items: Sequence[Stored | StoredJob]) -> Written:
        missing = [item for item in items if isinstance(item, Stored) and not item.spec] if piece.form.needs_body(piece.kind) else []
        bodies: Mapping[UUID, str] = {}
        if missing:
            async with self._reading, self._database.connection() as connection:
                bodies = await lists.read_bodies(connection, missing)
        whole = (item.with_spec(bodies[item.uid]) if isinstance(item, Stored) and item.uid in bodies else item for item in items)
        lines = [
            formats.event(piece.form, piece.kind, piece.version, "ADDED", item, with_columns=first)
            for item, first in zip(whole, [piece.with_columns] + [False] * len(items), strict=False)
        ]
        return self._kept(piece, Written(b"".join(lines), len(lines)))

    async def _write(self, piece: Piece, events: Sequence[Told]) -> Written:
        specs = await self._specs(piece, events)
        lines = [
            formats.event(piece.form, piece.kind, piece.version, event.type, event.item(piece.kind, spec), with_columns=first)
            for event, spec, first in zip(events, specs, [piece.with_columns] + [False] * len(events), strict=False)
        ]
        return self._kept(piece, Written(b"".join(lines), len(lines)))

    async def _specs(self, piece: Piece, events: Sequence[Told]) -> Sequence[str]:
        """The bodies of the first events, where they are shown. One that is not kept any more is empty."""
        if not piece.form.needs_body(piece.kind):
            return ["{}"] * len(events)
        wanted = list(dict.fromkeys(event.body for event in events if event.change.spec is None))
        found: dict[tuple[UUID, int], str | None] = {}
        if wanted:
            async with self._reading, self._database.connection() as connection:
                found = await changes.bodies(connection, wanted, most=_BODIES)
        specs = (event.change.spec or found.get(event.body, "{}") for event in events)
        return [spec for spec in takewhile(lambda spec: spec is not None, specs) if spec is not None]

    def _kept(self, piece: Piece, written: Written) -> Written:
        self._written[piece] = written
        self._room -= len(written.lines)
        while self._room < 0:
            _, dropped = self._written.popitem(last=False)
            self._room += len(dropped.lines)
        return written

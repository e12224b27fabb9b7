"""The lines of watches, encoded once and shared by all watches that receive the same events in the same format."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from dashwright.api.resources import formats
from dashwright.api.resources.formats import Form, Format, Item
from dashwright.api.resources.watching.transitions import Transition
from dashwright.api.stores import lists
from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Kind
from dashwright.common.single_flight import SingleFlight
from dashwright.common.stores import changes
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject

_BYTES: Final = 16 * 1024 * 1024
"""Limit on cached lines, in bytes."""
_CONCURRENT_READS: Final = 4
"""Chunks whose bodies are read concurrently."""

_INITIAL: Final = "INITIAL"
"""Stands for the event type in cache keys of initial objects (``sendInitialEvents``)."""

_BODIES: Final = 1024 * 1024
"""Limit on the bodies of one chunk, in bytes; a single larger body is still read."""


class ChunkKey(NamedTuple):
    """The cache key of a chunk: its events and their format."""

    #: Resource version and type of each event.
    events: tuple[tuple[int, str], ...]
    kind: Kind
    version: str
    form: Format
    #: Whether the first event includes the column definitions (``as=Table``).
    with_columns: bool


class Chunk(NamedTuple):
    """Encoded lines."""

    lines: bytes
    #: Number of events in ``lines``.
    events: int


class Lines:
    """A cache of the newest encoded chunks, limited by their bytes, because many watches send the same lines."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._room = _BYTES
        self._chunks: OrderedDict[ChunkKey, Chunk] = OrderedDict()
        self._in_flight: SingleFlight[ChunkKey, Chunk] = SingleFlight()
        self._reading = asyncio.Semaphore(_CONCURRENT_READS)

    async def of(self, events: Sequence[Transition], kind: Kind, version: str, form: Format, *, with_columns: bool) -> Chunk:
        """Return the lines of as many of the first events as the limit on bodies allows, in order. Raises Unavailable."""
        key = ChunkKey(tuple(event.key for event in events), kind, version, form, with_columns)
        chunk = self._chunks.get(key)
        # Watchers that need the same chunk concurrently wait for one encoding of it.
        return chunk if chunk is not None else await self._in_flight.once(key, lambda: self._write(key, events))

    async def of_objects(
        self, items: Sequence[StoredObject | StoredJob], kind: Kind, version: str, form: Format, *, with_columns: bool
    ) -> bytes:
        """Return an ``ADDED`` line for each object, in order. Raises Unavailable, and Gone if a body is no longer stored."""
        key = ChunkKey(tuple((item.resource_version, _INITIAL) for item in items), kind, version, form, with_columns)
        chunk = self._chunks.get(key) or await self._in_flight.once(key, lambda: self._write_objects(key, items))
        return chunk.lines

    async def _write_objects(self, key: ChunkKey, items: Sequence[StoredObject | StoredJob]) -> Chunk:
        missing = [item for item in items if isinstance(item, StoredObject) and not item.spec] if key.form.needs_body(key.kind) else []
        bodies: Mapping[UUID, str] = {}
        if missing:
            async with self._reading, self._database.connection() as connection:
                bodies = await lists.read_bodies(connection, missing)
        whole = (item.with_spec(bodies[item.uid]) if isinstance(item, StoredObject) and item.uid in bodies else item for item in items)
        lines = [
            event_line(key.form, key.kind, key.version, "ADDED", item, with_columns=first)
            for item, first in zip(whole, [key.with_columns] + [False] * len(items), strict=False)
        ]
        return self._store(key, Chunk(b"".join(lines), len(lines)))

    async def _write(self, key: ChunkKey, events: Sequence[Transition]) -> Chunk:
        specs = await self._specs(key, events)
        lines = [
            event_line(key.form, key.kind, key.version, event.type, event.item(key.kind, spec), with_columns=first)
            for event, spec, first in zip(events, specs, [key.with_columns] + [False] * len(events), strict=False)
        ]
        return self._store(key, Chunk(b"".join(lines), len(lines)))

    async def _specs(self, key: ChunkKey, events: Sequence[Transition]) -> Sequence[str]:
        """Return the specs of the first events, as many as were read.

        A spec is ``{}`` if the format omits specs or the body is no longer stored.
        """
        if not key.form.needs_body(key.kind):
            return ["{}"] * len(events)
        missing = list(dict.fromkeys(event.body for event in events if event.change.spec is None))
        found: dict[tuple[UUID, int], str | None] = {}
        if missing:
            async with self._reading, self._database.connection() as connection:
                found = await changes.bodies(connection, missing, most=_BODIES)
        specs = (event.change.spec or found.get(event.body, "{}") for event in events)
        return [spec for spec in takewhile(lambda spec: spec is not None, specs) if spec is not None]

    def _store(self, key: ChunkKey, chunk: Chunk) -> Chunk:
        self._chunks[key] = chunk
        self._room -= len(chunk.lines)
        # The oldest chunks are evicted first: slow watchers read their changes from the database again.
        while self._room < 0:
            _, dropped = self._chunks.popitem(last=False)
            self._room += len(dropped.lines)
        return chunk


INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def event_line(form: Format, kind: Kind, version: str, event_type: str, item: Item, *, with_columns: bool) -> bytes:
    """Return one line of a watch: an event (``ADDED`` …) and the object. The object of an ``ERROR`` is a Status.

    Set ``with_columns`` for the first event of a table only: clients need the columns once.
    """
    if event_type == "ERROR" and isinstance(item, bytes):
        shown = item
    elif form.form is Form.TABLE:
        shown = formats.table(form, kind, version, {"resourceVersion": formats.version_of(item)}, [item], with_columns=with_columns)
    else:
        shown = formats.encode(form, kind, version, item)
    return b'{"type":"' + event_type.encode() + b'","object":' + shown + b"}\n"


def bookmark_line(form: Format, kind: Kind, version: str, resource_version: int, *, ends_initial: bool) -> bytes:
    """Return a bookmark: all changes up to ``resource_version`` were sent. ``ends_initial`` marks the end of the initial objects."""
    metadata: dict[str, object] = {"resourceVersion": str(resource_version)}
    if ends_initial:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    marked = orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version(version), "metadata": metadata})
    return event_line(form, kind, version, "BOOKMARK", marked, with_columns=False)

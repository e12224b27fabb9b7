"""The lines of watches: events are encoded once for all watches that receive them in the same format."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from dashwright.api.resources import formats
from dashwright.api.resources.formats import Format, Item, Representation, StoredItem
from dashwright.api.resources.watching.transitions import Transition
from dashwright.api.stores import lists
from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Kind
from dashwright.common.single_flight import SingleFlight
from dashwright.common.stores import changes
from dashwright.common.stores.resources import StoredObject

_MAX_CACHED_BYTES: Final = 16 * 1024 * 1024
"""Limit on cached lines, in bytes."""
_MAX_CONCURRENT_READS: Final = 4
"""Limit on the chunks whose bodies are read concurrently."""

_INITIAL: Final = "INITIAL"
"""The event type in cache keys of initial objects (``sendInitialEvents``)."""

_MAX_BODY_BYTES: Final = 1024 * 1024
"""Limit on the bytes of bodies in one chunk, unless a single body is larger."""


class ChunkKey(NamedTuple):
    """The cache key of a chunk: its events and their format."""

    #: Resource version and type of each event.
    events: tuple[tuple[int, str], ...]
    kind: Kind
    version: str
    response_format: Format
    #: Whether the first event includes the column definitions (``as=Table``).
    with_columns: bool


class Chunk(NamedTuple):
    """Encoded lines of several events."""

    lines: bytes
    event_count: int


class EventLines:
    """An encoder of events with a cache of the newest chunks, because many watches send the same lines."""

    def __init__(self, database: Database) -> None:
        self._database = database
        #: Bytes that can still be cached. A new chunk makes the number negative until old chunks are evicted.
        self._free_bytes = _MAX_CACHED_BYTES
        self._chunks: OrderedDict[ChunkKey, Chunk] = OrderedDict()
        self._encodings_in_progress: SingleFlight[ChunkKey, Chunk] = SingleFlight()
        self._read_semaphore = asyncio.Semaphore(_MAX_CONCURRENT_READS)

    async def change_lines(
        self, events: Sequence[Transition], kind: Kind, version: str, response_format: Format, *, with_columns: bool
    ) -> Chunk:
        """Return the lines of the first events, as many as the limit on bodies allows. Raises Unavailable."""
        key = ChunkKey(tuple(event.key for event in events), kind, version, response_format, with_columns)
        # Watchers that need the same chunk concurrently wait for one encoding of it.
        return self._chunks.get(key) or await self._encodings_in_progress.run(key, lambda: self._encode_changes(key, events))

    async def object_lines(
        self, items: Sequence[StoredItem], kind: Kind, version: str, response_format: Format, *, with_columns: bool
    ) -> bytes:
        """Return an ``ADDED`` line for each object. Raises Unavailable, and Gone if a body is no longer stored."""
        key = ChunkKey(tuple((item.resource_version, _INITIAL) for item in items), kind, version, response_format, with_columns)
        chunk = self._chunks.get(key) or await self._encodings_in_progress.run(key, lambda: self._encode_objects(key, items))
        return chunk.lines

    async def _encode_objects(self, key: ChunkKey, items: Sequence[StoredItem]) -> Chunk:
        """Return the lines of initial objects. Missing bodies are read first if the format needs them."""
        objects_without_body = [item for item in items if isinstance(item, StoredObject) and not item.spec]
        bodies: Mapping[UUID, str] = {}
        if objects_without_body and key.response_format.needs_body(key.kind):
            async with self._read_semaphore, self._database.connection() as connection:
                bodies = await lists.read_bodies(connection, objects_without_body)
        complete_items = (
            item.with_spec(bodies[item.uid]) if isinstance(item, StoredObject) and item.uid in bodies else item for item in items
        )
        lines = [
            event_line(key.response_format, key.kind, key.version, "ADDED", item, with_columns=key.with_columns and index == 0)
            for index, item in enumerate(complete_items)
        ]
        return self._cache_chunk(key, Chunk(b"".join(lines), len(lines)))

    async def _encode_changes(self, key: ChunkKey, events: Sequence[Transition]) -> Chunk:
        """Return the lines of the first events, as many as the limit on bodies allows."""
        specs = await self._read_specs(key, events)
        lines = []
        # There may be fewer specs than events; the remaining events are left for the next chunk.
        for index, (event, spec) in enumerate(zip(events, specs, strict=False)):
            item, with_columns = event.item(key.kind, spec), key.with_columns and index == 0
            lines.append(event_line(key.response_format, key.kind, key.version, event.type, item, with_columns=with_columns))
        return self._cache_chunk(key, Chunk(b"".join(lines), len(lines)))

    async def _read_specs(self, key: ChunkKey, events: Sequence[Transition]) -> Sequence[str]:
        """Return the specs of the first events, as many as the limit on bodies allows.

        A spec is ``{}`` if the format omits specs or the body is no longer stored.
        """
        if not key.response_format.needs_body(key.kind):
            return ["{}"] * len(events)
        missing_body_keys = list(dict.fromkeys(event.body_key for event in events if event.change.spec is None))
        bodies: dict[tuple[UUID, int], str | None] = {}
        if missing_body_keys:
            async with self._read_semaphore, self._database.connection() as connection:
                bodies = await changes.bodies(connection, missing_body_keys, max_bytes=_MAX_BODY_BYTES)
        # None: the body exceeds the limit, so its event and all later events are left for the next chunk.
        specs = (event.change.spec or bodies.get(event.body_key, "{}") for event in events)
        # The second condition is always true, and only for the type checker.
        return [spec for spec in takewhile(lambda spec: spec is not None, specs) if spec is not None]

    def _cache_chunk(self, key: ChunkKey, chunk: Chunk) -> Chunk:
        """Cache a chunk, and return it."""
        self._chunks[key] = chunk
        self._free_bytes -= len(chunk.lines)
        # The oldest chunks are evicted first: slow watchers read their changes from the database again.
        while self._free_bytes < 0:
            _, evicted_chunk = self._chunks.popitem(last=False)
            self._free_bytes += len(evicted_chunk.lines)
        return chunk


INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark after the initial objects."""


def event_line(response_format: Format, kind: Kind, version: str, event_type: str, item: Item, *, with_columns: bool) -> bytes:
    """Return one line of a watch: an event (``ADDED`` …) and the object.

    If objects are sent as tables, set ``with_columns`` for the first event only: clients need the column definitions once.
    """
    if response_format.representation is Representation.TABLE:
        object_json = formats.encode_table(
            response_format, kind, version, {"resourceVersion": formats.resource_version_of(item)}, [item], with_columns=with_columns
        )
    else:
        object_json = formats.encode(response_format, kind, version, item)
    return b'{"type":"' + event_type.encode() + b'","object":' + object_json + b"}\n"


def bookmark_line(response_format: Format, kind: Kind, version: str, resource_version: int, *, ends_initial_events: bool) -> bytes:
    """Return a bookmark: all changes up to ``resource_version`` were sent, and with ``ends_initial_events`` all initial objects."""
    metadata: dict[str, object] = {"resourceVersion": str(resource_version)}
    if ends_initial_events:
        metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
    bookmark = orjson.dumps({"kind": kind.kind, "apiVersion": kind.api_version(version), "metadata": metadata})
    return event_line(response_format, kind, version, "BOOKMARK", bookmark, with_columns=False)

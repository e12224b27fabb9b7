"""One watch and the chunks that it sends."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

import orjson
import structlog

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.changes.cursor import Cursor, WakeReason
from dashwright.api.changes.feed import Feed
from dashwright.api.domain.access.view import AccessView
from dashwright.api.domain.selectors import Selection, matches
from dashwright.api.http.errors import ErrorShape, error_response
from dashwright.api.resources.formats import Format
from dashwright.api.resources.request import Target
from dashwright.api.resources.watching.lines import EventLines, bookmark_line
from dashwright.api.resources.watching.options import WatchOptions
from dashwright.api.resources.watching.transitions import Transition, transition_of
from dashwright.common.errors import Gone, Unavailable
from dashwright.common.identity import Identity
from dashwright.common.stores.changes import Change, ObjectState

log = structlog.get_logger()

_MAX_CHUNK_EVENTS: Final = 32
"""Limit on the events in one chunk."""

_NO_VERSIONS: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """The subject and options of a watch."""

    target: Target
    namespace: str
    selection: Selection
    options: WatchOptions
    response_format: Format


class Watch:
    """An asynchronous iterator over the chunks of one watch: initial objects, changes and bookmarks.

    A watch is in the feed until it is closed. It ends with 410, so that the client lists again, if the feed no longer has the
    changes after its version, or if the caller may see other objects than before.
    """

    # A gateway has thousands of watches, and slots take less memory.
    __slots__ = (
        "_cursor",
        "_event_lines",
        "_feed",
        "_initial_chunks",
        "_is_ended",
        "_pending_events",
        "_policy",
        "_request",
        "_sent_versions",
        "_view",
        "_wake_reasons",
        "has_sent_columns",
    )

    def __init__(
        self,
        request: WatchRequest,
        feed: Feed,
        policy: AccessPolicy,
        event_lines: EventLines,
        caller: Identity,
        view: AccessView,
        start_version: int,
        index: int | None,
    ) -> None:
        """Create the watch and add it to the feed.

        ``index`` is the index of the change stream at ``start_version``, or None if the namespace has changed since.
        """
        kind = request.target.kind
        selection = request.selection
        options = request.options
        self._request = request
        self._feed = feed
        self._policy = policy
        self._event_lines = event_lines
        self._view = view
        #: Events that were read, but not sent yet.
        self._pending_events: list[Transition] = []
        #: Reasons that were not handled yet.
        self._wake_reasons = WakeReason.NOTHING
        #: None after all initial objects were sent, and for a watch without them.
        self._initial_chunks: AsyncIterator[bytes] | None = None
        #: Resource versions of initial objects that are newer than their list, by name.
        self._sent_versions: Mapping[str, int] = _NO_VERSIONS
        self.has_sent_columns = False
        self._is_ended = False
        # No object has the empty name, so a watch of an empty selection receives no change.
        name = "" if selection.is_empty else selection.name
        self._cursor: Cursor = feed.watch(
            kind, request.namespace, name, caller, seconds=options.timeout_seconds, bookmarks=options.sends_bookmarks
        )
        self._cursor.start(start_version, index)

    def send_initial_events(self, chunks: AsyncIterator[bytes]) -> None:
        """Let the iterator yield the chunks of the initial objects before any change."""
        self._initial_chunks = chunks

    def continue_from(self, version: int) -> None:
        """Continue from a resource version up to which all changes were sent."""
        self._cursor.version = version

    def skip_sent_versions(self, versions: Mapping[str, int]) -> None:
        """Skip the changes up to the sent resource version of each object. ``versions`` are resource versions by object name."""
        self._sent_versions = {**self._sent_versions, **versions}

    def __aiter__(self) -> AsyncIterator[bytes]:
        # The feed cancels the task of a watcher that must not receive more.
        self._cursor.attach_task(asyncio.current_task())
        return self

    async def __anext__(self) -> bytes:
        if self._is_ended:
            raise StopAsyncIteration
        try:
            chunk = await self._next_chunk()
        except Gone as error:
            self._is_ended = True
            return error_event(error)
        # After an end of the stream, clients resume the watch. After an error event, they would list all objects again.
        except Unavailable as error:
            log.info("watch_ended", error=error.message)
            raise StopAsyncIteration from error
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """End the watch and leave the feed."""
        self._is_ended = True
        self._feed.leave(self._cursor)

    async def _next_chunk(self) -> bytes | None:
        """Return the next chunk, or None at the end."""
        cursor = self._cursor
        while True:
            self._wake_reasons |= cursor.take_wake_reasons()
            if WakeReason.RELIST in self._wake_reasons:
                raise Gone("the access of this caller has changed; list again, and watch from the version of that list")
            if self._initial_chunks is not None:
                if (chunk := await anext(self._initial_chunks, None)) is not None:
                    return chunk
                self._initial_chunks = None
            # Before pending events, so that a watch of objects that change often ends in time, too.
            elif WakeReason.TIMEOUT in self._wake_reasons:
                self._is_ended = True
                is_complete = cursor.is_caught_up and not self._pending_events
                return self._bookmark() if self._request.options.sends_bookmarks and is_complete else None
            elif self._pending_events:
                return await self._encode_events()
            elif not cursor.is_caught_up:
                await self._read_changes()
            elif WakeReason.BOOKMARK in self._wake_reasons:
                self._wake_reasons = WakeReason.NOTHING
                return self._bookmark()
            else:
                self._wake_reasons = WakeReason.NOTHING
                await cursor.wait()

    async def _read_changes(self) -> None:
        """Read changes and append their events to the pending ones. Raises Gone if the caller's access changed."""
        changes = await self._cursor.read_changes()
        if not changes:
            return
        # The view is loaded after the changes, so that it is never older than the changes.
        view = await self._policy.view(self._cursor.caller, self._request.namespace)
        if not self._view.shows_same_objects(view):
            raise Gone("the access of this caller has changed; list again, and watch from the version of that list")
        self._view = view
        for change in changes:
            if self._is_new(change) and (event := transition_of(change, partial(self._is_visible, change.name))) is not None:
                self._pending_events.append(event)

    def _is_new(self, change: Change) -> bool:
        """Return whether the watch requests a change that was not sent with the initial objects."""
        is_requested = change.kind is self._request.target.kind and self._cursor.name in (None, change.name)
        return is_requested and change.resource_version > self._sent_versions.get(change.name, 0)

    def _is_visible(self, name: str, state: ObjectState) -> bool:
        """Return whether the watcher selects an object in a state, and may see it."""
        selection, kind = self._request.selection, self._request.target.kind
        if not selection.is_everything and not matches(selection, _labels_to_match(state, selection), name):
            return False
        return self._view.may(kind.actions["watch"], kind, name, state.folder)

    async def _encode_events(self) -> bytes:
        """Return the lines of the first pending events, and remove these events."""
        target, with_columns = self._request.target, not self.has_sent_columns
        events = self._pending_events[:_MAX_CHUNK_EVENTS]
        chunk = await self._event_lines.change_lines(
            events, target.kind, target.version, self._request.response_format, with_columns=with_columns
        )
        # Events beyond the limit on the bytes of bodies remain pending.
        self._pending_events = self._pending_events[chunk.event_count :]
        self.has_sent_columns = True
        return chunk.lines

    def _bookmark(self) -> bytes:
        request = self._request
        return bookmark_line(
            request.response_format, request.target.kind, request.target.version, self._cursor.position, ends_initial_events=False
        )


def _labels_to_match(state: ObjectState, selection: Selection) -> dict[str, str]:
    """Return the labels of an object that a selection needs.

    Only the metadata has the label of the numeric id. It is larger than the labels, so it is parsed only if the selection has that id.
    """
    if selection.numeric_id is None:
        labels: dict[str, str] = orjson.loads(state.labels)
        return labels
    return orjson.loads(state.metadata).get("labels") or {}


def error_event(error: Gone) -> bytes:
    """Return the event after which a client has to list again."""
    status = error_response(error, ErrorShape.STATUS, "").body
    assert isinstance(status, bytes)
    return b'{"type":"ERROR","object":' + status + b"}\n"

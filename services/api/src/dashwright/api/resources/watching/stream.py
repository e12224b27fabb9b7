"""One watch and the pieces that it sends."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

import orjson
import structlog

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.changes.cursor import Cursor, Wake
from dashwright.api.changes.feed import Feed
from dashwright.api.domain.access.view import View
from dashwright.api.domain.selectors import Selection, matches
from dashwright.api.http.errors import ErrorShape, error_response
from dashwright.api.resources.formats import Format
from dashwright.api.resources.request import Target
from dashwright.api.resources.watching.lines import Lines, bookmark_line
from dashwright.api.resources.watching.options import WatchOptions
from dashwright.api.resources.watching.transitions import Transition, transition_of
from dashwright.common.errors import Gone, Unavailable
from dashwright.common.identity import Identity
from dashwright.common.stores.changes import Change, ObjectState

log = structlog.get_logger()

_EVENTS: Final = 32
"""Events that are sent in one piece."""


_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """The subject and options of a watch."""

    target: Target
    namespace: str
    selection: Selection
    options: WatchOptions
    form: Format


class Watch:
    """The lines of one watch, piece by piece: existing objects, changes and bookmarks.

    A watch is in the feed until it is closed. It ends with 410, so that the client lists again, in two cases. Either the feed
    no longer has the changes after its version, or the caller may see other objects than before.
    """

    __slots__ = (
        "_cursor",
        "_feed",
        "_initial",
        "_is_over",
        "_lines",
        "_pending",
        "_policy",
        "_request",
        "_sent_until",
        "_view",
        "_woken",
        "has_columns",
    )

    def __init__(
        self, request: WatchRequest, feed: Feed, policy: AccessPolicy, lines: Lines, caller: Identity, view: View, after: int
    ) -> None:
        kind, selection, options = request.target.kind, request.selection, request.options
        self._request = request
        self._feed = feed
        self._policy = policy
        self._lines = lines
        self._view = view
        self._pending: list[Transition] = []
        self._woken = Wake.NOTHING
        self._initial: AsyncIterator[bytes] | None = None
        self._sent_until: Mapping[str, int] = _NOTHING
        self.has_columns = False
        self._is_over = False
        name = "" if selection.is_empty else selection.name
        self._cursor: Cursor = feed.watch(kind, request.namespace, name, caller, seconds=options.seconds, bookmarks=options.bookmarks)
        self._cursor.version = after

    def send_first(self, initial: AsyncIterator[bytes]) -> None:
        """Send these pieces before any change."""
        self._initial = initial

    def continue_from(self, version: int) -> None:
        """Continue from a version: everything up to it was sent."""
        self._cursor.version = version

    def skip_until(self, versions: Mapping[str, int]) -> None:
        """Skip changes of objects up to the version of each that was already sent."""
        self._sent_until = {**self._sent_until, **versions}

    def __aiter__(self) -> AsyncIterator[bytes]:
        self._cursor.attach(asyncio.current_task())
        return self

    async def __anext__(self) -> bytes:
        if self._is_over:
            raise StopAsyncIteration
        try:
            piece = await self._next()
        except Gone as error:
            self._is_over = True
            return error_event(error)
        except Unavailable as error:
            log.info("watch_ended", error=error.message)
            raise StopAsyncIteration from error
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """End the watch and leave the feed."""
        self._is_over = True
        self._feed.leave(self._cursor)

    async def _next(self) -> bytes | None:
        """Return the next piece, or None at the end."""
        cursor = self._cursor
        while True:
            self._woken |= cursor.take()
            if Wake.RELIST in self._woken:
                raise Gone("the access of this caller has changed; list again, and watch from the version of that list")
            if self._initial is not None:
                if (piece := await anext(self._initial, None)) is not None:
                    return piece
                self._initial = None
            # Before pending changes, so that a watch of busy objects ends in time, too.
            elif Wake.TIME in self._woken:
                self._is_over = True
                is_whole = cursor.is_caught_up and not self._pending
                return self._bookmark() if self._request.options.bookmarks and is_whole else None
            elif self._pending:
                return await self._events()
            elif not cursor.is_caught_up:
                await self._read()
            elif Wake.BOOKMARK in self._woken:
                self._woken = Wake.NOTHING
                return self._bookmark()
            else:
                self._woken = Wake.NOTHING
                await cursor.wait()

    async def _read(self) -> None:
        """Read some changes and keep the events for this watch. Raises Gone if the caller's access changed."""
        found = await self._cursor.read()
        if not found:
            return
        # The view is read after the changes, so that it is never older than they are.
        view = await self._policy.view(self._cursor.caller, self._request.namespace)
        if not self._view.agrees(view):
            raise Gone("the access of this caller has changed; list again, and watch from the version of that list")
        self._view = view
        for change in found:
            if self._is_new(change) and (event := transition_of(change, partial(self._shows, change.name))) is not None:
                self._pending.append(event)

    def _is_new(self, change: Change) -> bool:
        """Return whether a change concerns the watch and was not sent with the initial objects."""
        is_asked_for = change.kind is self._request.target.kind and self._cursor.name in (None, change.name)
        return is_asked_for and change.resource_version > self._sent_until.get(change.name, 0)

    def _shows(self, name: str, state: ObjectState) -> bool:
        selection, kind = self._request.selection, self._request.target.kind
        if not selection.is_everything and not matches(selection, _labels(state, selection), name):
            return False
        return self._view.may(kind.actions["watch"], kind, name, state.folder)

    async def _events(self) -> bytes:
        target, with_columns = self._request.target, not self.has_columns
        events = self._pending[:_EVENTS]
        chunk = await self._lines.of(events, target.kind, target.version, self._request.form, with_columns=with_columns)
        # Events whose bodies did not fit into memory are encoded next time.
        self._pending = self._pending[chunk.events :]
        self.has_columns = True
        return chunk.lines

    def _bookmark(self) -> bytes:
        request = self._request
        return bookmark_line(request.form, request.target.kind, request.target.version, self._cursor.position, ends_initial=False)


def _labels(state: ObjectState, selection: Selection) -> dict[str, str]:
    """Return the labels to select by. The numeric id is a label of the metadata only."""
    if selection.number is None:
        labels: dict[str, str] = orjson.loads(state.labels)
        return labels
    return orjson.loads(state.metadata).get("labels") or {}


def error_event(error: Gone) -> bytes:
    """Return the event after which a client has to list again."""
    status = error_response(error, ErrorShape.STATUS, "").body
    assert isinstance(status, bytes)
    return b'{"type":"ERROR","object":' + status + b"}\n"

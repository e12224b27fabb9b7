"""``/api/playlists``: the same playlists as in the resource API, in the format of the classic API."""

from typing import Any, Final

import orjson
from pydantic import Field

from dashwright.api.classic.playlists import Playlists
from dashwright.api.classic.routes.dashboards import write_context
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.small_objects import PlaylistDashboard, PlaylistShape, PlaylistSummary
from dashwright.api.stores.audit import event_of
from dashwright.common.kinds.registry import PLAYLIST
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.models.playlist import ItemType

_TAG: Final = "playlists"
"""Group of the operations in the description of the API."""
_MAX_LISTED: Final = 1000
"""Limit on the playlists in a list, which has no pages."""


class PlaylistEntry(ClassicBody):
    """An item of a playlist. Other members, such as the title of the dashboard, are ignored."""

    type: ItemType
    #: The uid, tag or id.
    value: Text


class PlaylistCommand(ClassicBody):
    """A playlist to create or replace."""

    #: Empty for a generated uid; ignored when a playlist is replaced.
    uid: Text = ""
    name: Text
    #: For how long each dashboard is shown, such as ``5m``.
    interval: Text
    items: list[PlaylistEntry] = Field(default_factory=list)

    def spec(self) -> dict[str, Any]:
        """Return the spec of the playlist in the resource API."""
        return {"title": self.name, "interval": self.interval, "items": [entry.model_dump() for entry in self.items]}


class _Handlers:
    """Handlers of playlists."""

    def __init__(self, playlists: Playlists) -> None:
        self._playlists = playlists

    async def list(self, call: Call) -> Response:
        limit = call.query_integer("limit", _MAX_LISTED, minimum=1, maximum=_MAX_LISTED)
        rows = await self._playlists.search(call.identity, call.query.get("query", ""), limit=limit)
        specs = [(row.uid, orjson.loads(row.spec)) for row in rows]
        return json_response([PlaylistSummary(uid=uid, name=spec["title"], interval=spec["interval"]) for uid, spec in specs])

    async def get(self, call: Call) -> Response:
        return json_response(await self._requested_playlist(call))

    async def items(self, call: Call) -> Response:
        return json_response((await self._requested_playlist(call)).items)

    async def create(self, call: Call) -> Response:
        command = await call.model_or_400(PlaylistCommand, message="bad request data")
        playlist = await self._playlists.create(write_context(call), command.uid, command.spec())
        return json_response(_classic_playlist(playlist.name, playlist.spec))

    async def replace(self, call: Call) -> Response:
        command = await call.model_or_400(PlaylistCommand, message="bad request data")
        playlist = await self._playlists.replace(write_context(call), call.parameters["uid"], command.spec())
        return json_response(_classic_playlist(playlist.name, playlist.spec))

    async def delete(self, call: Call) -> Response:
        await self._playlists.delete(write_context(call), call.parameters["uid"])
        return json_response({})

    async def _requested_playlist(self, call: Call) -> PlaylistShape:
        """Return the playlist in the path. Raises NotFound."""
        playlist = await self._playlists.get(call.identity, call.parameters["uid"])
        return _classic_playlist(playlist.name, playlist.spec)


def _classic_playlist(uid: str, encoded_spec: str) -> PlaylistShape:
    """Return a playlist of the resource API in the format of this API."""
    spec = orjson.loads(encoded_spec)
    items = [PlaylistDashboard(type=item["type"], value=item["value"]) for item in spec["items"]]
    return PlaylistShape(uid=uid, name=spec["title"], interval=spec["interval"], items=items)


def routes(playlists: Playlists) -> list[Route]:
    """Return the routes of playlists."""
    handlers, actions = _Handlers(playlists), PLAYLIST.actions
    path = "/api/playlists"
    playlist_path = f"{path}/{{uid}}"
    listing = Operation(
        "searchPlaylists",
        "playlists, by name",
        _TAG,
        responses={200: list[PlaylistSummary]},
        query={"query": "part of the name", "limit": "the maximum number of playlists, by default and at most 1000"},
        parameters={"limit": int},
    )
    get = Operation("getPlaylist", "one playlist", _TAG, responses={200: PlaylistShape}, errors=(404,))
    items = Operation("getPlaylistItems", "the items of a playlist", _TAG, responses={200: list[PlaylistDashboard]}, errors=(404,))
    create = Operation("createPlaylist", "create a playlist", _TAG, PlaylistCommand, {200: PlaylistShape}, errors=(409, 422))
    replace = Operation("updatePlaylist", "replace a playlist", _TAG, PlaylistCommand, {200: PlaylistShape}, errors=(404, 409, 422))
    delete = Operation("deletePlaylist", "delete a playlist", _TAG, responses={200: dict[str, str]}, errors=(404,))
    events = {verb: event_of(PLAYLIST, verb) for verb in ("create", "update", "delete")}
    return [
        Route("GET", path, handlers.list, Permission(actions["list"]), listing),
        Route("POST", path, handlers.create, Permission(actions["create"]), create, audit=events["create"]),
        Route("GET", playlist_path, handlers.get, Permission(actions["get"]), get),
        Route("PUT", playlist_path, handlers.replace, Permission(actions["update"]), replace, audit=events["update"]),
        Route("DELETE", playlist_path, handlers.delete, Permission(actions["delete"]), delete, audit=events["delete"]),
        Route("GET", f"{playlist_path}/items", handlers.items, Permission(actions["get"]), items),
    ]

"""``/api/query-history``: the queries that a user has run, with comments and stars."""

from datetime import UTC, datetime
from typing import Any, Final

from dashwright.api.classic.common import parse_exact
from dashwright.api.classic.query_history import QueryHistory
from dashwright.api.domain.times import MAX_SECONDS
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, Permission, Route
from dashwright.api.models.small_objects import HistoryEntryDeleted, HistoryEntryHead, HistoryEntryResponse, HistoryPageResponse
from dashwright.api.stores.query_history import HistoryEntry, HistoryQuery
from dashwright.common.models.classic import ClassicBody, Name, Text

_TAG: Final = "query history"
"""Group of the operations in the description of the API."""
_EXPLORE: Final = "datasources:explore"
"""The action that the routes require, as in Grafana."""
_PAGE_SIZE: Final = 100
_MAX_PAGE: Final = 1_000_000
"""Limit on the number of a page, which keeps the offset within a bigint."""
_BODY_LIMIT: Final = 128 * 1024
_OLDEST_FIRST: Final = "time-asc"
_QUERY_DESCRIPTIONS: Final = {
    "datasourceUid": "the uid of a data source; may be repeated",
    "searchString": "part of the queries or of the comment",
    "onlyStarred": "true: only entries with a star",
    "sort": "time-asc for the oldest first, otherwise the newest first",
    "from": "Unix seconds: entries from this time on",
    "to": "Unix seconds: entries until this time",
    "page": "from 1",
    "limit": "entries on a page, by default and at most 100",
}


class CreateQueryInQueryHistoryCommand(ClassicBody):
    """An entry to add to the query history of the caller."""

    datasource_uid: Name
    #: As they were sent to the data source.
    queries: list[dict[str, Any]]


class PatchQueryCommentInQueryHistoryCommand(ClassicBody):
    """The comment to set on an entry of a query history. An empty comment removes the current one."""

    comment: Text


class _Handlers:
    """Handlers of query histories."""

    def __init__(self, history: QueryHistory) -> None:
        self._history = history

    async def search(self, call: Call) -> Response:
        limit = call.query_integer("limit", _PAGE_SIZE, minimum=1, maximum=_PAGE_SIZE)
        page = call.query_integer("page", 1, minimum=1, maximum=_MAX_PAGE)
        query = HistoryQuery(
            data_sources=[uid for uid in call.query.getall("datasourceUid", []) if uid],
            containing=call.query.get("searchString", ""),
            only_starred=call.query_flag("onlyStarred"),
            since=_time(call, "from"),
            until=_time(call, "to"),
            oldest_first=call.query.get("sort") == _OLDEST_FIRST,
        )
        history_page = await self._history.search(call.identity, query, limit=limit, offset=(page - 1) * limit)
        head = f'{{"result":{{"totalCount":{history_page.total},"page":{page},"perPage":{limit},"queryHistory":['
        entries = b",".join(_encode(entry, call.identity.user_id) for entry in history_page.entries)
        return Response(200, head.encode() + entries + b"]}}", may_compress=True)

    async def add(self, call: Call) -> Response:
        command = parse_exact(await call.body(), CreateQueryInQueryHistoryCommand)
        return _entry_response(call, await self._history.add(call.actor, call.identity, command.datasource_uid, command.queries))

    async def set_comment(self, call: Call) -> Response:
        command = await call.model_or_400(PatchQueryCommentInQueryHistoryCommand, message="bad request data")
        return _entry_response(call, await self._history.set_comment(call.actor, call.identity, call.parameters["uid"], command.comment))

    async def star(self, call: Call) -> Response:
        return _entry_response(call, await self._history.set_star(call.actor, call.identity, call.parameters["uid"], is_starred=True))

    async def unstar(self, call: Call) -> Response:
        return _entry_response(call, await self._history.set_star(call.actor, call.identity, call.parameters["uid"], is_starred=False))

    async def delete(self, call: Call) -> Response:
        entry_id = await self._history.delete(call.actor, call.identity, call.parameters["uid"])
        return json_response(HistoryEntryDeleted(id=entry_id, message="Query deleted"))


def _time(call: Call, name: str) -> datetime | None:
    """Return a query parameter in Unix seconds as a time, or None if it is missing or invalid."""
    seconds = call.query_integer(name, 0, minimum=1, maximum=MAX_SECONDS)
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _entry_response(call: Call, entry: HistoryEntry) -> Response:
    """Return one entry of the caller as the response."""
    return Response(200, b'{"result":' + _encode(entry, call.identity.user_id) + b"}")


def _encode(entry: HistoryEntry, user_id: int) -> bytes:
    """Return an entry as JSON. Its queries are included as they are stored, so that numbers in them remain exact."""
    head = HistoryEntryHead(
        uid=entry.uid,
        datasource_uid=entry.data_source_uid,
        created_by=user_id,
        created_at=int(entry.created_at.timestamp()),
        comment=entry.comment,
        starred=entry.is_starred,
    )
    return head.to_json()[:-1] + b',"queries":' + entry.queries.encode() + b"}"


def routes(history: QueryHistory) -> list[Route]:
    """Return the routes of query histories."""
    handlers, permission, path = _Handlers(history), Permission(_EXPLORE), "/api/query-history"
    entry_path, star_path = f"{path}/{{uid}}", f"{path}/star/{{uid}}"
    one_entry = {200: HistoryEntryResponse}
    search = Operation(
        "searchQueries",
        "the caller's entries",
        _TAG,
        responses={200: HistoryPageResponse},
        query=_QUERY_DESCRIPTIONS,
        parameters={
            "datasourceUid": list[str],
            "onlyStarred": bool,
            **dict.fromkeys(("from", "to", "page", "limit"), int),
        },
    )
    add = Operation("createQuery", "add an entry", _TAG, CreateQueryInQueryHistoryCommand, one_entry)
    comment = Operation(
        "patchQueryComment", "set the comment of an entry", _TAG, PatchQueryCommentInQueryHistoryCommand, one_entry, errors=(404,)
    )
    delete = Operation("deleteQuery", "delete an entry", _TAG, responses={200: HistoryEntryDeleted}, errors=(404,))
    star = Operation("starQuery", "star an entry", _TAG, responses=one_entry, errors=(404,))
    unstar = Operation("unstarQuery", "remove the star of an entry", _TAG, responses=one_entry, errors=(404,))
    update_event = "queryhistory.update"
    return [
        Route("GET", path, handlers.search, permission, search),
        Route("POST", path, handlers.add, permission, add, body_limit=_BODY_LIMIT, audit="queryhistory.create"),
        Route("PATCH", entry_path, handlers.set_comment, permission, comment, audit=update_event),
        Route("DELETE", entry_path, handlers.delete, permission, delete, audit="queryhistory.delete"),
        Route("POST", star_path, handlers.star, permission, star, audit=update_event),
        Route("DELETE", star_path, handlers.unstar, permission, unstar, audit=update_event),
    ]

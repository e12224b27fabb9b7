"""HTML pages: ``/dashboards`` with the dashboards and folders at the root or the results of a search, and the contents of folders."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.api.http import html
from dashwright.api.http.call import Call
from dashwright.api.http.paging import PAGE_PARAMETER, Paging
from dashwright.api.http.response import Response
from dashwright.api.http.routing import SIGNED_IN, Content, Operation, Route
from dashwright.api.routes.readable_titles import ListedTitle, ReadableTitles
from dashwright.common.errors import NotFound

_PATH: Final = "/dashboards"
_TAG: Final = "pages"
_PAGE_SIZE: Final = 100
_MAX_PAGE: Final = 100_000
_MAX_TAGS: Final = 200
"""Limit on the tags that a page offers for a selection."""
_MAX_SELECTED_TAGS: Final = 20
"""Limit on the selected tags. Further tags in the URL are ignored."""
_ROOT: Final = ""
"""Uid of the root in a filter of folders."""


def routes(titles: ReadableTitles) -> list[Route]:
    """Return the routes. Each page lists only the objects that its caller may read."""

    async def dashboards(call: Call) -> Response:
        query, tags = call.query.get("query", ""), [tag for tag in call.query.getall("tag", []) if tag][:_MAX_SELECTED_TAGS]
        is_search = bool(query or tags)
        filters: dict[str, Any] = {"containing": query, "tags": tags} if is_search else {"folders": [_ROOT]}
        return await _list_page(call, titles, "Search" if is_search else "Dashboards", filters, query=query, tags=tags)

    async def folder(call: Call) -> Response:
        uid = call.parameters["uid"]
        listed_folder = await titles.folder(call.identity, uid)
        if listed_folder is None:
            raise NotFound(f'folder "{uid}" not found')
        path = await titles.path(call.identity, uid)
        return await _list_page(call, titles, listed_folder.title, {"folders": [uid]}, parents=path[:-1], is_folder=True)

    responses = {200: Content(str, ("text/html",))}
    page = {PAGE_PARAMETER: "number of the page of the list, from 1"}
    query = {"query": "part of the title; without it and tag the root is listed", "tag": "a tag that all results have", **page}
    parameters = {"tag": list[str], PAGE_PARAMETER: int}
    list_routes = [
        Route(
            "GET",
            _PATH,
            dashboards,
            SIGNED_IN,
            Operation("showDashboards", "Show dashboards and folders", _TAG, responses=responses, query=query, parameters=parameters),
        )
    ]
    for path, operation_id in ((f"{_PATH}/f/{{uid}}", "showFolder"), (f"{_PATH}/f/{{uid}}/{{slug}}", "showFolderWithSlug")):
        operation = Operation(
            operation_id,
            "Show the contents of a folder",
            _TAG,
            responses=responses,
            query=page,
            parameters={PAGE_PARAMETER: int},
            errors=(404,),
        )
        list_routes.append(Route("GET", path, folder, SIGNED_IN, operation))
    return list_routes


async def _list_page(
    call: Call,
    titles: ReadableTitles,
    title: str,
    filters: Mapping[str, Any],
    *,
    query: str = "",
    tags: Sequence[str] = (),
    parents: Sequence[ListedTitle] = (),
    is_folder: bool = False,
) -> Response:
    """Return a page of the list of all dashboards and folders that match ``filters``."""
    caller, number = call.identity, call.query_integer(PAGE_PARAMETER, 1, minimum=1, maximum=_MAX_PAGE)
    total = await titles.count(caller, **filters)
    parameters = [*([("query", query)] if query else []), *(("tag", tag) for tag in tags)]
    paging = Paging.of(call.path, parameters, number=number, item_count=total, size=_PAGE_SIZE)
    matches = await titles.search(caller, limit=_PAGE_SIZE, offset=(paging.number - 1) * _PAGE_SIZE, **filters)
    known_tags = list(await titles.tags(caller, _MAX_TAGS))
    # A selected tag is shown even if it is rare, so that users can deselect it. Its number of dashboards is not known.
    known_tags += [(tag, 0) for tag in tags if tag not in dict(known_tags)]
    is_search = bool(query or tags)
    return html.page(
        "dashboards.html",
        title=title,
        query=query,
        tags=known_tags,
        selected_tags=tags,
        matches=matches,
        is_search=is_search,
        has_parents=is_folder,
        parents=parents,
        summary=_summary(total, query, tags),
        paging=paging,
    )


def _summary(total: int, query: str, tags: Sequence[str]) -> str:
    """Return a description of the list in words."""
    subject = "1 dashboard or folder" if total == 1 else f"{total} dashboards and folders"
    conditions = []
    if query:
        conditions.append(f"with “{query}” in the title")
    if tags:
        conditions.append(f"with the tag {' and '.join(tags)}")
    return f"{subject} {' and '.join(conditions)}" if conditions else subject

"""``/api/search``: dashboards and folders by title, tags, folder and stars; and the tags of dashboards."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field, create_model

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic.common import ROOT_NAMES
from dashwright.api.domain.access.object_scope import NOTHING
from dashwright.api.domain.access.view import deleted_by_filter
from dashwright.api.domain.times import format_time
from dashwright.api.domain.urls import dashboard_url, folder_url, slug_of
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response, json_response, legacy_500_response
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.api.models.classic_objects import ClassicSearchHit, SortOption, SortOptions, TagCount
from dashwright.api.models.response import Message
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.classic import ClassicBody, Text

_PAGE_SIZE: Final = 1000
_MAX_PAGE_SIZE: Final = 5000
_MAX_PAGE: Final = 1_000_000_000
"""Limit on the number of a page, which keeps the offset within a bigint."""
_UNUSED_ID: Final = -1
"""A numeric id that no object has."""
# Grafana's names of the types of results.
_DASHBOARD_TYPE: Final = "dash-db"
_FOLDER_TYPE: Final = "dash-folder"
_TYPES: Final = frozenset({_DASHBOARD_TYPE, _FOLDER_TYPE})
_QUERY_DESCRIPTIONS: Final = {
    "query": "part of the title",
    "tag": "a tag that dashboards must have; may be repeated",
    "type": "dash-db or dash-folder",
    "dashboardUIDs": "the uid of a dashboard; may be repeated",
    "dashboardIds": "the id of a dashboard; may be repeated",
    "folderUIDs": "the uid of a folder that contains the objects, general for the root; may be repeated",
    "folderIds": "the id of such a folder, 0 for the root; if type is only dash-folder, also the id of a folder to find; may be repeated",
    "starred": "only the caller's starred dashboards",
    "deleted": "search the trash; callers who are not Admins find only what they deleted. Only query, dashboardUIDs and folderUIDs apply",
    "sort": "alpha-asc, or alpha-desc: by title in descending order",
    "limit": "results on a page, by default 1000, at most 5000",
    "page": "from 1",
}
_PARAMETER_TYPES: Final = {
    "tag": list[str],
    "dashboardUIDs": list[str],
    "dashboardIds": list[int],
    "folderUIDs": list[str],
    "folderIds": list[int],
    "starred": bool,
    "deleted": bool,
    "limit": int,
    "page": int,
}
_SORT_ORDERS: Final = (("alpha-asc", "A\N{EN DASH}Z", "ascending"), ("alpha-desc", "Z\N{EN DASH}A", "descending"))
"""The values of the parameter ``sort``, each with the letters and the order in its description."""
_SORT_OPTIONS: Final = SortOptions(
    sort_options=[
        SortOption(name=name, display_name=f"Alphabetically ({letters})", description=f"Sort results in an alphabetically {order} order")
        for name, letters, order in _SORT_ORDERS
    ]
)
_AT_MOST_10_000_ITEMS: Final = Field(max_length=10_000)

Integers = Annotated[list[Annotated[int, Field(ge=-(2**63), lt=2**63)]], _AT_MOST_10_000_ITEMS]
Strings = Annotated[list[Text], _AT_MOST_10_000_ITEMS]


class SearchQuery(ClassicBody):
    """A search, in the body of a POST or in a query. Empty members do not restrict it."""

    query: Text = ""
    #: Dashboards must have all of these tags.
    tag: Strings = Field(default_factory=list)
    #: ``dash-db``, ``dash-folder`` or both.
    type: Strings = Field(default_factory=list)
    dashboard_uids: Strings = Field(default_factory=list, alias="dashboardUIDs")
    dashboard_ids: Integers = Field(default_factory=list)
    folder_uids: Strings = Field(default_factory=list, alias="folderUIDs")
    #: 0 is the root.
    folder_ids: Integers = Field(default_factory=list)
    starred: bool = False
    #: Search the trash instead.
    deleted: bool = False
    sort: Literal["", "alpha-asc", "alpha-desc"] = ""
    #: Results of a page.
    limit: int = _PAGE_SIZE
    #: Counted from 1.
    page: int = 1


# Generated clients know the schema under this name.
_SEARCH_BODY: Final = create_model("Asked", __base__=SearchQuery, __doc__=SearchQuery.__doc__)


class _Handlers:
    """Handlers of the search."""

    def __init__(self, database: Database, policy: AccessPolicy, trash_lifetime: timedelta) -> None:
        self._database = database
        self._policy = policy
        self._trash_lifetime = trash_lifetime

    async def by_query(self, call: Call) -> Response:
        return await self._search(call, _search_query(call))

    async def by_body(self, call: Call) -> Response:
        return await self._search(call, await call.model_or_400(SearchQuery, message="bad request data"))

    async def sorting(self, _: Call) -> Response:
        return json_response(_SORT_OPTIONS)

    async def _search(self, call: Call, query: SearchQuery) -> Response:
        """Return a page of the results of a search as the response."""
        # Existing clients expect the status that Grafana returns.
        if not _TYPES.issuperset(query.type):
            return legacy_500_response(f"Search failed: type must be {_DASHBOARD_TYPE} or {_FOLDER_TYPE}")
        caller = call.identity
        view = await self._policy.view(caller, caller.namespace)
        types = frozenset(query.type) or _TYPES
        title_query = titles.TitleQuery(
            caller.org_id,
            caller.user_id,
            readable_dashboards=view.scope(DASHBOARD) if _DASHBOARD_TYPE in types else NOTHING,
            readable_folders=view.scope(FOLDER),
            include_folders=_FOLDER_TYPE in types,
            containing=query.query,
            names=query.dashboard_uids,
            numbers=query.dashboard_ids,
            folders=["" if uid in ROOT_NAMES else uid for uid in query.folder_uids],
            folder_numbers=query.folder_ids,
            include_numbered_folders=types == {_FOLDER_TYPE},
            tags=query.tag,
            only_starred=query.starred,
            descending=query.sort == "alpha-desc",
            deleted_by=deleted_by_filter(caller),
        )
        limit = min(query.limit, _MAX_PAGE_SIZE) if query.limit > 0 else _PAGE_SIZE
        offset = (min(max(query.page, 1), _MAX_PAGE) - 1) * limit
        async with self._database.connection() as connection:
            search = titles.search_deleted if query.deleted else titles.search
            matches = await search(connection, title_query, limit=limit, offset=offset)
        return json_response([self._hit(match, caller.org_id) for match in matches])

    def _hit(self, match: titles.TitleMatch, org_id: int) -> ClassicSearchHit:
        """Return a result in the format of this API. It names its folder only if the caller may read the folder."""
        url_of = folder_url if match.is_folder else dashboard_url
        item = ClassicSearchHit(
            id=match.number,
            uid=match.name,
            org_id=org_id,
            title=match.title,
            uri=f"db/{slug_of(match.title)}",
            url=url_of(match.name, match.title),
            type=_FOLDER_TYPE if match.is_folder else _DASHBOARD_TYPE,
            tags=list(match.tags),
            is_starred=match.is_starred,
        )
        if match.folder is not None and match.folder_number is not None and match.folder_title is not None:
            item.folder_id = match.folder_number
            item.folder_uid = match.folder
            item.folder_title = match.folder_title
            item.folder_url = folder_url(match.folder, match.folder_title)
        if match.deleted_at is not None:
            item.is_deleted = True
            item.permanently_delete_date = format_time(match.deleted_at + self._trash_lifetime)
        return item


def routes(database: Database, policy: AccessPolicy, *, trash_days: int) -> list[Route]:
    """Return the routes of the search."""
    handlers = _Handlers(database, policy, timedelta(days=trash_days))
    responses = {200: list[ClassicSearchHit], 500: Message}
    search = Operation(
        "search",
        "dashboards and folders, by title",
        "search",
        responses=responses,
        query=_QUERY_DESCRIPTIONS,
        parameters=_PARAMETER_TYPES,
    )
    post = Operation(
        "searchByBody", "the search with its parameters in the body, which may be longer than an address", "search", _SEARCH_BODY, responses
    )
    sorting = Operation("listSortOptions", "the values of the parameter sort", "search", responses={200: SortOptions})
    return [
        Route("GET", "/api/search/sorting", handlers.sorting, SIGNED_IN, sorting),
        Route("GET", "/api/search", handlers.by_query, SIGNED_IN, search),
        Route("POST", "/api/search", handlers.by_body, SIGNED_IN, post),
    ]


def _search_query(call: Call) -> SearchQuery:
    """Return the search in the query of a URL. Invalid values are ignored, except types."""

    def strings(name: str) -> list[str]:
        return call.query.getall(name, [])

    def integers(name: str) -> list[int]:
        """Return the valid integers, as Grafana does. If all are invalid, return an id that no object has."""
        values = strings(name)
        valid_integers = [integer for value in values if (integer := parse_integer(value)) is not None]
        are_all_invalid = bool(values) and not valid_integers
        return [_UNUSED_ID] if are_all_invalid else valid_integers

    sort = call.query.get("sort", "")
    return SearchQuery(
        query=call.query.get("query", ""),
        tag=strings("tag"),
        type=strings("type"),
        dashboardUIDs=strings("dashboardUIDs") or strings("dashboardUID"),  # Older clients send the second name.
        dashboardIds=integers("dashboardIds"),
        folderUIDs=strings("folderUIDs"),
        folderIds=integers("folderIds"),
        starred=call.query_flag("starred"),
        deleted=call.query_flag("deleted"),
        sort="alpha-desc" if sort == "alpha-desc" else "",
        limit=call.query_integer("limit", _PAGE_SIZE, minimum=1, maximum=_MAX_PAGE_SIZE),
        page=call.query_integer("page", 1, minimum=1, maximum=_MAX_PAGE),
    )


def tag_routes(database: Database, policy: AccessPolicy) -> list[Route]:
    """Return the route of the tags of dashboards that the caller may read."""

    async def tags(call: Call) -> Response:
        caller = call.identity
        scope = (await policy.view(caller, caller.namespace)).scope(DASHBOARD)
        async with database.connection() as connection:
            counts = await titles.tags(connection, caller.org_id, scope)
        return json_response([TagCount(term=tag, count=count) for tag, count in counts])

    operation = Operation(
        "getDashboardTags",
        "the tags of dashboards, with the number of dashboards that have each",
        "dashboards",
        responses={200: list[TagCount]},
    )
    return [Route("GET", "/api/dashboards/tags", tags, SIGNED_IN, operation)]

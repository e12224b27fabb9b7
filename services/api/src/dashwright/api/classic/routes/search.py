"""``/api/search``: dashboards and folders by title, tags, folder and stars; and the tags of dashboards."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field, create_model

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.object_scope import NOTHING
from dashwright.api.domain.access.view import deleter_of
from dashwright.api.domain.times import format_time
from dashwright.api.domain.urls import dashboard_url, folder_url, slug_of
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.response import Response, json_response, legacy_500_response
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.api.models.classic_objects import FoundItem, SortOption, SortOptions, TagCount
from dashwright.api.models.response import Message
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.identity import Caller
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.classic import ClassicBody, Text

_PAGE: Final = 1000
_LARGEST_PAGE: Final = 5000
_MOST_PAGES: Final = 1_000_000_000
"""Pages; keeps the offset within a bigint."""
_DASHBOARDS: Final = "dash-db"
_FOLDERS: Final = "dash-folder"
_TYPES: Final = frozenset({_DASHBOARDS, _FOLDERS})
_ROOT: Final = frozenset({"general", ""})
_QUERY: Final = {
    "query": "part of the title",
    "tag": "a tag that dashboards must have; may be repeated",
    "type": "dash-db or dash-folder",
    "dashboardUIDs": "only these; may be repeated",
    "dashboardIds": "only these; may be repeated",
    "folderUIDs": "only objects in these folders, general is the root; may be repeated",
    "folderIds": "the same by number, 0 is the root; where only folders are asked for, also these folders themselves; may be repeated",
    "starred": "only the caller's starred dashboards",
    "deleted": "dashboards in the trash instead, for others than Admins their own; of the others query, dashboardUIDs and folderUIDs count",
    "sort": "alpha-asc, or alpha-desc: by title from the end",
    "limit": "at most 5000; 1000",
    "page": "from 1",
}
_PARAMETERS: Final = {
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
_ORDERS: Final = (("alpha-asc", "A\N{EN DASH}Z", "ascending"), ("alpha-desc", "Z\N{EN DASH}A", "descending"))
_SORTING: Final = SortOptions(
    sort_options=[
        SortOption(name=name, display_name=f"Alphabetically ({span})", description=f"Sort results in an alphabetically {order} order")
        for name, span, order in _ORDERS
    ]
)
_MANY: Final = Field(max_length=10_000)

Numbers = Annotated[list[Annotated[int, Field(ge=-(2**63), lt=2**63)]], _MANY]
Texts = Annotated[list[Text], _MANY]


class SearchQuery(ClassicBody):
    """A search, in the body of a POST or in a query. Empty members do not restrict it."""

    query: Text = ""
    #: Dashboards must have all of these tags.
    tag: Texts = Field(default_factory=list)
    #: ``dash-db``, ``dash-folder`` or both.
    type: Texts = Field(default_factory=list)
    dashboard_uids: Texts = Field(default_factory=list, alias="dashboardUIDs")
    dashboard_ids: Numbers = Field(default_factory=list)
    folder_uids: Texts = Field(default_factory=list, alias="folderUIDs")
    #: 0 is the root.
    folder_ids: Numbers = Field(default_factory=list)
    starred: bool = False
    #: Search the trash instead.
    deleted: bool = False
    sort: Literal["", "alpha-asc", "alpha-desc"] = ""
    #: Results of a page.
    limit: int = _PAGE
    #: Counted from 1.
    page: int = 1


# Generated clients know the schema under this name.
_SEARCH_BODY: Final = create_model("Asked", __base__=SearchQuery, __doc__=SearchQuery.__doc__)


class _Handlers:
    def __init__(self, database: Database, policy: AccessPolicy, kept: timedelta) -> None:
        self._database = database
        self._policy = policy
        self._kept = kept

    async def by_query(self, call: Call) -> Response:
        return await self._search(call, _search_query(call))

    async def by_body(self, call: Call) -> Response:
        return await self._search(call, await call.fields(SearchQuery, fault="bad request data"))

    async def sorting(self, _: Call) -> Response:
        return json_response(_SORTING)

    async def _search(self, call: Call, query: SearchQuery) -> Response:
        if not _TYPES.issuperset(query.type):
            return legacy_500_response(f"Search failed: type must be {_DASHBOARDS} or {_FOLDERS}")
        caller = call.identity
        view = await self._policy.view(caller, caller.namespace)
        types = frozenset(query.type) or _TYPES
        search = titles.TitleQuery(
            caller.org_id,
            caller.user_id if caller.kind is Caller.USER else 0,
            dashboards=view.scope(DASHBOARD) if _DASHBOARDS in types else NOTHING,
            containers=view.scope(FOLDER),
            folders_too=_FOLDERS in types,
            containing=query.query,
            names=query.dashboard_uids,
            numbers=query.dashboard_ids,
            folders=["" if uid in _ROOT else uid for uid in query.folder_uids],
            folder_numbers=query.folder_ids,
            by_own_number=types == {_FOLDERS},
            tags=query.tag,
            starred=query.starred,
            descending=query.sort == "alpha-desc",
            deleted_by=deleter_of(caller),
        )
        limit = min(query.limit, _LARGEST_PAGE) if query.limit > 0 else _PAGE
        offset = (min(max(query.page, 1), _MOST_PAGES) - 1) * limit
        async with self._database.connection() as connection:
            found = await (titles.deleted if query.deleted else titles.search)(connection, search, limit=limit, offset=offset)
        return json_response([self._found_item(item, caller.org_id) for item in found])

    def _found_item(self, item: titles.TitleMatch, org_id: int) -> FoundItem:
        address = folder_url if item.is_folder else dashboard_url
        found = FoundItem(
            id=item.number,
            uid=item.name,
            org_id=org_id,
            title=item.title,
            uri=f"db/{slug_of(item.title)}",
            url=address(item.name, item.title),
            type="dash-folder" if item.is_folder else "dash-db",
            tags=list(item.tags),
            is_starred=item.is_starred,
        )
        if item.folder is not None and item.folder_number is not None and item.folder_title is not None:
            found.folder_id = item.folder_number
            found.folder_uid = item.folder
            found.folder_title = item.folder_title
            found.folder_url = folder_url(item.folder, item.folder_title)
        if item.deleted_at is not None:
            found.is_deleted = True
            found.permanently_delete_date = format_time(item.deleted_at + self._kept)
        return found


def routes(database: Database, policy: AccessPolicy, *, trash_days: int) -> list[Route]:
    """Return the routes of the search."""
    handlers = _Handlers(database, policy, timedelta(days=trash_days))
    answers = {200: list[FoundItem], 500: Message}
    search = Operation(
        "search",
        "dashboards and folders, by title",
        "search",
        responses=answers,
        query=_QUERY,
        parameters=_PARAMETERS,
    )
    post = Operation("searchByBody", "the same, for more names than an address holds", "search", _SEARCH_BODY, answers)
    sorting = Operation("listSortOptions", "the orders that sort takes", "search", responses={200: SortOptions})
    return [
        Route("GET", "/api/search/sorting", handlers.sorting, SIGNED_IN, sorting),
        Route("GET", "/api/search", handlers.by_query, SIGNED_IN, search),
        Route("POST", "/api/search", handlers.by_body, SIGNED_IN, post),
    ]


def _search_query(call: Call) -> SearchQuery:
    def texts(name: str) -> list[str]:
        return call.query.getall(name, [])

    def numbers(name: str) -> list[int]:
        """Return the valid numbers, as Grafana does. If none is valid, the result matches no object."""
        given = texts(name)
        return [number for text in given if (number := parse_integer(text)) is not None] or ([-1] if given else [])

    sort = call.query.get("sort", "")
    return SearchQuery(
        query=call.query.get("query", ""),
        tag=texts("tag"),
        type=texts("type"),
        dashboardUIDs=texts("dashboardUIDs") or texts("dashboardUID"),
        dashboardIds=numbers("dashboardIds"),
        folderUIDs=texts("folderUIDs"),
        folderIds=numbers("folderIds"),
        starred=call.switch("starred"),
        deleted=call.switch("deleted"),
        sort="alpha-desc" if sort == "alpha-desc" else "",
        limit=call.number("limit", _PAGE, least=1, most=_LARGEST_PAGE),
        page=call.number("page", 1, least=1, most=_MOST_PAGES),
    )


def tag_routes(database: Database, policy: AccessPolicy) -> list[Route]:
    """Return the route of the tags of dashboards that the caller may read."""

    async def tags(call: Call) -> Response:
        caller = call.identity
        scope = (await policy.view(caller, caller.namespace)).scope(DASHBOARD)
        async with database.connection() as connection:
            found = await titles.tags(connection, caller.org_id, scope)
        return json_response([TagCount(term=term, count=count) for term, count in found])

    operation = Operation(
        "getDashboardTags", "the tags of dashboards, and how many have each", "dashboards", responses={200: list[TagCount]}
    )
    return [Route("GET", "/api/dashboards/tags", tags, SIGNED_IN, operation)]

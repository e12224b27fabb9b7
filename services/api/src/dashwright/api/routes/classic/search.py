"""``GET /api/search``: dashboards and folders of the current organization by title, those that the caller may read."""

from typing import Final

from dashwright.api.domain.classic import dashboard_url, folder_url, slug_of
from dashwright.api.http.answer import Answer, json_answer
from dashwright.api.http.call import Call
from dashwright.api.http.integers import integer_of
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.identity import Caller
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.classic_objects import FoundItem

_PAGE: Final = 1000
_LARGEST_PAGE: Final = 5000
_MOST_PAGES: Final = 1_000_000_000
_TYPES: Final = {"dash-db", "dash-folder"}
_ROOT: Final = frozenset({"general", ""})
_QUERY: Final = {
    "query": "part of the title",
    "tag": "a tag that dashboards must have; may be repeated",
    "type": "dash-db or dash-folder",
    "dashboardUIDs": "only these; may be repeated",
    "dashboardIds": "only these; may be repeated",
    "folderUIDs": "only what lies in these folders, general is the root; may be repeated",
    "folderIds": "the same by number, 0 is the root; may be repeated",
    "starred": "only the caller's starred dashboards",
    "limit": "at most 5000; 1000",
    "page": "from 1",
}


def routes(database: Database) -> list[Route]:
    async def search(call: Call) -> Answer:
        limit = call.number("limit", _PAGE, least=1, most=_LARGEST_PAGE)
        page = call.number("page", 1, least=1, most=_MOST_PAGES)
        async with database.connection() as connection:
            found = await titles.search(connection, _wanted(call), limit=limit, offset=(page - 1) * limit)
        return json_answer([_shown(item, call.identity.org_id) for item in found])

    operation = Operation(
        "search",
        "dashboards and folders, by title",
        "search",
        answers={200: list[FoundItem]},
        query=_QUERY,
        parameters={"starred": bool, "limit": int, "page": int},
    )
    return [Route("GET", "/api/search", search, SIGNED_IN, operation)]


def _wanted(call: Call) -> titles.Search:
    caller = call.identity
    types = (_TYPES & set(_all(call, "type"))) or _TYPES
    return titles.Search(
        caller.org_id,
        caller.user_id if caller.kind is Caller.USER else 0,
        dashboards="dash-db" in types and caller.may(DASHBOARD.actions["list"]),
        folders_too="dash-folder" in types and caller.may(FOLDER.actions["list"]),
        containing=call.query.get("query", ""),
        names=_all(call, "dashboardUIDs") or _all(call, "dashboardUID"),
        numbers=_numbers(call, "dashboardIds"),
        folders=["" if uid in _ROOT else uid for uid in _all(call, "folderUIDs")],
        folder_numbers=_numbers(call, "folderIds"),
        tags=_all(call, "tag"),
        starred=call.switch("starred"),
    )


def _all(call: Call, name: str) -> list[str]:
    return call.query.getall(name, [])


def _numbers(call: Call, name: str) -> list[int]:
    """What is no number is left out, as clients' servers do; where nothing is left, no object has the number."""
    given = _all(call, name)
    numbers = [number for text in given if (number := integer_of(text)) is not None]
    return numbers or [-1] if given else []


def _shown(item: titles.Item, org_id: int) -> FoundItem:
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
    return found

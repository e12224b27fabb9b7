"""Lists of the dashboards and folders that a caller may read, as pages show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.urls import dashboard_url, folder_url
from dashwright.api.stores import folders, titles
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import DASHBOARD, FOLDER


@dataclass(frozen=True, slots=True)
class ListedTitle:
    """A dashboard or folder in a list, with the addresses of its page and of the page of its folder, empty at the root."""

    title: str
    url: str
    is_folder: bool
    tags: Sequence[str] = ()
    folder_title: str = ""
    folder_url: str = ""


class ReadableTitles:
    """The titles that callers may read. The ``filters`` of methods are fields of ``TitleQuery``."""

    def __init__(self, database: Database, policy: AccessPolicy) -> None:
        self._database = database
        self._policy = policy

    async def search(self, caller: Identity, *, limit: int, offset: int = 0, **filters: Any) -> Sequence[ListedTitle]:
        """Return a page of dashboards and folders: folders first, then by title."""
        query = await self._query(caller, **filters)
        async with self._database.connection() as connection:
            return [_listed(match) for match in await titles.search(connection, query, limit=limit, offset=offset)]

    async def count(self, caller: Identity, **filters: Any) -> int:
        """Return the number of dashboards and folders on all pages."""
        query = await self._query(caller, **filters)
        async with self._database.connection() as connection:
            return await titles.count(connection, query)

    async def folder(self, caller: Identity, uid: str) -> ListedTitle | None:
        """Return the folder with a uid, or None."""
        # At most two objects have this uid: a folder and a dashboard.
        return next((match for match in await self.search(caller, limit=2, names=[uid]) if match.is_folder), None)

    async def path(self, caller: Identity, folder: str | None) -> Sequence[ListedTitle]:
        """Return the folders from the root to the folder with a uid, apart from those that the caller may not read."""
        if folder is None:
            return []
        async with self._database.connection() as connection:
            path = await folders.ancestors(connection, caller.namespace, folder)
        view = await self._policy.view(caller, caller.namespace)
        readable = [item for item in path if view.may(FOLDER.actions["get"], FOLDER, item.name, item.parent)]
        return [ListedTitle(item.title or item.name, folder_url(item.name, item.title), is_folder=True) for item in readable]

    async def tags(self, caller: Identity, limit: int) -> Sequence[tuple[str, int]]:
        """Return the ``limit`` most frequent tags, sorted, each with the number of dashboards that have it."""
        query = await self._query(caller)
        async with self._database.connection() as connection:
            return sorted((await titles.count_tags(connection, query, limit=limit)).terms)

    async def _query(self, caller: Identity, **filters: Any) -> titles.TitleQuery:
        """Return a search for the dashboards and folders that the caller may read."""
        view = await self._policy.view(caller, caller.namespace)
        return titles.TitleQuery(
            caller.org_id,
            caller.user_id,
            readable_dashboards=view.scope(DASHBOARD),
            readable_folders=view.scope(FOLDER),
            **filters,
        )


def _listed(match: titles.TitleMatch) -> ListedTitle:
    url = folder_url(match.name, match.title) if match.is_folder else dashboard_url(match.name, match.title)
    folder_title = match.folder_title or ""
    url_of_folder = folder_url(match.folder, folder_title) if match.folder else ""
    return ListedTitle(match.title or match.name, url, match.is_folder, match.tags, folder_title, url_of_folder)

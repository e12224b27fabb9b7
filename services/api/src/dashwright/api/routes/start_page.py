"""HTML pages: ``/`` with dashboards, repositories and jobs, and ``/dashboards`` with the contents of folders."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.urls import dashboard_url, folder_url
from dashwright.api.http import html
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Content, Operation, Route
from dashwright.api.stores import start_page, titles
from dashwright.common import media
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import NotFound
from dashwright.common.identity import Caller, Identity
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, JOB, REPOSITORY
from dashwright.common.models.provisioning import RepositoryStatus

_ITEMS: Final = 500
_REPOSITORIES: Final = 50
_JOBS: Final = 10
_ROOT: Final = ""
_TAG: Final = "pages"
_PAGE: Final = {200: Content(str, ("text/html",))}


class _Pages:
    """The handlers. Each shows what its caller may read and leaves out the rest."""

    def __init__(self, database: Database, policy: AccessPolicy) -> None:
        self._database = database
        self._policy = policy

    async def start(self, call: Call) -> Response:
        """Return the start page."""
        caller = call.identity
        search = await self._search(caller, folders=[_ROOT])
        parts = []
        async with self._database.connection() as connection:
            found = await titles.search(connection, search, limit=_ITEMS, offset=0)
            parts.append(f"<h2>Dashboards</h2>{_list(found)}")
            if caller.holds(REPOSITORY.actions["get"]):
                parts.append(await _repositories(connection, caller))
            if caller.holds(JOB.actions["get"]):
                parts.append(await _jobs(connection, caller))
        parts.append(_LINKS)
        signed_in = f'<p class="quiet">Signed in as {escape(caller.login)}, in organization {caller.org_id}.</p>'
        return html.page("Overview", signed_in + "".join(parts))

    async def dashboards(self, call: Call) -> Response:
        """Return the dashboards and folders of the root, or those that match a search."""
        words = call.query.get("query", "")
        search = await self._search(call.identity, containing=words, folders=[] if words else [_ROOT])
        async with self._database.connection() as connection:
            found = await titles.search(connection, search, limit=_ITEMS, offset=0)
        return html.page(f"Dashboards with “{words}”" if words else "Dashboards", _list(found, with_folder=bool(words)))

    async def folder(self, call: Call) -> Response:
        """Return the contents of a folder."""
        uid = call.parameters["uid"]
        this, inside = await self._search(call.identity, names=[uid]), await self._search(call.identity, folders=[uid])
        async with self._database.connection() as connection:
            named = [item for item in await titles.search(connection, this, limit=2, offset=0) if item.is_folder]
            found = await titles.search(connection, inside, limit=_ITEMS, offset=0)
        if not named:
            raise NotFound(f'folder "{uid}" not found')
        (folder,) = named
        where = ""
        if folder.folder is not None:
            where = (
                f'<p class="quiet">In <a href="{_folder(folder.folder, folder.folder_title)}">{escape(folder.folder_title or "")}</a></p>'
            )
        return html.page(folder.title, where + _list(found))

    async def _search(
        self, caller: Identity, *, containing: str = "", folders: Sequence[str] = (), names: Sequence[str] = ()
    ) -> titles.TitleQuery:
        view = await self._policy.view(caller, caller.namespace)
        return titles.TitleQuery(
            caller.org_id,
            caller.user_id if caller.kind is Caller.USER else 0,
            dashboards=view.scope(DASHBOARD),
            containers=view.scope(FOLDER),
            containing=containing,
            folders=folders,
            names=names,
        )


def routes(database: Database, policy: AccessPolicy) -> list[Route]:
    """Return the routes of the pages and of their icon."""
    pages = _Pages(database, policy)

    async def icon(_: Call) -> Response:
        return Response(200, html.FAVICON, media.SVG, {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"})

    query = {"query": "part of the title; without it the root is listed"}
    start = Operation("showStartPage", "Show dashboards, repositories and jobs", _TAG, responses=_PAGE)
    dashboards = Operation("showDashboards", "Show dashboards and folders by title", _TAG, responses=_PAGE, query=query)
    routes = [
        Route("GET", "/", pages.start, SIGNED_IN, start),
        Route("GET", "/dashboards", pages.dashboards, SIGNED_IN, dashboards),
    ]
    for path, name in (("/dashboards/f/{uid}", "showFolder"), ("/dashboards/f/{uid}/{slug}", "showFolderWithSlug")):
        operation = Operation(name, "Show the contents of a folder", _TAG, responses=_PAGE, errors=(404,))
        routes.append(Route("GET", path, pages.folder, SIGNED_IN, operation))
    for path, name in (("/favicon.svg", "getIcon"), ("/favicon.ico", "getFavicon")):
        operation = Operation(name, "Return the icon of pages", _TAG, responses={200: Content(bytes, (media.SVG,))})
        routes.append(Route("GET", path, icon, PUBLIC, operation, is_routine=True))
    return routes


def _list(items: Sequence[titles.TitleMatch], *, with_folder: bool = False) -> str:
    if not items:
        return '<p class="quiet">Nothing found that you can view.</p>'
    lines = "".join(f"<li>{_link(item, with_folder=with_folder)}</li>" for item in items)
    more = f'<p class="quiet">Only the first {_ITEMS} are shown; use the search to find others.</p>' if len(items) == _ITEMS else ""
    return f'<ul class="plain">{lines}</ul>{more}'


def _link(item: titles.TitleMatch, *, with_folder: bool) -> str:
    title = escape(item.title or item.name)
    if item.is_folder:
        return f'<a href="{_folder(item.name, item.title)}">{title}/</a>'
    tags = f' <span class="quiet">{escape(", ".join(item.tags))}</span>' if item.tags else ""
    folder = f' <span class="quiet">in {escape(item.folder_title)}</span>' if with_folder and item.folder_title else ""
    return f'<a href="{escape(dashboard_url(item.name, item.title))}">{title}</a>{tags}{folder}'


def _folder(uid: str, title: str | None) -> str:
    return escape(folder_url(uid, title or ""))


async def _repositories(connection: Connection, caller: Identity) -> str:
    found = await start_page.repositories(connection, caller.namespace, _REPOSITORIES)
    rows = ((each.title or each.name, *_state(each.status)) for each in found)
    return f"<h2>Repositories</h2>{_table(('repository', 'health', 'sync', 'last sync'), rows, 'No repository yet.')}"


def _state(status: RepositoryStatus | None) -> tuple[str, str, str]:
    if status is None:
        return "", "", ""
    health = "healthy" if status.health.healthy else "; ".join(status.health.message or ()) or "not healthy"
    finished = status.sync.finished
    return health, status.sync.state or "", _time(datetime.fromtimestamp(finished / 1000, UTC)) if finished else ""


async def _jobs(connection: Connection, caller: Identity) -> str:
    found = await start_page.jobs(connection, caller.namespace, _JOBS)
    rows = ((each.name, each.repository, each.action, each.state, each.message, _time(each.created)) for each in found)
    heads = ("job", "repository", "action", "state", "message", "created")
    return f"<h2>Jobs</h2>{_table(heads, rows, 'No job yet.')}"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]], empty: str) -> str:
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    if not lines:
        return f'<p class="quiet">{empty}</p>'
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


_LINKS: Final = (
    "<h2>For programs</h2><ul>"
    '<li><a href="/docs">All operations of the HTTP API</a>, as a document: <a href="/openapi.json">openapi.json</a></li>'
    '<li><a href="/apis">Groups of the resource API</a>, for kubectl and Kubernetes clients</li>'
    '<li><a href="/readyz?verbose">Readiness of this server</a> and its <a href="/metrics">metrics</a></li></ul>'
)

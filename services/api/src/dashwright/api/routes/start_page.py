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
from dashwright.common.identity import CallerType, Identity
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, JOB, REPOSITORY
from dashwright.common.models.provisioning import RepositoryStatus

_MAX_ITEMS: Final = 500
_MAX_REPOSITORIES: Final = 50
_MAX_JOBS: Final = 10
_ROOT: Final = ""
_TAG: Final = "pages"
_PAGE_RESPONSE: Final = {200: Content(str, ("text/html",))}


class _Pages:
    """The handlers of the pages. Each page shows only the objects that its caller may read."""

    def __init__(self, database: Database, policy: AccessPolicy) -> None:
        self._database = database
        self._policy = policy

    async def start(self, call: Call) -> Response:
        """Return the start page."""
        caller = call.identity
        query = await self._title_query(caller, folders=[_ROOT])
        sections = []
        async with self._database.connection() as connection:
            items = await titles.search(connection, query, limit=_MAX_ITEMS, offset=0)
            sections.append(f"<h2>Dashboards</h2>{_list_html(items)}")
            if caller.has_action(REPOSITORY.actions["get"]):
                sections.append(await _repositories_html(connection, caller))
            if caller.has_action(JOB.actions["get"]):
                sections.append(await _jobs_html(connection, caller))
        sections.append(_LINKS_HTML)
        caller_line = f'<p class="quiet">Signed in as {escape(caller.login)}, in organization {caller.org_id}.</p>'
        return html.page("Overview", caller_line + "".join(sections))

    async def dashboards(self, call: Call) -> Response:
        """Return the dashboards and folders at the root, or the results of a search."""
        search_text = call.query.get("query", "")
        query = await self._title_query(call.identity, containing=search_text, folders=[] if search_text else [_ROOT])
        async with self._database.connection() as connection:
            items = await titles.search(connection, query, limit=_MAX_ITEMS, offset=0)
        return html.page(
            f"Dashboards with “{search_text}”" if search_text else "Dashboards", _list_html(items, with_folder=bool(search_text))
        )

    async def folder(self, call: Call) -> Response:
        """Return the contents of a folder."""
        uid = call.parameters["uid"]
        folder_query = await self._title_query(call.identity, names=[uid])
        contents_query = await self._title_query(call.identity, folders=[uid])
        async with self._database.connection() as connection:
            # At most two objects have this uid: a folder and a dashboard.
            matches = await titles.search(connection, folder_query, limit=2, offset=0)
            items = await titles.search(connection, contents_query, limit=_MAX_ITEMS, offset=0)
        folder = next((match for match in matches if match.is_folder), None)
        if folder is None:
            raise NotFound(f'folder "{uid}" not found')
        parent_link = ""
        if folder.folder is not None:
            href, title = _folder_href(folder.folder, folder.folder_title), escape(folder.folder_title or "")
            parent_link = f'<p class="quiet">In <a href="{href}">{title}</a></p>'
        return html.page(folder.title, parent_link + _list_html(items))

    async def _title_query(
        self, caller: Identity, *, containing: str = "", folders: Sequence[str] = (), names: Sequence[str] = ()
    ) -> titles.TitleQuery:
        view = await self._policy.view(caller, caller.namespace)
        return titles.TitleQuery(
            caller.org_id,
            caller.user_id if caller.kind is CallerType.USER else 0,
            readable_dashboards=view.scope(DASHBOARD),
            readable_folders=view.scope(FOLDER),
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
    start = Operation("showStartPage", "Show dashboards, repositories and jobs", _TAG, responses=_PAGE_RESPONSE)
    dashboards = Operation("showDashboards", "Show dashboards and folders by title", _TAG, responses=_PAGE_RESPONSE, query=query)
    page_routes = [
        Route("GET", "/", pages.start, SIGNED_IN, start),
        Route("GET", "/dashboards", pages.dashboards, SIGNED_IN, dashboards),
    ]
    for path, operation_id in (("/dashboards/f/{uid}", "showFolder"), ("/dashboards/f/{uid}/{slug}", "showFolderWithSlug")):
        operation = Operation(operation_id, "Show the contents of a folder", _TAG, responses=_PAGE_RESPONSE, errors=(404,))
        page_routes.append(Route("GET", path, pages.folder, SIGNED_IN, operation))
    for path, operation_id in (("/favicon.svg", "getIcon"), ("/favicon.ico", "getFavicon")):
        operation = Operation(operation_id, "Return the icon of pages", _TAG, responses={200: Content(bytes, (media.SVG,))})
        page_routes.append(Route("GET", path, icon, PUBLIC, operation, is_routine=True))
    return page_routes


def _list_html(items: Sequence[titles.TitleMatch], *, with_folder: bool = False) -> str:
    if not items:
        return '<p class="quiet">Nothing found that you can view.</p>'
    rows_html = "".join(f"<li>{_item_html(item, with_folder=with_folder)}</li>" for item in items)
    limit_note = (
        f'<p class="quiet">Only the first {_MAX_ITEMS} are shown; use the search to find others.</p>' if len(items) == _MAX_ITEMS else ""
    )
    return f'<ul class="plain">{rows_html}</ul>{limit_note}'


def _item_html(item: titles.TitleMatch, *, with_folder: bool) -> str:
    title = escape(item.title or item.name)
    if item.is_folder:
        return f'<a href="{_folder_href(item.name, item.title)}">{title}/</a>'
    tags = f' <span class="quiet">{escape(", ".join(item.tags))}</span>' if item.tags else ""
    folder = f' <span class="quiet">in {escape(item.folder_title)}</span>' if with_folder and item.folder_title else ""
    return f'<a href="{escape(dashboard_url(item.name, item.title))}">{title}</a>{tags}{folder}'


def _folder_href(uid: str, title: str | None) -> str:
    return escape(folder_url(uid, title or ""))


async def _repositories_html(connection: Connection, caller: Identity) -> str:
    repositories = await start_page.repositories(connection, caller.namespace, _MAX_REPOSITORIES)
    rows = ((repository.title or repository.name, *_status_cells(repository.status)) for repository in repositories)
    return f"<h2>Repositories</h2>{_table_html(('repository', 'health', 'sync', 'last sync'), rows, 'No repository yet.')}"


def _status_cells(status: RepositoryStatus | None) -> tuple[str, str, str]:
    """Return the health, the state of the last sync and its end as cells of a table."""
    if status is None:
        return "", "", ""
    health = "healthy" if status.health.healthy else "; ".join(status.health.message or ()) or "not healthy"
    finished_milliseconds = status.sync.finished
    finished_at = _format_time(datetime.fromtimestamp(finished_milliseconds / 1000, UTC)) if finished_milliseconds else ""
    return health, status.sync.state or "", finished_at


async def _jobs_html(connection: Connection, caller: Identity) -> str:
    jobs = await start_page.jobs(connection, caller.namespace, _MAX_JOBS)
    rows = ((job.name, job.repository, job.action, job.state, job.message, _format_time(job.created)) for job in jobs)
    headings = ("job", "repository", "action", "state", "message", "created")
    return f"<h2>Jobs</h2>{_table_html(headings, rows, 'No job yet.')}"


def _table_html(headings: Iterable[str], rows: Iterable[Iterable[str]], empty_text: str) -> str:
    rows_html = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    if not rows_html:
        return f'<p class="quiet">{empty_text}</p>'
    head = "".join(f"<th>{name}</th>" for name in headings)
    return f"<table><tr>{head}</tr>{rows_html}</table>"


def _format_time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


_LINKS_HTML: Final = (
    "<h2>For programs</h2><ul>"
    '<li><a href="/docs">All operations of the HTTP API</a>, as a document: <a href="/openapi.json">openapi.json</a></li>'
    '<li><a href="/apis">Groups of the resource API</a>, for kubectl and Kubernetes clients</li>'
    '<li><a href="/readyz?verbose">Readiness of this server</a> and its <a href="/metrics">metrics</a></li></ul>'
)

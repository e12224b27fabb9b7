"""``/``, the HTML page with dashboards, repositories and jobs, and the icon of all pages."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.http import html
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Content, Operation, Route
from dashwright.api.routes import dashboard_lists
from dashwright.api.routes.health import PRODUCT_VERSION
from dashwright.api.routes.readable_titles import ReadableTitles
from dashwright.api.stores import start_page
from dashwright.common import media
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.provisioning import RepositoryStatus

_MAX_ITEMS: Final = 50
_MAX_REPOSITORIES: Final = 50
_MAX_JOBS: Final = 10
_ROOT: Final = ""
"""Uid of the root in a filter of folders."""
_TAG: Final = "pages"

_Rows = Sequence[Sequence[str]]
"""Rows of a table of text."""


def routes(database: Database, policy: AccessPolicy) -> list[Route]:
    """Return the routes of the start page, of the lists of dashboards, and of the icon."""
    titles = ReadableTitles(database, policy)

    async def show_start_page(call: Call) -> Response:
        """Return the start page, without the tables of objects for which the caller has no permission."""
        caller = call.identity
        # One item more than the page lists shows whether there are more.
        matches = await titles.search(caller, limit=_MAX_ITEMS + 1, folders=[_ROOT])
        return html.page(
            "start.html",
            title="Overview",
            version=PRODUCT_VERSION,
            login=caller.login,
            org_id=caller.org_id,
            matches=matches[:_MAX_ITEMS],
            has_more=len(matches) > _MAX_ITEMS,
            repositories=await _repository_rows(database, caller) if caller.has_action(REPOSITORY.actions["get"]) else None,
            jobs=await _job_rows(database, caller) if caller.has_action(JOB.actions["get"]) else None,
        )

    async def icon(_: Call) -> Response:
        return Response(200, html.FAVICON, media.SVG, {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"})

    start = Operation("showStartPage", "Show dashboards, repositories and jobs", _TAG, responses={200: Content(str, ("text/html",))})
    page_routes = [Route("GET", "/", show_start_page, SIGNED_IN, start), *dashboard_lists.routes(titles)]
    for path, operation_id in (("/favicon.svg", "getIcon"), ("/favicon.ico", "getFavicon")):
        operation = Operation(operation_id, "Return the icon of pages", _TAG, responses={200: Content(bytes, (media.SVG,))})
        page_routes.append(Route("GET", path, icon, PUBLIC, operation, is_routine=True))
    return page_routes


async def _repository_rows(database: Database, caller: Identity) -> _Rows:
    async with database.connection() as connection:
        repositories = await start_page.repositories(connection, caller.namespace, _MAX_REPOSITORIES)
    return [(_repository_cell(repository), *_status_cells(repository.status)) for repository in repositories]


def _repository_cell(repository: start_page.RepositorySummary) -> str:
    """Return the title of a repository, with the name that requests and commands need."""
    name, title = repository.name, repository.title
    return name if title in ("", name) else f"{title} ({name})"


def _status_cells(status: RepositoryStatus | None) -> tuple[str, str, str]:
    """Return the health, the state of the last sync and its end as cells of a table."""
    if status is None:
        return "", "", ""
    unhealthy = "not healthy" if status.health.checked else "not checked yet"
    health = "healthy" if status.health.healthy else "; ".join(status.health.message or ()) or unhealthy
    finished_milliseconds = status.sync.finished
    finished_at = _format_time(datetime.fromtimestamp(finished_milliseconds / 1000, UTC)) if finished_milliseconds else ""
    return health, _sync_cell(status), finished_at


def _sync_cell(status: RepositoryStatus) -> str:
    """Return the state of the last sync, with its first error unless the health has the same one."""
    sync = status.sync
    first_error, *further_errors = sync.message or [""]
    if not first_error or sync.message == status.health.message:
        return sync.state
    return f"{sync.state}: {first_error}{f', and {len(further_errors)} more' if further_errors else ''}"


async def _job_rows(database: Database, caller: Identity) -> _Rows:
    async with database.connection() as connection:
        jobs = await start_page.jobs(connection, caller.namespace, _MAX_JOBS)
    return [(job.name, job.repository, job.action, job.state, job.message, _format_time(job.created)) for job in jobs]


def _format_time(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

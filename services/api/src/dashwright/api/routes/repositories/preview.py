"""``GET /preview/{repository}/{path}``: a page that shows the dashboard of a file as it is at a ref, before it is anywhere else."""

import base64
from collections.abc import Mapping
from html import escape
from typing import Any, Final

import structlog

from dashwright.api.drawings import Drawings, Picture
from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.docs_page import HEADERS
from dashwright.api.http.routing import Content, Operation, Permission, Route
from dashwright.api.resources.files import Files
from dashwright.api.resources.writing.writer import aside
from dashwright.api.routes.render import asking_of, drawing_of
from dashwright.common import media
from dashwright.common.document import read_json, write_json
from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.pictures import Drawing

_log = structlog.get_logger()

_HEADERS: Final = {
    **HEADERS,
    "Content-Security-Policy": f"{HEADERS['Content-Security-Policy']}; img-src data:",
    "Cache-Control": "private, no-cache",
}
_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1f2430; background: #fff }
img { max-width: 100%; border: 1px solid #ddd } h1 { margin-bottom: 0 } p { margin-top: 0; color: #62676e } li { margin: .2rem 0 }
@media (prefers-color-scheme: dark) { body { color: #d8dce4; background: #16181d } img { border-color: #333 } }
"""


def routes(files: Files, drawings: Drawings) -> list[Route]:
    """Takes the rights that reading the file takes, and for the picture that to query data sources."""

    async def preview(call: Call) -> Answer:
        drawing, path = drawing_of(call), call.parameters["path"]
        paths.check_path(path, spaces=True)
        if paths.is_directory(path):
            raise BadRequest("a preview shows one file; name it instead of a directory")
        told = await files.read(call.identity, call.parameters["repository"], path, call.query.get("ref", ""))
        wrapper: dict[str, Any] = await aside(len(told), lambda: read_json(told.decode()))
        drawn = await _drawn(call, wrapper, drawing, drawings)
        return Answer(200, _page(call, wrapper, drawn), "text/html; charset=utf-8", _HEADERS)

    operation = Operation(
        "previewRepositoryFile",
        "a page that shows the dashboard of a file at a ref",
        "dashboards",
        answers={200: Content(str, ("text/html",))},
        query={
            "ref": "a branch or commit; by default the repository's own branch",
            "from": "where the time range begins; by default the dashboard's own",
            "to": "where it ends",
            "theme": "light or dark (the default)",
        },
        errors=(404, 422, 424),
        description="Takes the rights on the objects in the file, and datasources:query for the picture.",
    )
    needs = Permission(DASHBOARD.actions["get"], by_object=True)
    return [Route("GET", "/preview/{repository}/{path:rest}", preview, needs, operation)]


async def _drawn(call: Call, wrapper: Mapping[str, Any], drawing: Drawing, drawings: Drawings) -> Picture | str:
    """The picture, or why there is none."""
    spec = _spec_of(wrapper)
    if spec is None:
        return "The file holds no dashboard that could be drawn."
    try:
        body = await aside(len(spec), lambda: write_json(spec).decode())
        return await drawings.draw(body, drawing, asking_of(call.identity))
    except DashwrightError as error:
        _log.info("preview_not_drawn", reason=error.message)
        return error.message


def _spec_of(wrapper: Mapping[str, Any]) -> Any:
    """The dashboard as it would be stored, or else as the file has it."""
    objects = wrapper.get("resource") or {}
    if (objects.get("type") or {}).get("resource") != DASHBOARD.plural:
        return None
    shown = objects.get("dryRun") or objects.get("file") or {}
    return shown.get("spec") or None


def _page(call: Call, wrapper: Mapping[str, Any], drawn: Picture | str) -> bytes:
    spec = _spec_of(wrapper) or {}
    path = call.parameters["path"]
    title = escape(str(spec.get("title") or path))
    where = f"{call.parameters['repository']}: {path} at {wrapper.get('ref') or call.query.get('ref') or 'the current state'}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1><p>{escape(where)}</p>"
        f"{_problems(wrapper)}{_shown(drawn, title)}</body></html>"
    ).encode()


def _problems(wrapper: Mapping[str, Any]) -> str:
    found = [str(error) for error in wrapper.get("errors") or ()]
    found += [f"{issue.get('severity')}: {issue.get('message')} ({issue.get('rule')})" for issue in wrapper.get("lint") or ()]
    items = "".join(f"<li>{escape(each)}</li>" for each in found)
    return f"<h2>Problems</h2><ul>{items}</ul>" if items else ""


def _shown(drawn: Picture | str, title: str) -> str:
    if isinstance(drawn, str):
        return f"<p>{escape(drawn)}</p>"
    kind = media.SVG if drawn.media_type == media.SVG else media.PNG
    return f'<img alt="{title}" src="data:{kind};base64,{base64.b64encode(drawn.body).decode()}">'

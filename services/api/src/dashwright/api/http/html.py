"""HTML pages from templates, and error pages. They load nothing from other servers, and run only the scripts of the templates."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dashwright.api.http.response import Response
from dashwright.common import media
from dashwright.common.errors import DashwrightError

CONTENT_TYPE: Final = "text/html; charset=utf-8"
FAVICON: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2f6fde"/>'
    b'<path d="M6 23l6-8 5 4 9-11" fill="none" stroke="#fff" stroke-width="3.4" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)

_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
_PACKAGE: Final = "dashwright.api"
_DIRECTORY: Final = "templates"
_STYLE: Final = "style.css"
_API_ROOTS: Final = ("/api", "/apis", "/openapi", "/version")
"""Paths below these roots are for programs: their errors are always JSON."""
_TITLES: Final[Mapping[int, str]] = {
    400: "This address has a mistake",
    401: "Please sign in",
    403: "You may not see this",
    404: "There is no such page",
    429: "Too many requests",
    503: "Not available at the moment",
}
"""Titles of error pages by status."""
_environment: Final = Environment(
    loader=PackageLoader(_PACKAGE, _DIRECTORY), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def page(
    template: str,
    *,
    title: str,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    theme: str = "",
    is_wide: bool = False,
    own_style: str = "",
    scripts: Sequence[str] = (),
    **values: Any,
) -> Response:
    """Return the HTML page of a template, which escapes all text in ``values``.

    ``theme`` is ``light`` or ``dark``, or empty for the theme of the reader's system. ``own_style`` is CSS for this page alone.
    ``scripts`` are names of files next to the template. The Content-Security-Policy has the digests of the styles and scripts, and
    permits no others.
    """
    style_texts = [_resource(_STYLE), *([own_style] if own_style else [])]
    script_texts = [_resource(name) for name in scripts]
    body = _environment.get_template(template).render(
        title=title,
        status=status,
        theme=theme,
        is_wide=is_wide,
        styles=[Markup(text) for text in style_texts],  # noqa: S704 (files of this package, and rules with numbers only)
        scripts=[Markup(text) for text in script_texts],  # noqa: S704 (files of this package)
        **values,
    )
    policy = _content_security_policy(style_texts, script_texts)
    return Response(
        status, body.encode(), CONTENT_TYPE, {**_HEADERS, "Content-Security-Policy": policy, **(headers or {})}, may_compress=True
    )


def accepts_html(accept: str) -> bool:
    """Return whether an ``Accept`` header lists HTML but not JSON, as browsers send it."""
    accepted_types = {media_range.name for media_range in media.ranges(accept) if media_range.weight > 0}
    return "text/html" in accepted_types and media.JSON not in accepted_types


def has_error_pages(path: str) -> bool:
    """Return whether errors of a path are HTML for browsers. Below the roots of the APIs they are JSON for all clients."""
    return not any(path == root or path.startswith(f"{root}/") for root in _API_ROOTS)


def error_page(error: DashwrightError, response: Response, trace_id: str, path: str) -> Response:
    """Return an HTML page for ``error``, with the status and headers of ``response``, the JSON response for it."""
    is_server_error = response.status >= 500
    # The general messages of internal errors and of missing credentials add nothing to the title of the page.
    has_helpful_message = error.status != 500 and error.message != "Unauthorized"
    return page(
        "error.html",
        title=_TITLES.get(response.status, "Something went wrong" if is_server_error else "This did not work"),
        status=response.status,
        headers=response.headers,
        message=error.message if has_helpful_message else "",
        trace_id=trace_id if is_server_error else "",
        # As a link, a path that begins with two slashes would lead to another server.
        sign_in_path=path if path.startswith("/") and not path.startswith("//") else "/",
    )


@cache
def _resource(name: str) -> str:
    """Return the text of a file next to the templates."""
    return files(_PACKAGE).joinpath(_DIRECTORY, name).read_text("utf-8")


def _content_security_policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Return the Content-Security-Policy that permits these texts as inline styles and scripts."""
    parts = ["default-src 'none'", f"style-src {' '.join(map(csp_source, styles))}", "img-src 'self'"]
    if scripts:
        parts += [f"script-src {' '.join(map(csp_source, scripts))}", "connect-src 'self'"]
    return "; ".join([*parts, "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"])


def csp_source(text: str) -> str:
    """Return the source expression that permits an inline style or script, with the digest of its text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

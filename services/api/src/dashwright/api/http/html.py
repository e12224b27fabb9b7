"""The frame of HTML pages, and error pages. They have no scripts and load nothing from other servers."""

from collections.abc import Mapping
from html import escape
from typing import Final

from dashwright.api.http.response import Response
from dashwright.common import media
from dashwright.common.errors import DashwrightError

CONTENT_TYPE: Final = "text/html; charset=utf-8"
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}
FAVICON: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2f6fde"/>'
    b'<path d="M6 23l6-8 5 4 9-11" fill="none" stroke="#fff" stroke-width="3.4" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)

_STYLE: Final = """
:root { color-scheme: light dark; --text: #1f2430; --quiet: #62676e; --line: #dcdfe4; --link: #1f5fd0; --back: #fff }
@media (prefers-color-scheme: dark) { :root { --text: #d8dce4; --quiet: #9aa0a8; --line: #333842; --link: #8ab4f8; --back: #16181d } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 0 auto; padding: 0 1rem 3rem;
  color: var(--text); background: var(--back) }
header { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; align-items: baseline; padding: 1rem 0; border-bottom: 1px solid var(--line) }
header strong a { color: inherit; text-decoration: none } header form { margin-left: auto }
a { color: var(--link) } h1 { margin: 1.2rem 0 0; font-size: 1.6rem } h2 { margin: 1.8rem 0 .4rem; font-size: 1.15rem }
p { margin: .2rem 0 .6rem }
.quiet { color: var(--quiet) } ul.plain { list-style: none; padding: 0; margin: 0 }
ul.plain li { padding: .25rem 0; border-bottom: 1px solid var(--line) }
table { border-collapse: collapse; width: 100% } th { text-align: left; font-weight: 600 } th, td { padding: .25rem 1rem .25rem 0 }
td { border-bottom: 1px solid var(--line); vertical-align: top }
input { font: inherit; padding: .2rem .5rem; border: 1px solid var(--line); border-radius: 4px; background: none; color: inherit }
pre { overflow: auto } img { max-width: 100%; border: 1px solid var(--line) } li { margin: .2rem 0 }
"""
_TITLES: Final[Mapping[int, str]] = {
    401: "Please sign in",
    403: "You may not see this",
    404: "There is no such page",
    429: "Too many requests",
    503: "Not available at the moment",
}


def page(title: str, body: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an HTML page. ``title`` is plain text. ``body`` is HTML, in which users' input must be escaped."""
    escaped_title = escape(title)
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<title>{escaped_title} · Dashwright</title><link rel="icon" href="/favicon.svg"><style>{_STYLE}</style></head><body>'
        '<header><strong><a href="/">Dashwright</a></strong><a href="/dashboards">Dashboards</a><a href="/docs">API</a>'
        '<form action="/dashboards"><input type="search" name="query" placeholder="Find a dashboard" aria-label="Find a dashboard"></form>'
        f"</header><main><h1>{escaped_title}</h1>{body}</main></body></html>"
    )
    return Response(status, html.encode(), CONTENT_TYPE, {**HEADERS, **(headers or {})}, may_compress=True)


def accepts_html(accept: str) -> bool:
    """Return whether an ``Accept`` header names HTML and not JSON, as that of a browser does."""
    accepted_types = {media_range.name for media_range in media.ranges(accept) if media_range.weight > 0}
    return "text/html" in accepted_types and media.JSON not in accepted_types


def error_page(error: DashwrightError, response: Response, trace_id: str) -> Response:
    """Return an HTML page for ``error``, with the status and headers of ``response``, the JSON response for it."""
    is_server_error = response.status >= 500
    has_helpful_message = error.status != 500 and error.message != "Unauthorized"
    message = f"<p>{escape(error.message)}</p>" if has_helpful_message else ""
    hints = {
        401: "<p>Reload the page and enter your user name and password. The first user of a new server is <code>admin</code>.</p>",
        404: '<p>Look for it among <a href="/dashboards">all dashboards</a>.</p>',
    }
    trace_line = f'<p class="quiet">Trace id {escape(trace_id)}</p>' if is_server_error else ""
    title = _TITLES.get(response.status, "Something went wrong" if is_server_error else "This did not work")
    return page(title, f"{message}{hints.get(response.status, '')}{trace_line}", status=response.status, headers=response.headers)

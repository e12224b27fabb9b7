"""HTML pages: the clients that receive them, and error pages."""

import pytest

from dashwright.api.http import html
from dashwright.api.http.response import Response
from dashwright.common.errors import DashwrightError, NotFound, Unauthorized

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "is_browser"),
    [(BROWSER, True), ("*/*", False), ("", False), ("application/json, text/html", False), ("text/html;q=0", False)],
)
def test_browsers_are_known_by_what_they_accept(accept: str, is_browser: bool) -> None:
    """A client is a browser if it names HTML, but not JSON, as acceptable."""
    assert html.accepts_html(accept) is is_browser


@pytest.mark.parametrize(
    ("path", "has_pages"), [("/", True), ("/d/x", True), ("/apix", True), ("/api", False), ("/api/x", False), ("/apis/x", False)]
)
def test_the_api_has_no_error_pages(path: str, has_pages: bool) -> None:
    """Errors of paths below ``/api`` and ``/apis`` are JSON, also for browsers."""
    assert html.has_error_pages(path) is has_pages


@pytest.mark.parametrize(
    ("path", "address"), [("/d/x", "/d/x"), ("//evil.example/d", "/"), ("https://evil.example", "/"), ("/%22<", "/%22&lt;")]
)
def test_the_sign_in_leads_to_this_server(path: str, address: str) -> None:
    """The link to sign in has the escaped path of the page, or ``/`` if the path could name another server."""
    body = html.error_page(Unauthorized("Unauthorized"), Response(401), "1", path).body
    assert isinstance(body, bytes)
    assert f'href="{address}">Sign in' in body.decode()


def test_internal_errors_show_a_trace_id_only() -> None:
    """The page of an internal error has the trace id and not the message. That of a client's error has the escaped message."""
    body = html.error_page(DashwrightError("secret"), Response(500), "feed", "/d/x").body
    assert isinstance(body, bytes)
    assert b"feed" in body
    assert b"secret" not in body
    missing = html.error_page(NotFound("<b>"), Response(404), "feed", "/d/x").body
    assert isinstance(missing, bytes)
    assert b"&lt;b&gt;" in missing
    assert b"feed" not in missing

"""HTML pages. Browsers receive the start page, the contents of folders, search results and errors as HTML without scripts."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.repositories import REPOSITORIES, make_local_repository

from dashwright.common.identity import Role

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
HOSTILE_TEXT = '<img src=x onerror="alert(1)"> & "quoted"'


class _PageParser(HTMLParser):
    """A parser that collects the links, the names of the elements and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.elements: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.links += [value for name, value in attrs if name == "href" and value and tag == "a"]

    def handle_data(self, data: str) -> None:
        self.text += data


async def open_page(api: Api, path: str, auth: str | None = None, status: int = 200) -> _PageParser:
    """Check the status and the headers of a page, and return it parsed."""
    headers = {**BROWSER, **({"Authorization": auth} if auth else {})}
    async with api.session.get(path, headers=headers) as response:
        body = await response.text()
        assert (response.status, response.content_type) == (status, "text/html"), body
        check_headers(response.headers)
    parser = _PageParser()
    parser.feed(body)
    assert not {"script", "iframe"} & set(parser.elements)
    return parser


def check_headers(headers: Mapping[str, str]) -> None:
    """Check that a page runs no scripts, and that other sites can neither load it into a frame nor see the address of its links."""
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search("script|unsafe|http|data:|[*]", policy), policy
    assert (headers["X-Content-Type-Options"], headers["X-Frame-Options"]) == ("nosniff", "DENY")
    assert headers["Referrer-Policy"] == "same-origin"
    assert "private" in headers["Cache-Control"]


async def create_dashboard(api: Api, uid: str, title: str, folder: str = "", tags: Sequence[str] = ()) -> None:
    """Create a dashboard in a folder, or at the root."""
    body = {"dashboard": {"uid": uid, "title": title, "tags": tags}, "folderUid": folder}
    status, body = await api("POST", "/api/dashboards/db", body)
    assert status == 200, body


@pytest.fixture
async def gateway(api: Api) -> Api:
    """Return a gateway with nested folders, dashboards at the root and in a folder, and a repository."""
    assert (await api("POST", "/api/folders", {"uid": "shop", "title": "Shop"}))[0] == 200
    assert (await api("POST", "/api/folders", {"uid": "inner", "title": "Inner", "parentUid": "shop"}))[0] == 200
    await create_dashboard(api, "top", HOSTILE_TEXT, tags=["a&b"])
    await create_dashboard(api, "orders", "Orders", "shop")
    await make_local_repository(api, "team", api.data / "repositories")
    return api


async def test_the_start_page_leads_to_everything(gateway: Api) -> None:
    """The start page links to dashboards, folders and the API description, and lists repositories and jobs.

    The page of a folder links to its contents and to its parents.
    """
    admin = await gateway.person("ann", Role.ADMIN)
    page = await open_page(gateway, "/", admin)
    assert {"/dashboards/f/shop/shop", "/docs", "/openapi.json", "/dashboards"} <= set(page.links)
    assert any(link.startswith("/d/top/") for link in page.links)
    assert HOSTILE_TEXT in page.text
    assert "img" not in page.elements
    assert all(word in page.text for word in ("Repositories", "team", "Jobs"))
    folder = await open_page(gateway, "/dashboards/f/shop/any-slug", admin)
    assert {"/dashboards/f/inner/inner", "/d/orders/orders"} <= set(folder.links)
    assert (await gateway("POST", "/api/folders", {"uid": "deep", "title": "Deep", "parentUid": "inner"}))[0] == 200
    links = (await open_page(gateway, "/dashboards/f/deep", admin)).links
    assert [link for link in links if link.startswith("/dashboards/f/")] == ["/dashboards/f/shop/shop", "/dashboards/f/inner/inner"]


@pytest.mark.parametrize(
    ("title", "messages", "cells"),
    [
        ("team", [], ["team", "healthy", "error"]),
        ("The team", ["a.json is broken"], ["The team (team)", "healthy", "error: a.json is broken"]),
        ("The team", ["a.json is broken", "b", "c"], ["The team (team)", "healthy", "error: a.json is broken, and 2 more"]),
    ],
)
async def test_a_failed_sync_shows_its_first_error(api: Api, title: str, messages: list[str], cells: list[str]) -> None:
    """The start page has the title of each repository, the name if it differs, and the first reason why its last sync failed."""
    await make_local_repository(api, "team", api.data / "repositories")
    sync = json.dumps({"state": "error", "message": messages})
    statement = "update resource set title = $2, status = jsonb_set(status::jsonb, '{sync}', $3::jsonb) where name = $1"
    await api.sql(statement, "team", title, sync)
    # The last cell is the end of the last sync, which the status does not have.
    row = "<tr>" + "".join(f"<td>{cell}</td>" for cell in [*cells, ""]) + "</tr>"
    async with api.session.get("/", headers={**BROWSER, "Authorization": ADMIN}) as response:
        assert row in await response.text()


async def test_a_reason_of_health_and_sync_is_shown_once(api: Api) -> None:
    """The start page says once why a repository cannot be read."""
    await make_local_repository(api, "team", api.data / "repositories")
    status = {
        "health": {"healthy": False, "checked": 1, "message": ["unreachable"]},
        "sync": {"state": "error", "message": ["unreachable"]},
    }
    await api.sql("update resource set status = $2::json where name = $1", "team", json.dumps(status))
    # The text of a row is that of its cells: the name, the reason, and the state of the last sync.
    assert "team" + "unreachable" + "error" + "\n" in (await open_page(api, "/", ADMIN)).text


async def test_a_new_repository_is_not_checked_yet(api: Api) -> None:
    """A repository whose source was never read is neither healthy nor unhealthy on the start page."""
    location = {"type": "local", "local": {"path": str(api.data / "repositories" / "team")}}
    spec = {"title": "team", "workflows": [], **location, "sync": {"enabled": True, "target": "folder"}}
    status, response = await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
    assert status == 201, response
    assert "team" + "not checked yet" in (await open_page(api, "/", ADMIN)).text


async def test_a_search_finds_by_title_everywhere(gateway: Api) -> None:
    """A search by title finds objects in all folders, and its text is escaped on the page."""
    viewer = await gateway.person("vera", Role.VIEWER)
    assert "/d/orders/orders" in (await open_page(gateway, "/dashboards?query=rder", viewer)).links
    empty_page = await open_page(gateway, "/dashboards?query=%3Cscript%3Ealert(1)%3C%2Fscript%3E", viewer)
    assert "Nothing found that you can view" in empty_page.text


async def test_a_search_finds_by_tag(gateway: Api) -> None:
    """Each tag is a link to the dashboards with this tag, and the form of that page has the tag selected."""
    viewer = await gateway.person("vera", Role.VIEWER)
    page = await open_page(gateway, "/dashboards", viewer)
    assert "/dashboards?tag=a%26b" in page.links
    result_page = await open_page(gateway, "/dashboards?tag=a%26b&query=quoted", viewer)
    assert any(link.startswith("/d/top/") for link in result_page.links)
    assert "1 dashboard or folder with “quoted” in the title and with the tag a&b" in result_page.text
    assert "Nothing found" in (await open_page(gateway, "/dashboards?tag=unknown", viewer)).text


async def test_long_lists_have_pages(gateway: Api) -> None:
    """A page has 100 objects and links to its neighbours with the same search. A number beyond the last page returns the last page."""
    for number in range(101):
        await create_dashboard(gateway, f"copy-{number}", f"Copy {number:03}", "shop")
    viewer = await gateway.person("vera", Role.VIEWER)
    first = await open_page(gateway, "/dashboards?query=Copy", viewer)
    last = await open_page(gateway, "/dashboards?query=Copy&page=9", viewer)
    assert "Page 1 of 2" in first.text
    assert "/dashboards?query=Copy&page=2" in first.links
    assert "/d/copy-100/copy-100" in last.links
    assert "/dashboards?query=Copy&page=1" in last.links
    assert "/dashboards/f/shop/shop?page=2" in (await open_page(gateway, "/dashboards/f/shop/shop", viewer)).links


async def test_pages_contain_readable_objects(gateway: Api) -> None:
    """Pages do not show a hidden folder or the objects in it. A user without permission to list repositories does not see them."""
    viewer = await gateway.person("vera", Role.VIEWER)
    assert (await gateway("POST", "/api/folders/shop/permissions", {"items": []}))[0] == 200
    page = await open_page(gateway, "/", viewer)
    assert "Shop" not in page.text
    assert "/d/orders/orders" not in (await open_page(gateway, "/dashboards?query=Orders", viewer)).links
    await open_page(gateway, "/dashboards/f/shop", viewer, status=404)
    await open_page(gateway, "/dashboards/f/missing", viewer, status=404)
    assert "Repositories" not in (await open_page(gateway, "/", await gateway.person("nora", Role.NONE))).text


@pytest.mark.parametrize(
    ("path", "with_login", "status", "text"),
    [
        ("/", False, 401, "sign in"),
        ("/d/missing", True, 404, "no such page"),
        ("/nowhere/<b>", True, 404, "no such page"),
        ("/render/d/missing", True, 404, "no such page"),
    ],
)
async def test_browsers_receive_errors_as_pages(api: Api, path: str, with_login: bool, status: int, text: str) -> None:
    """An error is HTML for browsers, with its status and headers, and JSON for other clients."""
    auth = await api.person("vera", Role.VIEWER) if with_login else None
    page = await open_page(api, path, auth, status)
    assert text in page.text
    assert "b" not in page.elements
    headers = {"Authorization": auth} if auth else {}
    for accept in ("*/*", "application/json", "application/json, text/html"):
        async with api.session.get(path, headers={**headers, "Accept": accept}) as response:
            assert (response.status, response.content_type) == (status, "application/json")
            if status == 401:
                assert "WWW-Authenticate" in response.headers
            else:
                assert "WWW-Authenticate" not in response.headers


@pytest.mark.parametrize("path", ["/api/nothing", "/apis/nothing", "/openapi/v3/nothing", "/version/nothing", "/api", "/apis/x/v1/y"])
async def test_errors_of_the_api_are_json_for_browsers_too(api: Api, path: str) -> None:
    """Errors of the API are JSON even for requests with the headers of a browser, so that programs can read them."""
    async with api.session.get(path, headers={**BROWSER, "Authorization": ADMIN}) as response:
        assert (response.status, response.content_type) == (404, "application/json")


async def test_the_sign_in_leads_back_to_the_page(api: Api) -> None:
    """The 401 page links to the requested page, where the browser asks for credentials, and to the public API description."""
    page = await open_page(api, "/d/x?var-a=<b>", status=401)
    assert {"/d/x", "/docs"} <= set(page.links)
    assert "b" not in page.elements


@pytest.mark.parametrize("path", ["/docs", "/docs/dashboards"])
async def test_pages_of_the_api_permit_only_their_own_style_and_script(api: Api, path: str) -> None:
    """The Content-Security-Policy has the digests of style and script, and other sites cannot show the page in a frame."""
    async with api.session.get(path) as response:
        body, policy = await response.text(), response.headers["Content-Security-Policy"]
        assert response.headers["X-Frame-Options"] == "DENY"
    inline_blocks = re.findall(r"<(style|script)>(.*?)</", body, re.DOTALL)
    expected_directives = set()
    for kind, text in inline_blocks:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        expected_directives.add(f"{kind}-src 'sha256-{digest}'")
    assert {part for part in policy.split("; ") if part.startswith(("style-src", "script-src"))} == expected_directives


@pytest.mark.parametrize("path", ["/favicon.ico", "/favicon.svg"])
async def test_there_is_an_icon(api: Api, path: str) -> None:
    """Browsers get an icon without a login."""
    async with api.session.get(path) as response:
        assert (response.status, response.content_type) == (200, "image/svg+xml")
        body: Any = await response.read()
    assert re.match(rb"<svg [^>]*>.*</svg>\Z", body)

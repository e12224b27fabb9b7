"""Pages of dashboards and of single panels, which need no scripts, escape the text of users, and follow the caller's permissions."""

import base64
import hashlib
import re
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

TESTDATA = {"type": "grafana-testdata-datasource", "uid": "testdata"}
HOSTILE_TEXT = '</style></title><script>alert(1)</script><img src=x onerror="alert(1)">'
TARGETS = [{"refId": "A", "datasource": TESTDATA, "scenarioId": "csv_metric_values", "stringInput": "41,42"}]


def panel(id_: int, x: int, y: int, title: str, **members: Any) -> dict[str, Any]:
    """Return a panel at a position, half as wide as a page."""
    return {"id": id_, "type": "stat", "title": title, "gridPos": {"x": x, "y": y, "w": 12, "h": 4}, "targets": TARGETS, **members}


#: A dashboard with each part of a page: a repeated panel, a collapsed row, four variables and three links.
DASHBOARD = {
    "uid": "shown",
    "title": "Shown",
    "time": {"from": "now-1h", "to": "now"},
    "refresh": "30s",
    "panels": [
        panel(1, 0, 0, "Answer", description="What it means"),
        panel(2, 12, 0, "On $host", repeat="host"),
        {
            "id": 8,
            "type": "row",
            "title": "Details",
            "gridPos": {"x": 0, "y": 9, "w": 24, "h": 1},
            "collapsed": True,
            "panels": [panel(3, 0, 10, "Deep")],
        },
    ],
    "templating": {
        "list": [
            {
                "name": "host",
                "label": "Host",
                "type": "custom",
                "query": "a,b",
                "multi": True,
                "includeAll": True,
                "current": {"value": ["a", "b"]},
            },
            {"name": "stage", "type": "custom", "query": "live,test"},
            {"name": "filter", "type": "textbox", "query": "GET"},
            {"name": "hidden", "type": "custom", "query": "x,y", "hide": 2},
        ]
    },
    "links": [
        {"type": "link", "title": "Runbook", "url": "https://example.com/$stage"},
        {"type": "link", "title": "Bad", "url": "javascript:alert(1)"},
        {"type": "dashboards", "tags": ["linked"], "keepTime": True},
    ],
}


class _Page(HTMLParser):
    """A page: its elements with their attributes, its text, and the sources of its scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.sources: dict[str, list[str]] = {"script": [], "style": []}
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self._inside = tag if tag in self.sources else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.sources[self._inside].append(data)
        else:
            self.text += data

    def elements_named(self, tag: str) -> list[dict[str, str]]:
        """Return the attributes of the elements with a tag."""
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
async def drawing_api(api: Api, broker: MemoryBroker, database: Database) -> AsyncIterator[Api]:
    """Yield a gateway with the dashboard ``shown``, and run an expressions worker, which draws its panels."""
    worker = ExpressionsWorker(load(secret_key="of tests only"), database, broker, Clock())
    await worker.start()
    await save_dashboard(api, DASHBOARD)
    yield api
    await worker.stop()


async def save_dashboard(api: Api, dashboard: dict[str, Any]) -> None:
    """Save a dashboard."""
    status, body = await api("POST", "/api/dashboards/db", {"dashboard": dashboard})
    assert status == 200, body


async def open_page(api: Api, path: str, auth: str = ADMIN, status: int = 200) -> _Page:
    """Return a page whose Content-Security-Policy permits exactly its own styles and scripts."""
    async with api.session.get(path, headers={"Authorization": auth, "Accept": "text/html"}) as response:
        body = await response.text()
        assert (response.status, response.content_type) == (status, "text/html"), body
        policy = response.headers["Content-Security-Policy"]
    page = _Page()
    page.feed(body)
    for kind, texts in page.sources.items():
        digests = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts}
        permitted = re.search(rf"{kind}-src ([^;]*)", policy)
        assert set(permitted[1].split() if permitted else ()) == digests, policy
    # No source outside of this server, and no inline code without a hash.
    assert not re.search("unsafe|http|data:|[*]", policy), policy
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
    return page


async def test_a_page_has_each_panel_as_a_picture(drawing_api: Api) -> None:
    """A page has the picture of each panel, which loads lazily and has a text and a size. The page has one heading ``h1``."""
    page = await open_page(drawing_api, "/d/shown/any-slug?from=now-2h&theme=light&var-stage=test")
    assert page.text.count("Shown") == 2  # in the title of the window and in the heading
    assert [name for name, _ in page.elements].count("h1") == 1
    pictures = page.elements_named("img")
    assert [picture["alt"] for picture in pictures] == ["Answer (stat)", "On a (stat)", "On b (stat)", "Deep (stat)"]
    for picture in pictures:
        assert picture["loading"] == "lazy"
        assert int(picture["width"]) > 0
        assert int(picture["height"]) > 0
        address = urlsplit(picture["src"])
        query = parse_qs(address.query)
        assert address.path == "/render/d-solo/shown"
        assert query["from"] == ["now-2h"]
        assert query["theme"] == ["light"]
        assert query["var-stage"] == ["test"]
    assert parse_qs(urlsplit(pictures[2]["src"]).query)["var-host"] == ["b"]
    async with drawing_api.session.get(pictures[2]["src"], headers={"Authorization": ADMIN}) as response:
        text = await response.text()
        assert response.status == 200
        assert response.content_type == "image/svg+xml"
        assert ">On b<" in text


async def test_descriptions_can_be_opened(drawing_api: Api) -> None:
    """Only a panel with a description has a sign, which shows the description and has a name for screen readers."""
    page = await open_page(drawing_api, "/d/shown")
    signs = [(sign["title"], sign["aria-label"]) for sign in page.elements_named("summary") if "title" in sign]
    assert signs == [("What it means", "Description of Answer (stat)")]
    assert "What it means" in page.text
    picture = page.elements_named("img")[0]["src"]
    async with drawing_api.session.get(picture, headers={"Authorization": ADMIN}) as response:
        assert "<title>What it means</title>" in await response.text()


async def test_panels_beyond_a_page_are_on_the_next_one(drawing_api: Api) -> None:
    """A page has at most 500 panels and links to the next page, with the parameters of its URL. Each panel has a page of its own."""
    await save_dashboard(
        drawing_api, {"uid": "large", "title": "Large", "panels": [panel(id_, 0, id_ * 4, f"P{id_}") for id_ in range(1, 504)]}
    )
    first = await open_page(drawing_api, "/d/large?from=now-2h")
    assert len(first.elements_named("img")) == 500
    (link,) = [link for link in first.elements_named("a") if link.get("rel") == "next"]
    assert link["href"] == "/d/large?from=now-2h&page=2"
    second = await open_page(drawing_api, link["href"])
    assert [picture["alt"] for picture in second.elements_named("img")] == ["P501 (stat)", "P502 (stat)", "P503 (stat)"]
    assert "P503" in (await open_page(drawing_api, "/d-solo/large?panelId=503")).text


async def test_collapsed_rows_can_be_opened(drawing_api: Api) -> None:
    """The heading of a collapsed row has the number of its panels. The parameter ``rows=expanded`` opens all rows."""
    page = await open_page(drawing_api, "/d/shown")
    assert re.search(r"Details\s*\(1 panel\)", page.text)
    [row] = [details for details in page.elements_named("details") if details.get("class") == "row"]
    assert "open" not in row
    expanded_page = await open_page(drawing_api, "/d/shown?rows=expanded")
    [row] = [details for details in expanded_page.elements_named("details") if details.get("class") == "row"]
    assert "open" in row


async def test_links_to_one_panel_open_its_page(drawing_api: Api) -> None:
    """A link with ``viewPanel`` redirects to the page of the panel, with the parameters of the link."""
    path = "/d/shown/any-slug?var-host=a%26b&viewPanel=panel-1&from=now-2h"
    async with drawing_api.session.get(path, headers={"Authorization": ADMIN}, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (302, "/d-solo/shown?panelId=panel-1&var-host=a%26b&from=now-2h")
    async with drawing_api.session.get(path, headers={"Authorization": ADMIN}) as response:
        assert (response.status, response.url.path) == (200, "/d-solo/shown")


async def test_the_controls_have_the_values_of_the_url(drawing_api: Api) -> None:
    """The time range, the variables and the refresh interval of the URL are fields of a form, which keeps the other parameters."""
    query = "from=now-3h&to=now-1h&refresh=1m&tz=Asia/Tokyo&theme=dark&var-host=b&var-filter=POST&var-hidden=y"
    page = await open_page(drawing_api, f"/d/shown?{query}")
    fields = {field["name"]: field.get("value", "") for field in page.elements_named("input")}
    assert (fields["from"], fields["to"], fields["var-filter"]) == ("now-3h", "now-1h", "POST")
    assert {field["name"]: field["value"] for field in page.elements_named("input") if field.get("type") == "hidden"} == {
        "tz": "Asia/Tokyo",
        "theme": "dark",
        "var-hidden": "y",
    }
    assert [("multiple" in choice, choice["name"]) for choice in page.elements_named("select")] == [
        (True, "var-host"),
        (False, "var-stage"),
        (False, "refresh"),
    ]
    # The options of the refresh interval have a text, but no value.
    assert [option.get("value") for option in page.elements_named("option") if "selected" in option] == ["b", "live", None]
    assert page.elements_named("meta")[-1] == {"http-equiv": "refresh", "content": "60"}
    assert page.elements_named("html") == [{"lang": "en", "class": "dark"}]
    assert "Asia/Tokyo" in page.text


@pytest.mark.parametrize("path", ["/d/low", "/d-solo/low?panelId=1"])
async def test_a_page_leads_to_all_readable_folders_above(drawing_api: Api, path: str) -> None:
    """The page links to each folder above the dashboard that the caller may read, the highest folder first."""
    for uid, parent in (("top", ""), ("inner", "top"), ("deep", "inner")):
        assert (await drawing_api("POST", "/api/folders", {"uid": uid, "title": uid, "parentUid": parent}))[0] == 200
    body = {"dashboard": {**DASHBOARD, "uid": "low"}, "folderUid": "deep"}
    assert (await drawing_api("POST", "/api/dashboards/db", body))[0] == 200
    guest = await drawing_api.person("guest", Role.NONE)
    user_id = await drawing_api.sql("""select id from "user" where login = 'guest'""")
    assert (await drawing_api("POST", f"/api/access-control/folders/inner/users/{user_id}", {"permission": "View"}))[0] == 200
    for auth, folders in ((ADMIN, ["top", "inner", "deep"]), (guest, ["inner", "deep"])):
        links = [element.get("href", "") for element in (await open_page(drawing_api, path, auth)).elements_named("a")]
        assert [link for link in links if link.startswith("/dashboards/f/")] == [f"/dashboards/f/{uid}/{uid}" for uid in folders]


async def test_the_reason_of_several_variables_is_shown_once(drawing_api: Api) -> None:
    """Variables that fail for one reason are in one message above the panels."""
    variables = [{"name": name, "type": "query", "datasource": {"uid": "gone"}, "query": "x"} for name in ("job", "instance")]
    await save_dashboard(drawing_api, {"uid": "failing", "title": "Failing", "panels": [], "templating": {"list": variables}})
    page = await open_page(drawing_api, "/d/failing")
    assert (page.text.count("$job, $instance have no options"), page.text.count("no options")) == (1, 1)


async def test_links_of_a_dashboard_lead_to_safe_addresses(drawing_api: Api) -> None:
    """A link to tags becomes links to the readable dashboards with these tags. A link that would run a script is omitted."""
    await save_dashboard(drawing_api, {"uid": "linked", "title": "Linked", "tags": ["linked"]})
    await save_dashboard(drawing_api, {"uid": "other", "title": "Other", "tags": ["different"]})
    links = [link["href"] for link in (await open_page(drawing_api, "/d/shown")).elements_named("a")]
    assert "https://example.com/live" in links
    assert "/d/linked/linked?from=now-1h&to=now" in links
    assert not [link for link in links if "javascript" in link or "/d/other" in link]


async def test_user_text_is_escaped(drawing_api: Api) -> None:
    """Titles, descriptions, options, names and links of a hostile dashboard are text."""
    variables = [{"name": HOSTILE_TEXT, "label": HOSTILE_TEXT, "type": "custom", "query": HOSTILE_TEXT, "multi": True}]
    row = {"id": 5, "type": "row", "title": HOSTILE_TEXT, "gridPos": {"x": 0, "y": 4, "w": 24, "h": 1}, "collapsed": True, "panels": []}
    panels = [panel(1, 0, 0, HOSTILE_TEXT, type=HOSTILE_TEXT, description=HOSTILE_TEXT), row]
    links = [{"type": "link", "title": HOSTILE_TEXT, "url": f"/{HOSTILE_TEXT}", "tooltip": HOSTILE_TEXT}]
    hostile = {"uid": "hostile", "title": HOSTILE_TEXT, "panels": panels, "templating": {"list": variables}, "links": links}
    await save_dashboard(drawing_api, hostile)
    for path, status in (
        ("/d/hostile", 200),
        ("/d-solo/hostile?panelId=1", 200),
        (f"/d/hostile?from={HOSTILE_TEXT}&var-x={HOSTILE_TEXT}", 400),
    ):
        page = await open_page(drawing_api, path, status=status)
        assert HOSTILE_TEXT in page.text
        # Neither the script nor the picture of the hostile text is an element of the page.
        assert len(page.sources["script"]) == 1
        assert "x" not in [picture["src"] for picture in page.elements_named("img")]


async def test_a_panel_has_a_page(drawing_api: Api) -> None:
    """The dashboard's page links to the page of each panel with its own parameters, and the panel's page links back."""
    page = await open_page(drawing_api, "/d/shown?from=now-2h")
    address = next(link["href"] for link in page.elements_named("a") if link["href"].startswith("/d-solo/shown?panelId=2"))
    assert parse_qs(urlsplit(address).query) == {"panelId": ["2"], "from": ["now-2h"], "var-host": ["a"]}
    panel_page = await open_page(drawing_api, "/d-solo/shown/slug?panelId=panel-1&from=now-2h")
    assert [picture["alt"] for picture in panel_page.elements_named("img")] == ["Answer (stat)"]
    assert "/d/shown/shown?from=now-2h" in [link["href"] for link in panel_page.elements_named("a")]
    assert "What it means" in panel_page.text
    assert "panelId" in [field["name"] for field in panel_page.elements_named("input")]
    for path, status, text in (("/d-solo/shown", 400, "panelId is missing"), ("/d-solo/shown?panelId=99", 404, "no panel 99")):
        assert text in (await open_page(drawing_api, path, status=status)).text


@pytest.mark.parametrize(
    ("path", "text"), [("/d/shown?from=never", "never"), ("/d/shown?tz=Mars", "Mars"), ("/d/shown?theme=pink", "theme")]
)
async def test_a_mistake_in_the_address_is_explained(drawing_api: Api, path: str, text: str) -> None:
    """A page whose URL has an invalid parameter is 400, names the mistake and has no pictures."""
    page = await open_page(drawing_api, path, status=400)
    assert text in page.text
    assert not page.elements_named("img")


@pytest.mark.parametrize("path", ["/d/{}", "/d-solo/{}?panelId=1"])
async def test_a_page_needs_the_rights_on_its_dashboard(drawing_api: Api, path: str) -> None:
    """A caller without read access to any dashboard gets 403, and a caller who may only read other dashboards gets 404.

    For callers without the right to query, the page names the missing action and has no pictures.
    """
    other = await drawing_api.organization("other")
    caller_without_read = await drawing_api.person("without-read", Role.NONE, ("datasources:query", "datasources:*"))
    reader = await drawing_api.person("reader", Role.NONE, ("dashboards:read", "dashboards:uid:shown"))
    reader_of_another = await drawing_api.person("another-reader", Role.NONE, ("dashboards:read", "dashboards:uid:another"))
    other_admin = await drawing_api.person("theirs", Role.ADMIN, org_id=other)
    for auth, status in ((caller_without_read, 403), (reader_of_another, 404), (other_admin, 404)):
        assert "Shown" not in (await open_page(drawing_api, path.format("shown"), auth, status)).text
    await open_page(drawing_api, path.format("nothing"), status=404)
    page = await open_page(drawing_api, path.format("shown"), reader)
    assert "datasources:query" in page.text
    assert page.elements_named("img") == []
    async with drawing_api.session.get(path.format("shown")) as response:
        assert response.status == 401

"""Accessibility of every HTML page, which axe-core checks in a real browser."""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.repositories import FakeJobsWorker, make_local_repository, touch
from tests.servers.chromium import Tab, browsing
from tests.servers.npm import packaged_file
from tests.signer import SIGNER

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcServer
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

pytestmark = pytest.mark.faults

#: Checksum of the package axe-core, as in npm's lock files.
_INTEGRITY: Final = "sha512-Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg=="
#: A query of random data.
_TARGET: Final = {"refId": "A", "datasource": {"type": "grafana-testdata-datasource"}, "scenarioId": "random_walk"}
_VARIABLE: Final = {"name": "host", "label": "Host", "type": "custom", "query": "a,b", "multi": True, "includeAll": True}
#: JavaScript that returns a text for each violated rule, with the first three elements that violate it.
_VIOLATIONS: Final = """axe.run(document, {resultTypes: ['violations']}).then(report => report.violations.map(rule =>
    `${rule.impact} ${rule.id}: ${rule.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(' | ')}`))"""
#: The expected status of each page.
_PAGES: Final = {
    "/": 200,
    "/dashboards": 200,
    "/dashboards?query=shown&tag=shop": 200,
    "/dashboards?query=missing": 200,
    "/dashboards/f/folder": 200,
    "/d/shown": 200,
    "/d/shown?rows=expanded": 200,
    "/d/missing": 404,
    "/d-solo/shown?panelId=1": 200,
    "/preview/team/deep/a.json?ref=branch": 200,
    "/docs": 200,
}


def _panel(id_: int, kind: str, title: str, **members: Any) -> dict[str, Any]:
    """Return a panel with a query of random data, in the left or right half of the page."""
    grid = {"x": 12 * (id_ % 2), "y": 4 * id_, "w": 12, "h": 4}
    return {"id": id_, "type": kind, "title": title, "gridPos": grid, "targets": [_TARGET], **members}


def _dashboard(title: str, *panels: dict[str, Any]) -> dict[str, Any]:
    """Return a dashboard with these panels, a collapsed row, a link and two variables."""
    row = {**_panel(9, "row", "Details"), "collapsed": True, "panels": [_panel(10, "gauge", "Load")]}
    links = [{"type": "link", "title": "Runbook", "url": "https://example.com/"}]
    lists = {"templating": {"list": [_VARIABLE, {"name": "filter", "type": "textbox"}]}, "links": links, "tags": ["shop"]}
    return {"title": title, "time": {"from": "now-1h", "to": "now"}, "panels": [*panels, row], **lists}


@pytest.fixture
async def address(api: Api, broker: MemoryBroker, database: Database) -> AsyncIterator[str]:
    """Yield the address of a gateway with dashboards, a folder, and a repository whose file changes a dashboard."""
    await make_local_repository(api, "team", api.data, "write")
    jobs_worker = FakeJobsWorker()
    before = _dashboard("Shown", _panel(1, "timeseries", "Requests", description="Per second"), _panel(2, "stat", "Errors"))
    # Long JSON has marked lines.
    before["panels"][0]["options"] = {"legend": {"calcs": ["mean", "max", "lastNotNull"], "displayMode": "table", "placement": "right"}}
    after = _dashboard("Shown", _panel(1, "timeseries", "Requests per second"), _panel(3, "table", "Hosts"))
    after["panels"][0]["options"] = {"legend": {"calcs": ["mean", "max", "lastNotNull"], "displayMode": "table", "placement": "bottom"}}
    jobs_worker.touches = [touch("get", "shown", "")]
    jobs_worker.resource |= {
        "existing": {"metadata": {"name": "shown"}, "spec": before},
        "dryRun": {"metadata": {"name": "shown"}, "spec": after},
    }
    jobs_worker.problems = ["it cannot be stored"]
    for method, path, body in (
        ("POST", "/api/folders", {"uid": "folder", "title": "Folder"}),
        ("POST", "/api/dashboards/db", {"dashboard": {**before, "uid": "shown"}}),
        ("POST", "/api/dashboards/db", {"dashboard": {"uid": "inside", "title": "Inside"}, "folderUid": "folder"}),
    ):
        status, response = await api(method, path, body)
        assert status == 200, response
    server = RpcServer(broker, broker.topology.repositories, jobs_worker.respond, SIGNER, prefetch=8)
    worker = ExpressionsWorker(load(secret_key="of tests only"), database, broker, Clock())
    await server.start()
    await worker.start()
    yield f"127.0.0.1:{api.address.port}"
    await server.stop(drain=0)
    await worker.stop()


async def _show(tab: Tab, address: str, width: int, scheme: str) -> int:
    """Load a page with the given width of the window and preferred colour scheme, and return its status."""
    await tab.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 700)
    await tab.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    return await tab.load(address)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
async def test_every_page_is_accessible(address: str, width: int, scheme: str) -> None:
    """Each page follows all rules of axe-core, such as those for contrast and headings, and is not wider than the window."""
    axe = packaged_file("axe-core", "4.10.3", _INTEGRITY, "axe.min.js").decode()
    violations: dict[str, Any] = {}
    async with browsing(hosts="MAP unused 127.0.0.1") as tab:  # All addresses are numeric, so no host name needs a rule.
        # The browser sends the credentials of this address with all later requests, too.
        assert await tab.open(f"http://admin:admin@{address}/api/org") == 200
        for page, status in _PAGES.items():
            assert await _show(tab, f"http://{address}{page}", width, scheme) == status
            is_too_wide = await tab.evaluate("document.documentElement.scrollWidth > window.innerWidth")
            await tab.evaluate(f"document.querySelectorAll('details').forEach(each => each.open = true); {axe};0")
            violations[page] = await tab.evaluate(_VIOLATIONS)
            if is_too_wide:
                violations[page].append("wider than the window")
    assert violations == {page: [] for page in _PAGES}

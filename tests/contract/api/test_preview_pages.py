"""Preview pages. A preview shows the dashboard of a repository's file at a ref, and compares it with the stored dashboard."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.repositories import FakeJobsWorker, make_local_repository, touch
from tests.signer import SIGNER

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcServer
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

PAGE = "/preview/team/deep/a.json"


@pytest.fixture
async def jobs_worker(api: Api, broker: MemoryBroker, database: Database) -> AsyncIterator[FakeJobsWorker]:
    """Create a repository whose files a fake jobs worker returns. A real expressions worker draws the pictures."""
    await make_local_repository(api, "team", api.data, "write")
    fake_worker = FakeJobsWorker()
    server = RpcServer(broker, broker.topology.repositories, fake_worker.respond, SIGNER, prefetch=8)
    expressions_worker = ExpressionsWorker(load(secret_key="of tests only"), database, broker, Clock())
    await server.start()
    await expressions_worker.start()
    yield fake_worker
    await server.stop(drain=0)
    await expressions_worker.stop()


async def get_page(api: Api, path: str, auth: str = ADMIN) -> tuple[int, str, str]:
    """Return the status, the body and the Content-Security-Policy of a page."""
    async with api.session.get(path, headers={"Authorization": auth}) as response:
        return response.status, await response.text(), response.headers.get("Content-Security-Policy", "")


def panel(id_: int, title: str, **members: Any) -> dict[str, Any]:
    """Return a text panel in the left half of the page, below panels with smaller ids."""
    return {"id": id_, "type": "text", "title": title, "gridPos": {"x": 0, "y": id_, "w": 12, "h": 4}, **members}


async def test_a_new_dashboard_is_displayed(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """The page has the file's title and its path as text, and pictures of the file at the commit that was read."""
    jobs_worker.touches = [touch("get", "t", "")]
    jobs_worker.resource["file"]["spec"] = {"title": "T", "panels": [panel(1, "New <b>")]}
    status, body, policy = await get_page(api, f"{PAGE}?ref=%3Cb%3E&theme=light")
    assert status == 200, body
    assert (jobs_worker.requests[-1]["path"], jobs_worker.requests[-1]["ref"]) == ("deep/a.json", "<b>")
    assert "<h1>T</h1>" in body
    assert "The dashboard is new." in body
    assert 'src="/render/preview/team/deep/a.json?panelId=1&amp;' in body
    # The fake worker returns the file at the commit ``c``.
    assert '&amp;ref=c"' in body
    assert "<b>" not in body
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


async def test_a_preview_begins_with_the_changes(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """A preview shows the settings of each changed panel and pictures before and after, then the problems, then the dashboard."""
    jobs_worker.touches = [touch("get", "t", "")]
    before = [panel(1, "Same"), panel(2, "Old"), panel(3, "Gone"), panel(4, "Moves")]
    after = [
        panel(1, "Same"),
        panel(2, "New <i>", options={"legend": {"calcs": ["max"]}}),
        panel(4, "Moves", gridPos={"x": 12, "y": 4, "w": 12, "h": 4}),
        panel(5, "Extra"),
    ]
    jobs_worker.resource |= {
        "existing": {"metadata": {"name": "stored"}, "spec": {"title": "T", "panels": before}},
        "dryRun": {"metadata": {"name": "stored"}, "spec": {"title": "T", "refresh": "1m", "panels": after}},
    }
    jobs_worker.problems = ["it cannot be stored"]
    status, body, _ = await get_page(api, f"{PAGE}?ref=branch&from=now-1h")
    assert status == 200, body
    headings = re.findall(r"<h[23]>(.*?)</h[23]>", body)
    assert [re.sub("<[^>]*>", "", heading) for heading in headings] == [
        "Changes",
        "New &lt;i&gt; changed",
        "Extra added",
        "Gone removed",
        "Only moved",
        "Problems",
        "After the change",
    ]
    assert "1 panel changed, 1 panel added, 1 panel removed, 1 panel moved, settings of the dashboard changed" in body
    assert '<th scope="row">Moves</th><td>12 × 4 at 0, 4</td><td>12 × 4 at 12, 4</td>' in body  # noqa: RUF001 - typography of a page
    assert "it cannot be stored" in body
    changes = body[: body.index("<h2>Problems")]
    assert re.findall(r'<img [^>]*src="([^?]*)\?panelId=(\d+)&amp;', changes) == [
        ("/render/d-solo/stored", "2"),
        ("/render/preview/team/deep/a.json", "2"),
        ("/render/preview/team/deep/a.json", "5"),
        ("/render/d-solo/stored", "3"),
    ]
    assert re.findall(r'<th scope="row">(.*?)</th><td><pre>(.*?)</pre></td><td><pre>(.*?)</pre>', changes)[:2] == [
        ("refresh", "", "1m"),
        ("title", "Old", "New &lt;i&gt;"),
    ]
    assert '<th scope="row">options.legend</th><td><pre></pre></td><td><pre>{&#34;calcs&#34;:[&#34;max&#34;]}</pre></td>' in changes
    assert 'href="/d/stored"' in body
    form = body[: body.index("<h2>Changes")]
    assert '<input type="hidden" name="ref" value="branch">' in form
    assert 'name="from" value="now-1h"' in form
    assert "ref=branch&amp;from=now-5m" in form


async def test_panels_without_an_id_are_compared_by_title(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """Panels without an id are matched by title, even if it has a variable. Pictures use a panel's number before or after the change."""
    jobs_worker.touches = [touch("get", "t", "")]
    first, changed, new = panel(0, "First"), panel(0, "On $v"), panel(0, "New", description="d")
    for panel_without_id in (first, changed, new):
        del panel_without_id["id"]
    templating = {"list": [{"name": "v", "type": "custom", "query": "a"}]}
    stored = {"title": "T", "templating": templating, "panels": [first, {**changed, "description": "before"}]}
    jobs_worker.resource |= {
        "existing": {"metadata": {"name": "stored"}, "spec": stored},
        "dryRun": {"metadata": {"name": "stored"}, "spec": {**stored, "panels": [new, first, changed]}},
    }
    _, body, _ = await get_page(api, PAGE)
    images = re.findall(r'<img [^>]*src="([^?]*)\?panelId=(\d+)&amp;[^>]*alt="([^"]*)"', body[: body.index("<h2>After")])
    assert images == [
        ("/render/preview/team/deep/a.json", "1", "After: New (text)"),
        ("/render/d-solo/stored", "2", "Before: On a (text)"),
        ("/render/preview/team/deep/a.json", "3", "After: On a (text)"),
    ]


async def test_a_preview_has_pages_of_changed_panels(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """A page shows 60 changed panels and links to the next page. It lists at most 500 moved panels and counts the remaining ones."""
    jobs_worker.touches = [touch("get", "t", "")]
    # 130 panels have new titles and 501 are moved.
    renamed_ids, moved_ids = range(1, 131), range(131, 632)
    before = [panel(number, f"P{number}") for number in (*renamed_ids, *moved_ids)]
    after = [panel(number, f"Q{number}") for number in renamed_ids]
    after += [panel(number, f"P{number}", gridPos={"x": 12, "y": number, "w": 12, "h": 4}) for number in moved_ids]
    jobs_worker.resource |= {
        "existing": {"metadata": {"name": "stored"}, "spec": {"title": "T", "panels": before}},
        "dryRun": {"metadata": {"name": "stored"}, "spec": {"title": "T", "panels": after}},
    }
    panel_pages = []
    for number in ("1", "2", "3"):
        _, body, _ = await get_page(api, f"{PAGE}?ref=branch&page={number}")
        panel_pages.append(re.findall(r"<h3>Q(\d+) ", body))
        assert f"Page {number} of 3" in body
    assert [len(numbers) for numbers in panel_pages] == [60, 60, 10]
    assert [int(number) for numbers in panel_pages for number in numbers] == list(renamed_ids)
    _, first, _ = await get_page(api, f"{PAGE}?ref=branch&from=now-1h")
    assert 'rel="next" href="/preview/team/deep/a.json?ref=branch&amp;from=now-1h&amp;page=2"' in first
    assert len(re.findall(r'<th scope="row">P\d+</th>', first)) == 500
    assert "1 more moved panels are not shown here" in first


async def test_deleted_file_shows_its_dashboard(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """The preview of a deleted file says so, and shows the panels of the stored dashboard."""
    jobs_worker.touches = [touch("get", "stored", "")]
    stored = {"metadata": {"name": "stored"}, "spec": {"title": "Old <b>", "panels": [panel(7, "Gone")]}}
    jobs_worker.resource = {"type": jobs_worker.resource["type"], "existing": stored, "action": "delete"}
    status, body, _ = await get_page(api, f"{PAGE}?ref=branch&from=now-1h")
    assert (status, jobs_worker.requests[-1]["withRemoved"]) == (200, True)
    assert "<h1>Old &lt;b&gt;</h1>" in body
    assert "The file is deleted, and the dashboard with it." in body
    assert re.findall(r"<h2>(.*?)</h2>", body) == ["Changes", "Before the change"]
    assert re.findall(r'<img [^>]*src="([^?]*)\?panelId=(\d+)&amp;', body) == [("/render/d-solo/stored", "7")]
    assert (await get_page(api, f"/render{PAGE}"))[0] == 404


async def test_moved_file_links_to_its_new_path(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """The preview of a moved file's old path links to the preview of its new path, which names the old path."""
    jobs_worker.touches = [touch("get", "stored", "")]
    annotations = {"grafana.app/managerId": "team", "grafana.app/sourcePath": "deep/a.json"}
    stored = {"metadata": {"name": "stored", "annotations": annotations}, "spec": {"title": "T", "panels": []}}
    jobs_worker.resource = {"type": jobs_worker.resource["type"], "existing": stored, "action": "update"}
    jobs_worker.moved_to = "new/ä.json"
    _, body, _ = await get_page(api, f"{PAGE}?ref=branch&page=2")
    assert '<a href="/preview/team/new/%C3%A4.json?ref=branch">new/ä.json</a>' in body
    # The file at the new path has the same dashboard.
    jobs_worker.resource["dryRun"], jobs_worker.moved_to = stored, ""
    _, body, _ = await get_page(api, "/preview/team/new/%C3%A4.json?ref=branch")
    assert "moved from deep/a.json" in body
    assert "moved from" not in (await get_page(api, PAGE))[1]


async def test_invalid_file_keeps_its_dashboard(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """The preview of an invalid file shows the problem, and the stored dashboard, which remains."""
    jobs_worker.touches = [touch("get", "stored", "")]
    stored = {"metadata": {"name": "stored"}, "spec": {"title": "T", "panels": [panel(7, "Kept")]}}
    jobs_worker.resource = {"type": jobs_worker.resource["type"], "existing": stored, "action": "update"}
    jobs_worker.problems = ["not JSON <i>"]
    _, body, _ = await get_page(api, PAGE)
    assert re.findall(r"<h2>(.*?)</h2>", body) == ["Problems", "The stored dashboard"]
    assert "not JSON &lt;i&gt;" in body
    assert "/render/d-solo/stored?panelId=7&amp;" in body


async def test_an_unchanged_dashboard_is_reported(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """The preview of a file that equals the stored dashboard says that nothing changes."""
    jobs_worker.touches = [touch("get", "t", "")]
    jobs_worker.resource["existing"] = {"metadata": {"name": "stored"}, **jobs_worker.resource["file"]}
    assert "Nothing changes in this dashboard" in (await get_page(api, PAGE))[1]


async def test_a_file_without_dashboard_has_no_pictures(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """The page of a file without a dashboard says so, and the address of a picture of the file is 404."""
    jobs_worker.touches = [touch("get", "t", "")]
    jobs_worker.resource = {"type": {"resource": "folders"}, "file": {"spec": {"title": "T"}}}
    status, body, _ = await get_page(api, PAGE)
    assert status == 200, body
    assert "contains no dashboard" in body
    assert "<img" not in body
    assert (await get_page(api, f"/render{PAGE}"))[0] == 404


async def test_a_panel_of_a_file_is_drawn(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """The picture of a panel needs the permissions of the file, and the permission to query."""
    jobs_worker.touches = [touch("get", "t", "")]
    jobs_worker.resource["file"]["spec"] = {"title": "T", "panels": [panel(1, "Of the file")]}
    address = f"/render{PAGE}?panelId=1&format=svg&ref=branch"
    status, body, policy = await get_page(api, address)
    assert status == 200, body
    assert "Of the file" in body
    assert "sandbox" in policy
    assert jobs_worker.requests[-1]["ref"] == "branch"
    reader = await api.person("reader", Role.NONE, ("dashboards:read", "dashboards:*"))
    assert (await get_page(api, address, reader))[0] == 403
    # A file that touches no object needs the permission to list files, which a Viewer lacks.
    jobs_worker.touches = []
    viewer = await api.person("viewer", Role.VIEWER)
    assert (await get_page(api, address, viewer))[0] == 403


@pytest.mark.parametrize(("ref", "read_count"), [("c" * 40, 1), ("branch", 5)], ids=["commit", "branch"])
async def test_pictures_at_one_commit_share_a_read(api: Api, jobs_worker: FakeJobsWorker, ref: str, read_count: int) -> None:
    """The worker reads a file at a commit once for all pictures of a page, but at a branch, which may change, once for each picture.

    The gateway checks permissions for each picture.
    """
    jobs_worker.touches = [touch("get", "t", "")]
    jobs_worker.resource["file"]["spec"] = {"title": "T", "panels": [panel(number, "P") for number in range(1, 6)]}
    pictures = [f"/render{PAGE}?panelId={number}&format=svg&ref={ref}" for number in range(1, 6)]
    responses = await asyncio.gather(*(get_page(api, picture) for picture in pictures))
    assert [status for status, _, _ in responses] == [200] * 5
    assert len(jobs_worker.requests) == read_count
    assert (await get_page(api, pictures[0], await api.person("stranger", Role.NONE)))[0] == 403


async def test_a_preview_needs_the_permissions_of_its_objects(api: Api, jobs_worker: FakeJobsWorker) -> None:
    """A preview needs read access to the file's objects; without permission to query it has no picture."""
    jobs_worker.touches = [touch("get", "t", "")]
    unprivileged = await api.person("unprivileged", Role.NONE)
    reader = await api.person("reader", Role.NONE, ("dashboards:read", "dashboards:*"), ("dashboards:read", "folders:*"))
    assert (await get_page(api, PAGE, unprivileged))[0] == 403
    status, body, _ = await get_page(api, PAGE, reader)
    assert status == 200, body
    assert "<h1>T</h1>" in body
    assert "datasources:query" in body
    assert "<img" not in body
    # A directory has no preview.
    assert (await get_page(api, "/preview/team/deep/"))[0] == 400
    jobs_worker.touches = []
    assert (await get_page(api, PAGE, reader))[0] == 403

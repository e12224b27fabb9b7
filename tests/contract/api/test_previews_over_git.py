"""Previews of files that a branch deletes, moves or breaks, with a real git server and jobs worker."""

import re

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, dashboard, run_sync
from tests.servers.git import GitServer

from dashwright.common.identity import Role


@pytest.fixture
async def reader(git_api: Api, git_server: GitServer) -> str:
    """Create a synced repository and a branch that changes its files, and return credentials that may read but not query."""
    work_tree = git_server.create_repository("team.git")
    names = ("deleted", "moved", "rewritten", "invalid", "unchanged", "deep/nested")
    work_tree.commit({f"{name}.json": dashboard(name.rpartition("/")[2], name) for name in names})
    spec = {"title": "Team", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    spec |= {"githost": {"url": git_server.url("team.git"), "branch": "main"}}
    assert (await git_api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201
    assert (await run_sync(git_api))["state"] == "success"
    files: dict[str, str | bytes | None] = {
        "deleted.json": None,
        "moved.json": None,
        "deep/moved.json": dashboard("moved", "moved"),
        "rewritten.json": None,
        "deep/rewritten.json": dashboard("rewritten", "New title"),
        "invalid.json": "{",
        "new.json": dashboard("new", "New"),
    }
    work_tree.commit(files, branch="change")
    return await git_api.person("reader", Role.NONE, ("dashboards:read", "dashboards:*"), ("dashboards:read", "folders:*"))


@pytest.mark.parametrize(
    ("path", "ref", "message"),
    [
        ("deleted.json", "change", "The file is deleted, and the dashboard with it."),
        ("moved.json", "change", 'Its file is now <a href="/preview/team/deep/moved.json?ref=change">deep/moved.json</a>.'),
        ("deep/moved.json", "change", "moved from moved.json"),
        ("invalid.json", "change", "The file contains no valid dashboard, so a sync keeps the stored one."),
        ("unchanged.json", "change", "Nothing changes in this dashboard"),
        ("new.json", "change", "The dashboard is new."),
        ("deleted.json", "main", "Nothing changes in this dashboard"),
    ],
)
async def test_a_preview_names_what_happens_to_the_dashboard(git_api: Api, reader: str, path: str, ref: str, message: str) -> None:
    """The preview of a file says whether a branch creates, deletes, moves, breaks or keeps the dashboard of the file."""
    async with git_api.session.get(f"/preview/team/{path}?ref={ref}", headers={"Authorization": reader}) as response:
        body = await response.text()
    assert response.status == 200, body
    assert message in body, re.sub("<style>.*?</style>|<script>.*?</script>", "", body, flags=re.DOTALL)


@pytest.mark.parametrize("name", ["moved", "rewritten"])
async def test_a_moved_file_has_no_problems(git_api: Api, reader: str, name: str) -> None:
    """A moved file is reported neither as a copy of the old file nor as a second file of the same dashboard."""
    async with git_api.session.get(f"/preview/team/deep/{name}.json?ref=change", headers={"Authorization": reader}) as response:
        body = await response.text()
    assert f"moved from {name}.json" in body
    assert "Problems" not in body


async def test_missing_files_without_a_dashboard_are_not_found(git_api: Api, reader: str) -> None:
    """The preview of a path without a stored dashboard is 404, and so is a deleted file in the API of files."""
    for address in ("/preview/team/none.json?ref=change", f"{REPOSITORIES}/team/files/deleted.json?ref=change"):
        async with git_api.session.get(address, headers={"Authorization": reader}) as response:
            assert response.status == 404, address


async def test_the_dashboard_of_a_deleted_file_needs_permission(git_api: Api, reader: str) -> None:
    """A caller who may not read the dashboard does not learn from a preview that it exists."""
    limited_caller = await git_api.person("limited", Role.NONE, ("dashboards:read", "dashboards:uid:unchanged"))
    async with git_api.session.get("/preview/team/deleted.json?ref=change", headers={"Authorization": limited_caller}) as response:
        assert response.status == 403

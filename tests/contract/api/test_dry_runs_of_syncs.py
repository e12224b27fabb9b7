"""Dry runs of syncs, which return the changes that the sync would make, and change nothing."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, create_repository, dashboard, run_sync, sync_status, titles
from tests.servers.git import GitServer

from dashwright.common.identity import Role

TEAM = f"{REPOSITORIES}/team"


async def dry_run_sync(api: Api, **options: Any) -> dict[str, Any]:
    """Request the dry run of a sync and return its plan."""
    query = {"dryRun": "All", **options.pop("query", {})}
    status, body = await api("POST", f"{TEAM}/sync", params=query, **options)
    assert (status, body["kind"], body["metadata"]) == (200, "SyncPlan", {}), body
    return dict(body)


def planned_changes(dry_run: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return action, name and path of each planned change."""
    return [(item["action"], item["name"], item["path"]) for item in dry_run["items"]]


async def test_a_sync_makes_the_changes_of_its_dry_run(git_api: Api, git_server: GitServer) -> None:
    """A sync with every type of change makes the changes of its dry run. The dry run of the first sync has all objects."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "A"), "deep/b.json": dashboard("b", "B"), "c.json": dashboard("c", "C")})
    await create_repository(git_api, git_server)
    dry_run = await dry_run_sync(git_api)
    # Three dashboards, and the folders of the repository and of ``deep``.
    assert dry_run["ref"] == first
    assert dry_run.get("base") is None
    assert len(dry_run["items"]) == 5
    await run_sync(git_api)
    second = work_tree.commit({"a.json": dashboard("a", "A2"), "deep/b.json": None, "c.json": "{", "d.json": dashboard("d", "D")})
    dry_run = await dry_run_sync(git_api)
    assert dry_run["ref"] == second
    assert dry_run["base"] == first
    assert dry_run.get("truncated") is False
    folder = next(item["name"] for item in dry_run["items"] if item["action"] == "delete" and item["resource"] == "folders")
    assert planned_changes(dry_run) == [
        ("refuse", "", "c.json"),
        ("update", "a", "a.json"),
        ("create", "d", "d.json"),
        ("delete", "b", "deep/b.json"),
        ("delete", folder, "deep/"),
    ]
    assert dry_run["items"][1]["diff"] == [{"op": "replace", "path": "/spec/title", "value": "A2"}]
    assert (dry_run["items"][1]["title"], dry_run["items"][1]["folder"]) == ("A2", "team")
    assert (await run_sync(git_api))["summary"] == dry_run["summary"]
    assert await titles(git_api) == {"a": "A2", "c": "C", "d": "D"}


async def test_a_dry_run_writes_nothing(git_api: Api, git_server: GitServer) -> None:
    """A dry run writes no object, job, status or change of the feed."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server)
    await run_sync(git_api)
    work_tree.commit({"a.json": dashboard("a", "B")})

    async def stored_state() -> tuple[Any, int, int]:
        """Return the status of the last sync, and the numbers of jobs and of changes of the feed."""
        jobs = await git_api.sql("select count(*) from job")
        changes = await git_api.sql("select count(*) from change")
        return await sync_status(git_api), jobs, changes

    before = await stored_state()
    await dry_run_sync(git_api, json={"incremental": True})
    assert await stored_state() == before
    assert await titles(git_api) == {"a": "A"}


async def test_only_admins_see_the_items_of_a_dry_run(git_api: Api, git_server: GitServer) -> None:
    """Users who may start a sync may start its dry run. Only Admins see the items of a dry run, or use other branches."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server)
    await run_sync(git_api)
    work_tree.commit({"a.json": dashboard("a", "B")})
    editor, viewer = await git_api.person("editor", Role.EDITOR), await git_api.person("viewer", Role.VIEWER)
    dry_run = await dry_run_sync(git_api, auth=editor)
    assert dry_run["items"] == []
    assert dry_run["truncated"] is True
    assert dry_run["summary"][0]["update"] == 1
    assert (await git_api("POST", f"{TEAM}/sync", params={"dryRun": "All"}, auth=viewer))[0] == 403
    assert (await git_api("POST", f"{TEAM}/sync", params={"dryRun": "All", "ref": "main"}, auth=editor))[0] == 403


async def test_a_dry_run_compares_another_branch(git_api: Api, git_server: GitServer) -> None:
    """A dry run of another branch compares that branch with the stored objects."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server)
    await run_sync(git_api)
    other = work_tree.commit({"a.json": dashboard("a", "B"), "b.json": dashboard("b", "B")}, branch="feature/x")
    dry_run = await dry_run_sync(git_api, query={"ref": "feature/x"})
    assert (dry_run["ref"], dry_run["base"], planned_changes(dry_run)) == (
        other,
        first,
        [("update", "a", "a.json"), ("create", "b", "b.json")],
    )
    assert planned_changes(await dry_run_sync(git_api)) == []
    assert (await git_api("POST", f"{TEAM}/sync", params={"dryRun": "All", "ref": "none"}))[0] == 404


@pytest.mark.parametrize(
    ("path", "query", "code"), [("none", {}, 404), ("team", {"dryRun": "Some"}, 400)], ids=["unknown repository", "unknown value"]
)
async def test_invalid_dry_runs_are_rejected(git_api: Api, git_server: GitServer, path: str, query: dict[str, str], code: int) -> None:
    """The dry run of an unknown repository is 404, and an unknown value of ``dryRun`` is 400."""
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server)
    assert (await git_api("POST", f"{REPOSITORIES}/{path}/sync", params={"dryRun": "All", **query}))[0] == code


async def test_a_dry_run_of_an_empty_repository_has_no_changes(git_api: Api, git_server: GitServer) -> None:
    """The dry run of an empty repository has neither changes nor a commit."""
    git_server.create_repository("team.git")
    await create_repository(git_api, git_server)
    dry_run = await dry_run_sync(git_api)
    assert dry_run["items"] == []
    assert dry_run["summary"] == []
    assert "ref" not in dry_run


async def test_a_dry_run_of_a_local_repository_has_no_commit(git_api: Api) -> None:
    """The dry run of a local repository returns changes without a commit."""
    (git_api.data / "x").mkdir()
    (git_api.data / "x" / "a.json").write_text(dashboard("a", "A"))
    spec: dict[str, Any] = {"title": "T", "type": "local", "workflows": [], "local": {"path": str(git_api.data / "x")}}
    body = {"metadata": {"name": "team"}, "spec": {**spec, "sync": {"enabled": True, "target": "instance"}}}
    assert (await git_api("POST", REPOSITORIES, body))[0] == 201
    dry_run = await dry_run_sync(git_api)
    assert planned_changes(dry_run) == [("create", "a", "a.json")]
    assert "ref" not in dry_run


async def test_a_dry_run_works_while_syncs_are_disabled(git_api: Api, git_server: GitServer) -> None:
    """While syncs are disabled a dry run works and a sync is rejected."""
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server)
    switched_off = {"spec": {"sync": {"enabled": False}}}
    assert (await git_api("PATCH", TEAM, switched_off, headers={"Content-Type": "application/merge-patch+json"}))[0] == 200
    assert ("create", "a", "a.json") in planned_changes(await dry_run_sync(git_api))
    assert (await git_api("POST", f"{TEAM}/sync"))[0] == 422

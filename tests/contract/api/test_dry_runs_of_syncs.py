"""A dry run of a sync: what it would do is told, as it then happens, and nothing is done."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, dashboard, repository, sync_status, synced, titles
from tests.servers.git import GitServer

from dashwright.common.identity import Role

TEAM = f"{REPOSITORIES}/team"


async def plan(api: Api, **options: Any) -> dict[str, Any]:
    query = {"dryRun": "All", **options.pop("query", {})}
    status, found = await api("POST", f"{TEAM}/sync", params=query, **options)
    assert (status, found["kind"], found["metadata"]) == (200, "SyncPlan", {}), found
    return dict(found)


def told(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(item["action"], item["name"], item["path"]) for item in found["items"]]


async def test_a_sync_does_what_its_dry_run_told(git_api: Api, git_server: GitServer) -> None:
    """Before the first sync, and before one with every kind of change; the job's summary is that of the plan."""
    work = git_server.make("team.git")
    first = work.commit({"a.json": dashboard("a", "A"), "deep/b.json": dashboard("b", "B"), "c.json": dashboard("c", "C")})
    await repository(git_api, git_server)
    found = await plan(git_api)
    assert (found["ref"], found.get("base"), len(found["items"])) == (first, None, 5)
    await synced(git_api)
    second = work.commit({"a.json": dashboard("a", "A2"), "deep/b.json": None, "c.json": "{", "d.json": dashboard("d", "D")})
    found = await plan(git_api)
    assert (found["ref"], found["base"], found.get("truncated")) == (second, first, False)
    folder = next(item["name"] for item in found["items"] if item["action"] == "delete" and item["resource"] == "folders")
    assert told(found) == [
        ("refuse", "", "c.json"),
        ("update", "a", "a.json"),
        ("create", "d", "d.json"),
        ("delete", "b", "deep/b.json"),
        ("delete", folder, "deep/"),
    ]
    assert found["items"][1]["diff"] == [{"op": "replace", "path": "/spec/title", "value": "A2"}]
    assert (found["items"][1]["title"], found["items"][1]["folder"]) == ("A2", "team")
    assert (await synced(git_api))["summary"] == found["summary"]
    assert await titles(git_api) == {"a": "A2", "c": "C", "d": "D"}


async def test_nothing_is_done(git_api: Api, git_server: GitServer) -> None:
    """No object, no job, no status and no event of the feed."""
    work = git_server.make("team.git")
    work.commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server)
    await synced(git_api)
    work.commit({"a.json": dashboard("a", "B")})
    before = await sync_status(git_api), await git_api.sql("select count(*) from job"), await git_api.sql("select count(*) from change")
    await plan(git_api, json={"incremental": True})
    after = await sync_status(git_api), await git_api.sql("select count(*) from job"), await git_api.sql("select count(*) from change")
    assert before == after
    assert await titles(git_api) == {"a": "A"}


async def test_who_may_ask(git_api: Api, git_server: GitServer) -> None:
    """Who may ask for a sync; what it is about, and other branches, are for Admins, as the list of what is managed is."""
    work = git_server.make("team.git")
    work.commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server)
    await synced(git_api)
    work.commit({"a.json": dashboard("a", "B")})
    editor, viewer = await git_api.person("editor", Role.EDITOR), await git_api.person("viewer", Role.VIEWER)
    found = await plan(git_api, auth=editor)
    assert (found["items"], found["truncated"], found["summary"][0]["update"]) == ([], True, 1)
    assert (await git_api("POST", f"{TEAM}/sync", params={"dryRun": "All"}, auth=viewer))[0] == 403
    assert (await git_api("POST", f"{TEAM}/sync", params={"dryRun": "All", "ref": "main"}, auth=editor))[0] == 403


async def test_another_branch(git_api: Api, git_server: GitServer) -> None:
    """What a sync would do if the repository's branch were there: what is stored is compared with it."""
    work = git_server.make("team.git")
    first = work.commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server)
    await synced(git_api)
    other = work.commit({"a.json": dashboard("a", "B"), "b.json": dashboard("b", "B")}, branch="feature/x")
    found = await plan(git_api, query={"ref": "feature/x"})
    assert (found["ref"], found["base"], told(found)) == (other, first, [("update", "a", "a.json"), ("create", "b", "b.json")])
    assert told(await plan(git_api)) == []
    assert (await git_api("POST", f"{TEAM}/sync", params={"dryRun": "All", "ref": "none"}))[0] == 404


@pytest.mark.parametrize(
    ("path", "query", "code"), [("none", {}, 404), ("team", {"dryRun": "Some"}, 400)], ids=["no-repository", "another-word"]
)
async def test_what_is_refused(git_api: Api, git_server: GitServer, path: str, query: dict[str, str], code: int) -> None:
    """As a sync itself is."""
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server)
    assert (await git_api("POST", f"{REPOSITORIES}/{path}/sync", params={"dryRun": "All", **query}))[0] == code


async def test_an_empty_repository(git_api: Api, git_server: GitServer) -> None:
    """There is nothing to do, and no commit to name."""
    git_server.make("team.git")
    await repository(git_api, git_server)
    found = await plan(git_api)
    assert (found["items"], found["summary"], "ref" in found) == ([], [], False)


async def test_a_folder_on_the_server(git_api: Api) -> None:
    """It is planned as well, without a commit."""
    (git_api.data / "x").mkdir()
    (git_api.data / "x" / "a.json").write_text(dashboard("a", "A"))
    spec: dict[str, Any] = {"title": "T", "type": "local", "workflows": [], "local": {"path": str(git_api.data / "x")}}
    body = {"metadata": {"name": "team"}, "spec": {**spec, "sync": {"enabled": True, "target": "instance"}}}
    assert (await git_api("POST", REPOSITORIES, body))[0] == 201
    found = await plan(git_api)
    assert (told(found), "ref" in found) == ([("create", "a", "a.json")], False)


async def test_what_a_sync_would_do_is_told_before_syncs_are_enabled(git_api: Api, git_server: GitServer) -> None:
    """That is how one looks before one switches it on; a sync itself is refused."""
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server)
    switched_off = {"spec": {"sync": {"enabled": False}}}
    assert (await git_api("PATCH", TEAM, switched_off, headers={"Content-Type": "application/merge-patch+json"}))[0] == 200
    assert ("create", "a", "a.json") in told(await plan(git_api))
    assert (await git_api("POST", f"{TEAM}/sync"))[0] == 422

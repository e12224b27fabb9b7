"""What the git host of a repository has: its branches, and the commits, all or those that touch a path."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, dashboard, repository
from tests.servers.git import GitServer, git

from dashwright.common.identity import Role

TEAM = f"{REPOSITORIES}/team"


async def commits(api: Api, path: str = "", **query: str) -> list[str]:
    status, found = await api("GET", f"{TEAM}/history{path}", params=query)
    assert (status, found["kind"], found["metadata"]) == (200, "HistoryList", {}), found
    return [item["ref"] for item in found["items"]]


async def test_the_branches(git_api: Api, git_server: GitServer) -> None:
    """By name, with the commits they stand at; Editors may know."""
    work = git_server.make("team.git")
    first = work.commit({"a.json": dashboard("a", "A")})
    second = work.commit({"a.json": dashboard("a", "B")}, branch="feature/x")
    await repository(git_api, git_server)
    editor, viewer = await git_api.person("editor", Role.EDITOR), await git_api.person("viewer", Role.VIEWER)
    items = [{"name": "feature/x", "hash": second}, {"name": "main", "hash": first}]
    expected = {"kind": "RefList", "apiVersion": "provisioning.grafana.app/v0alpha1", "metadata": {}, "items": items}
    assert await git_api("GET", f"{TEAM}/refs", auth=editor) == (200, expected)
    assert (await git_api("GET", f"{TEAM}/refs", auth=viewer))[0] == 403
    assert (await git_api("GET", f"{TEAM}/history", auth=editor))[0] == 403


async def test_commits_come_newest_first(git_api: Api, git_server: GitServer) -> None:
    """With who made them, when and why, of the repository's own branch, of another one, and up to a commit."""
    work = git_server.make("team.git")
    first = work.commit({"a.json": dashboard("a", "A")}, message="One\n\nand why")
    second = work.commit({"b.json": dashboard("b", "B")})
    third = work.commit({"b.json": dashboard("b", "C")}, branch="other")
    await repository(git_api, git_server)
    assert await commits(git_api) == [second, first]
    assert await commits(git_api, ref="other") == [third, second, first]
    assert await commits(git_api, ref=first) == [first]
    _, found = await git_api("GET", f"{TEAM}/history", params={"ref": first})
    made = int(git(work.folder, "show", "--no-patch", "--format=%ct", first)) * 1000
    authors = [{"name": "Test", "username": ""}]
    assert found["items"] == [{"ref": first, "message": "One\n\nand why", "authors": authors, "createdAt": made}]


async def test_commits_that_touch_a_path(git_api: Api, git_server: GitServer) -> None:
    """A file's, its removal too, and a directory's; a name that nothing had is not found."""
    work = git_server.make("team.git")
    first = work.commit({"deep/ä b.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    second = work.commit({"b.json": dashboard("b", "C")})
    third = work.commit({"deep/ä b.json": None, "deep/c.json": dashboard("c", "C")})
    await repository(git_api, git_server)
    assert await commits(git_api, "/deep/%C3%A4%20b.json") == [third, first]
    assert await commits(git_api, "/b.json") == [second, first]
    assert await commits(git_api, "/deep/") == await commits(git_api, "/deep") == [third, first]
    assert await commits(git_api, "/b.json", ref=first) == [first]
    for path in ("none.json", "b.json/below", "../b.json", "deep//c.json", "deep///c.json"):
        status, found = await git_api("GET", f"{TEAM}/history/{path}")
        assert (status, found["reason"]) == (404, "NotFound"), path


async def test_a_merge_touches_what_it_changes_itself(git_api: Api, git_server: GitServer) -> None:
    """Not what one of its sides had already."""
    work = git_server.make("team.git")
    first = work.commit({"a.json": dashboard("a", "A")})
    git(work.folder, "checkout", "--quiet", "-b", "side")
    side = work.commit({"b.json": dashboard("b", "B")}, branch="side")
    git(work.folder, "checkout", "--quiet", "main")
    git(work.folder, "merge", "--quiet", "--no-ff", "-m", "merged", "side")
    merge = work.push("after")
    await repository(git_api, git_server)
    assert await commits(git_api, "/b.json") == [side]
    everything = await commits(git_api)
    assert (everything[0], set(everything[2:])) == (merge, {side, first})


@pytest.mark.parametrize("ref", ["none", "0" * 40, "refs/heads/main:x", "--upload-pack=x", "a..b"])
async def test_a_ref_that_is_none(git_api: Api, git_server: GitServer, ref: str) -> None:
    """Not found, or refused where it cannot be one; the repository is as it was."""
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server)
    status, found = await git_api("GET", f"{TEAM}/history", params={"ref": ref})
    assert status == (404 if ref.isalnum() else 400), found
    assert len(await commits(git_api)) == 1


async def test_a_commit_of_another_branch_is_not_the_repository_s(git_api: Api, git_server: GitServer) -> None:
    """Though the copy has it, since somebody looked at that branch."""
    work = git_server.make("team.git")
    work.commit({"a.json": dashboard("a", "A")})
    other = work.commit({"a.json": dashboard("a", "B")}, branch="other")
    await repository(git_api, git_server)
    assert (await commits(git_api, ref="other"))[0] == other
    assert (await git_api("GET", f"{TEAM}/history", params={"ref": other}))[0] == 404


async def test_an_empty_repository_has_no_history(git_api: Api, git_server: GitServer) -> None:
    """And no branches."""
    git_server.make("team.git")
    await repository(git_api, git_server)
    assert await commits(git_api) == []
    assert (await git_api("GET", f"{TEAM}/refs"))[1]["items"] == []
    assert (await git_api("GET", f"{TEAM}/history/a.json"))[0] == 404


async def test_a_folder_has_neither(git_api: Api) -> None:
    """400 says so, whether or not the folder is there; a repository that is none is 404."""
    spec: dict[str, Any] = {"title": "T", "type": "local", "workflows": [], "local": {"path": "x"}}
    body = {"metadata": {"name": "team"}, "spec": {**spec, "sync": {"enabled": False, "target": "folder"}}}
    assert (await git_api("POST", REPOSITORIES, body))[0] == 201
    for what in ("history", "refs"):
        status, found = await git_api("GET", f"{TEAM}/{what}")
        assert (status, found["message"]) == (400, f"this repository does not support {what}")
        assert (await git_api("GET", f"{REPOSITORIES}/none/{what}"))[0] == 404


async def test_a_host_that_refuses_is_the_repository_s_fault(git_api: Api, git_server: GitServer) -> None:
    """424, never a 403 that the caller would take for their own; so it is before and after the probe has found it out."""
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server)
    assert len(await commits(git_api)) == 1
    git_server.token = "a-token"
    for what in ("history", "refs"):
        status, found = await git_api("GET", f"{TEAM}/{what}")
        assert (status, "not healthy" in found["message"]) == (424, True), found
    await git_api.sql("update resource set status = null where name = 'team'")
    assert (await git_api("GET", f"{TEAM}/refs"))[0] == 424

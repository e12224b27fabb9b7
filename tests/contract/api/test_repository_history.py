"""Branches of a repository at its git host, and the commits of all files or of one path."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, create_repository, dashboard
from tests.servers.git import GitServer, git

from dashwright.common.identity import Role

TEAM = f"{REPOSITORIES}/team"


async def commits(api: Api, path: str = "", **query: str) -> list[str]:
    """Return the commits in the history of a path, the newest first."""
    status, body = await api("GET", f"{TEAM}/history{path}", params=query)
    assert (status, body["kind"], body["metadata"]) == (200, "HistoryList", {}), body
    return [item["ref"] for item in body["items"]]


async def test_branches_are_listed(git_api: Api, git_server: GitServer) -> None:
    """Editors list the branches by name with their newest commits. They cannot list the history, and Viewers can list neither."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "A")})
    second = work_tree.commit({"a.json": dashboard("a", "B")}, branch="feature/x")
    await create_repository(git_api, git_server)
    editor, viewer = await git_api.person("editor", Role.EDITOR), await git_api.person("viewer", Role.VIEWER)
    items = [{"name": "feature/x", "hash": second}, {"name": "main", "hash": first}]
    expected = {"kind": "RefList", "apiVersion": "provisioning.grafana.app/v0alpha1", "metadata": {}, "items": items}
    assert await git_api("GET", f"{TEAM}/refs", auth=editor) == (200, expected)
    assert (await git_api("GET", f"{TEAM}/refs", auth=viewer))[0] == 403
    assert (await git_api("GET", f"{TEAM}/history", auth=editor))[0] == 403


async def test_commits_are_listed_newest_first(git_api: Api, git_server: GitServer) -> None:
    """Commits have author, time and message. The list begins at the repository's own branch, at another branch or at a commit."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "A")}, message="One\n\nand why")
    second = work_tree.commit({"b.json": dashboard("b", "B")})
    third = work_tree.commit({"b.json": dashboard("b", "C")}, branch="other")
    await create_repository(git_api, git_server)
    assert await commits(git_api) == [second, first]
    assert await commits(git_api, ref="other") == [third, second, first]
    assert await commits(git_api, ref=first) == [first]
    _, body = await git_api("GET", f"{TEAM}/history", params={"ref": first})
    created = int(git(work_tree.folder, "show", "--no-patch", "--format=%ct", first)) * 1000
    authors = [{"name": "Test", "username": ""}]
    assert body["items"] == [{"ref": first, "message": "One\n\nand why", "authors": authors, "createdAt": created}]


async def test_the_history_of_a_path_has_the_commits_that_touch_it(git_api: Api, git_server: GitServer) -> None:
    """The history of a file or directory has the commits that changed or deleted it; an unknown path is 404."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"deep/ä b.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    second = work_tree.commit({"b.json": dashboard("b", "C")})
    third = work_tree.commit({"deep/ä b.json": None, "deep/c.json": dashboard("c", "C")})
    await create_repository(git_api, git_server)
    assert await commits(git_api, "/deep/%C3%A4%20b.json") == [third, first]
    assert await commits(git_api, "/b.json") == [second, first]
    assert await commits(git_api, "/deep/") == [third, first]
    assert await commits(git_api, "/deep") == [third, first]
    assert await commits(git_api, "/b.json", ref=first) == [first]
    for path in ("none.json", "b.json/below", "../b.json", "deep//c.json", "deep///c.json"):
        status, body = await git_api("GET", f"{TEAM}/history/{path}")
        assert (status, body["reason"]) == (404, "NotFound"), path


async def test_a_merge_counts_only_for_its_own_changes(git_api: Api, git_server: GitServer) -> None:
    """The history of a path has no merge in which the path equals one of the merged commits. The whole history has every merge."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "A")})
    git(work_tree.folder, "checkout", "--quiet", "-b", "side")
    side_commit = work_tree.commit({"b.json": dashboard("b", "B")}, branch="side")
    git(work_tree.folder, "checkout", "--quiet", "main")
    git(work_tree.folder, "merge", "--quiet", "--no-ff", "-m", "merged", "side")
    merge = git(work_tree.folder, "rev-parse", "HEAD")
    empty_commit = work_tree.push("after")
    await create_repository(git_api, git_server)
    assert await commits(git_api, "/b.json") == [side_commit]
    all_commits = await commits(git_api)
    assert all_commits[:2] == [empty_commit, merge]
    # The order of the merged commits depends on their times, which may be equal.
    assert set(all_commits[2:]) == {side_commit, first}


@pytest.mark.parametrize(
    ("ref", "expected_status"),
    [("none", 404), ("0" * 40, 404), ("refs/heads/main:x", 400), ("--upload-pack=x", 400), ("a..b", 400)],
)
async def test_unknown_and_invalid_refs_are_refused(git_api: Api, git_server: GitServer, ref: str, expected_status: int) -> None:
    """An unknown branch or commit is 404 and an invalid ref 400. The history of the repository can still be read."""
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server)
    status, body = await git_api("GET", f"{TEAM}/history", params={"ref": ref})
    assert status == expected_status, body
    assert len(await commits(git_api)) == 1


async def test_an_older_commit_of_another_branch_is_not_found(git_api: Api, git_server: GitServer) -> None:
    """An older commit of another branch is 404. The newest one is found, because previews of the branch link to it."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A")})
    older = work_tree.commit({"a.json": dashboard("a", "B")}, branch="other")
    newest = work_tree.commit({"a.json": dashboard("a", "C")}, branch="other")
    await create_repository(git_api, git_server)
    assert (await commits(git_api, ref="other"))[:2] == [newest, older]
    assert (await commits(git_api, ref=newest))[0] == newest
    assert (await git_api("GET", f"{TEAM}/history", params={"ref": older}))[0] == 404


async def test_an_empty_repository_has_no_history(git_api: Api, git_server: GitServer) -> None:
    """An empty repository has neither history nor branches."""
    git_server.create_repository("team.git")
    await create_repository(git_api, git_server)
    assert await commits(git_api) == []
    assert (await git_api("GET", f"{TEAM}/refs"))[1]["items"] == []
    assert (await git_api("GET", f"{TEAM}/history/a.json"))[0] == 404


async def test_a_local_repository_has_no_history(git_api: Api) -> None:
    """Branches and history of a local repository are 400; an unknown repository is 404."""
    spec: dict[str, Any] = {"title": "T", "type": "local", "workflows": [], "local": {"path": "x"}}
    body = {"metadata": {"name": "team"}, "spec": {**spec, "sync": {"enabled": False, "target": "folder"}}}
    assert (await git_api("POST", REPOSITORIES, body))[0] == 201
    for subresource in ("history", "refs"):
        status, response = await git_api("GET", f"{TEAM}/{subresource}")
        reason = "a local directory has neither branches nor commits"
        assert (status, response["message"]) == (400, f"this repository does not support {subresource}: {reason}")
        assert (await git_api("GET", f"{REPOSITORIES}/none/{subresource}"))[0] == 404


async def test_a_rejecting_host_is_a_424(git_api: Api, git_server: GitServer) -> None:
    """A request is 424 if the host rejects access, whether the repository was probed or not."""
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server)
    assert len(await commits(git_api)) == 1
    git_server.token = "a-token"
    for subresource in ("history", "refs"):
        status, body = await git_api("GET", f"{TEAM}/{subresource}")
        assert status == 424, body
        assert "not healthy" in body["message"], body
    # Without a status, the next request probes the repository.
    await git_api.sql("update resource set status = null where name = 'team'")
    assert (await git_api("GET", f"{TEAM}/refs"))[0] == 424

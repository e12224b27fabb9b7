"""Changes of files and of their objects through every API, with a real git server, on which each change is a commit."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import ADMIN, Api
from tests.contract.api.repositories import make_local_repository
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, dashboard, run_sync, sync_status, titles
from tests.servers.git import GitServer, WorkTree, git

from dashwright.common.identity import Role
from dashwright.common.jobs.names import folder_name

FILES = f"{REPOSITORIES}/team/files"
StartRepository = Callable[..., Awaitable[WorkTree]]


@pytest.fixture
async def start_repository(git_api: Api, git_server: GitServer) -> StartRepository:
    """Return a function that creates a repository with these workflows and two dashboards, and syncs it."""

    async def start(*workflows: str, files: dict[str, str | bytes | None] | None = None, target: str = "folder") -> WorkTree:
        """Create the repository ``team``, whose content may be replaced by ``files``, sync it, and return its work tree."""
        work_tree = git_server.create_repository("team.git")
        work_tree.commit(files or {"a.json": dashboard("a", "A"), "deep/b.json": dashboard("b", "B")})
        spec = {"title": "Team", "type": "githost", "workflows": list(workflows), "sync": {"enabled": True, "target": target}}
        spec |= {"githost": {"url": git_server.url("team.git"), "branch": "main"}}
        assert (await git_api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201
        assert (await run_sync(git_api))["state"] == "success"
        return work_tree

    return start


def log(server: GitServer, format_: str, ref: str = "main") -> str:
    """Return the newest commit of a ref in a format of ``git log``."""
    return git(server.root / "team.git", "log", "-1", f"--format={format_}", ref)


def content(server: GitServer, path: str, ref: str = "main") -> str:
    """Return the content of a file at a ref."""
    return git(server.root / "team.git", "show", f"{ref}:{path}")


def count_commits(server: GitServer, ref: str = "main") -> int:
    """Return the number of commits of a ref."""
    return int(git(server.root / "team.git", "rev-list", "--count", ref))


async def create_editor(api: Api) -> str:
    """Create the Editor anna, with a name and an e-mail address for commits, and return the credentials."""
    auth = await api.person("anna", Role.EDITOR)
    await api.sql("""update "user" set name = 'Anna Ä', email = 'anna@example.org' where login = 'anna'""")
    return auth


async def patch(api: Api, kind: str, body: Any, *, name: str = "a", auth: str = ADMIN, **query: str) -> tuple[int, Any]:
    """Patch a dashboard with a content type of Kubernetes, as kubectl does. Return the status and the body."""
    headers = {"Authorization": auth, "Content-Type": f"application/{kind}", "User-Agent": "kubectl/v1.32.4 (linux/amd64)"}
    async with api.session.patch(f"{DASHBOARDS}/{name}", data=json.dumps(body), headers=headers, params=query) as response:
        return response.status, await response.json()


async def test_replacing_a_file_is_a_commit_of_the_caller(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """Replacing a file commits it with the caller's name and message and stores the object before the response."""
    await start_repository("write")
    auth = await create_editor(git_api)
    status, body = await git_api("PUT", f"{FILES}/deep/b.json", json.loads(dashboard("b", "B2")), auth=auth, params={"message": "Better"})
    assert (status, body["resource"]["type"]["classic"], body["resource"]["action"]) == (200, "dashboard", "update")
    assert log(git_server, "%an|%ae|%s|%H") == f"Anna Ä|anna@example.org|Better|{body['ref']}"
    assert json.loads(content(git_server, "deep/b.json"))["title"] == "B2"
    assert await titles(git_api) == {"a": "A", "b": "B2"}
    anna_id = await git_api.sql("""select id from "user" where login = 'anna'""")
    _, current = await git_api("GET", f"{DASHBOARDS}/b")
    assert current["metadata"]["annotations"]["grafana.app/updatedBy"] == f"user:{anna_id}"
    assert (await sync_status(git_api))["lastRef"] == body["ref"]


async def test_a_new_file_creates_directory_and_dashboard(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """A new file creates the folder of its directory, and a managed dashboard in this folder. A create of an existing file is refused."""
    await start_repository("write")
    auth = await create_editor(git_api)
    body = json.loads(dashboard("c", "C"))
    status, response = await git_api("POST", f"{FILES}/new/c.yaml", body, auth=auth)
    assert (status, response["resource"]["action"]) == (200, "create"), response
    assert "title: C" in content(git_server, "new/c.yaml")
    _, current = await git_api("GET", f"{DASHBOARDS}/c")
    annotations = current["metadata"]["annotations"]
    assert (annotations["grafana.app/managerId"], annotations["grafana.app/sourcePath"]) == ("team", "new/c.yaml")
    assert (await git_api("POST", f"{FILES}/new/c.yaml", body, auth=auth))[1]["reason"] == "AlreadyExists"
    assert (await git_api("PUT", f"{FILES}/none.json", body, auth=auth))[0] == 404
    assert count_commits(git_server) == 2


async def test_files_are_moved_and_deleted(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """Moving or deleting files, also a whole directory, moves or deletes their objects."""
    await start_repository("write")
    auth = await create_editor(git_api)
    assert (await git_api("POST", f"{FILES}/far/b.json", params={"originalPath": "deep/b.json"}, auth=auth))[0] == 200
    _, moved = await git_api("GET", f"{DASHBOARDS}/b")
    assert moved["metadata"]["annotations"]["grafana.app/sourcePath"] == "far/b.json"
    assert (await git_api("DELETE", f"{FILES}/far/", auth=auth))[0] == 200
    assert await titles(git_api) == {"a": "A"}
    assert git(git_server.root / "team.git", "ls-tree", "-r", "--name-only", "main") == "a.json"


async def test_a_file_needs_the_permissions_of_its_object(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """Callers who may only view the dashboard of a file can read the file, and can neither change nor delete it."""
    await start_repository("write")
    viewer = await git_api.person("vic", Role.VIEWER)
    rules = {"permissions": [{"builtInRole": "Viewer", "permission": "View"}]}
    assert (await git_api("POST", "/api/access-control/folders/team", rules))[0] == 200
    auth = await create_editor(git_api)
    for credentials in (viewer, auth):
        assert (await git_api("PUT", f"{FILES}/a.json", json.loads(dashboard("a", "X")), auth=credentials))[0] == 403
        assert (await git_api("DELETE", f"{FILES}/a.json", auth=credentials))[0] == 403
        assert (await patch(git_api, "merge-patch+json", {"spec": {"title": "X"}}, auth=credentials))[0] == 403
        status, body = await git_api("GET", f"{FILES}/a.json", auth=credentials)
        assert (status, body["resource"]["existing"]["spec"]["title"]) == (200, "A")
    assert (count_commits(git_server), await titles(git_api)) == (1, {"a": "A", "b": "B"})


async def test_a_file_needs_read_access_to_directory_and_object(
    git_api: Api, git_server: GitServer, start_repository: StartRepository
) -> None:
    """A file can be read only by users who may read both the folder of its directory and the object that the file names."""
    work_tree = await start_repository("write", files={"a.json": dashboard("a", "A"), "closed/b.json": dashboard("b", "B")})
    work_tree.commit({"closed/a.json": dashboard("a", "Secret")})
    viewer = await git_api.person("vic", Role.VIEWER)
    closed = await git_api.sql("select folder from resource where name = 'b'")
    for folder, rules in (("team", []), (closed, [])):
        assert (await git_api("POST", f"/api/access-control/folders/{folder}", {"permissions": rules}))[0] == 200
    viewer_id = await git_api.sql("""select id from "user" where login = 'vic'""")
    only_a = {"permissions": [{"userId": viewer_id, "permission": "View"}]}
    assert (await git_api("POST", "/api/access-control/dashboards/a", only_a))[0] == 200
    assert (await git_api("GET", f"{DASHBOARDS}/a", auth=viewer))[0] == 200
    assert (await git_api("GET", f"{FILES}/a.json", auth=viewer))[0] == 200
    for path in ("closed/a.json", "closed/b.json"):
        assert (await git_api("GET", f"{FILES}/{path}", auth=viewer))[0] == 403
        assert (await git_api("GET", f"{FILES}/{path}"))[0] == 200


async def test_files_are_listed_with_their_sizes(git_api: Api, start_repository: StartRepository) -> None:
    """The list has each file's size in bytes at any ref, and no size for a file that cannot be read."""
    work_tree = await start_repository(files={"a.json": dashboard("a", "Ä"), "README.md": "", "deep/b.json": dashboard("b", "B")})
    (work_tree.folder / "link.json").symlink_to("a.json")
    work_tree.push()
    for query in ({}, {"ref": "main"}):
        _, body = await git_api("GET", f"{FILES}/", params=query)
        sizes = {item["path"]: item.get("size") for item in body["items"]}
        expected = {"a.json": len(dashboard("a", "Ä").encode()), "README.md": 0, "deep/b.json": len(dashboard("b", "B")), "link.json": None}
        assert sizes == expected


async def test_files_have_the_time_of_their_last_commit(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """A list has time and author of each file's newest commit, and a single file has the time."""
    work_tree = await start_repository()
    work_tree.commit({"deep/b.json": dashboard("b", "B2")})
    _, response = await git_api("GET", f"{FILES}/")
    for item in response["items"]:
        seconds, author = git(work_tree.folder, "log", "-1", "--format=%ct %an", "--", item["path"]).split(" ")
        assert (item["modified"], item["author"]) == (int(seconds) * 1000, author)
        _, body = await git_api("GET", f"{FILES}/{item['path']}")
        assert datetime.fromisoformat(body["timestamp"]).timestamp() == int(seconds)


async def test_local_files_have_their_modification_time(git_api: Api) -> None:
    """Files of a local repository have a modification time and no author."""
    folder = git_api.data / "local"
    (folder / "deep").mkdir(parents=True)
    for path, uid in (("a.json", "a"), ("deep/b.json", "b")):
        (folder / path).write_text(dashboard(uid, "T"))
        os.utime(folder / path, ns=(0, 1_700_000_000_123_456_789))
    await make_local_repository(git_api, "local", git_api.data)
    files = FILES.replace("team", "local")
    _, body = await git_api("GET", f"{files}/")
    assert [(item["modified"], item.get("author")) for item in body["items"]] == [(1_700_000_000_123, None)] * 2
    assert (await git_api("GET", f"{files}/deep/b.json"))[1]["timestamp"] == "2023-11-14T22:13:20Z"


async def test_other_text_files_are_read_only(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """A text file without a resource is returned as a JSON string and cannot be written. Syncs ignore the file."""
    body = "# Ünsere \0 <script>alert(1)</script>\n"
    work_tree = await start_repository("write", files={"a.json": dashboard("a", "A"), "deep/README.MD": body})
    commit = work_tree.commit({"odd.md": b"\xff\n"})
    async with git_api.session.get(f"{FILES}/deep/README.MD", headers={"Authorization": ADMIN}) as response:
        assert (response.status, response.content_type) == (200, "application/json")
        content = await response.json()
    assert (content["path"], content["ref"], content["resource"]["file"]) == ("deep/README.MD", commit, {"content": body})
    assert content["urls"]["sourceURL"].endswith("/blob/main/deep/README.MD")
    assert content["hash"] == git(work_tree.folder, "rev-parse", "HEAD:deep/README.MD")
    assert {"existing", "dryRun", "action"}.isdisjoint(content["resource"])
    assert (await git_api("GET", f"{FILES}/odd.md"))[1]["resource"]["file"] == {"content": "\ufffd\n"}
    assert (await git_api("GET", f"{FILES}/none.md"))[0] == 404
    for method in ("POST", "PUT", "DELETE"):
        status, error = await git_api(method, f"{FILES}/deep/README.MD", None if method == "DELETE" else "x")
        assert status == 400, error
        assert error["message"].startswith("unsupported file extension"), error
    assert (await run_sync(git_api))["state"] == "success"
    assert await titles(git_api) == {"a": "A"}


async def test_a_text_file_needs_the_permissions_of_its_directory(git_api: Api, start_repository: StartRepository) -> None:
    """Reading a text file needs read access to its directory. An unknown directory of another branch needs repository access."""
    files = {f"{directory_name}/b.json": dashboard(directory_name, "B") for directory_name in ("open", "closed")}
    work_tree = await start_repository(files={**files, "open/README.md": "open", "closed/README.md": "secret"})
    work_tree.commit({"new/README.md": "unknown"}, branch="side")
    viewer = await git_api.person("vic", Role.VIEWER)
    open_folder = await git_api.sql("select folder from resource where name = 'open'")
    closed_folder = await git_api.sql("select folder from resource where name = 'closed'")
    for folder, rules in (("team", []), (closed_folder, []), (open_folder, [{"builtInRole": "Viewer", "permission": "View"}])):
        assert (await git_api("POST", f"/api/access-control/folders/{folder}", {"permissions": rules}))[0] == 200
    for path, query, expected in (("open", {}, 200), ("closed", {}, 403), ("new", {"ref": "side"}, 403)):
        assert (await git_api("GET", f"{FILES}/{path}/README.md", auth=viewer, params=query))[0] == expected
        assert (await git_api("GET", f"{FILES}/{path}/README.md", params=query))[0] == 200


async def test_a_change_on_another_branch_stores_nothing(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """A change on another branch creates the branch and stores nothing.

    A change on the repository's own branch needs the workflow for it.
    """
    await start_repository("branch")
    auth = await create_editor(git_api)
    body = json.loads(dashboard("a", "A on the side"))
    status, response = await git_api("PUT", f"{FILES}/a.json", body, auth=auth, params={"ref": "side"})
    assert status == 200, response
    assert (count_commits(git_server), count_commits(git_server, "side")) == (1, 2)
    _, on_side_branch = await git_api("GET", f"{FILES}/a.json", auth=auth, params={"ref": "side"})
    assert on_side_branch["resource"]["file"]["spec"]["title"] == "A on the side"
    assert await titles(git_api) == {"a": "A", "b": "B"}
    status, error = await git_api("PUT", f"{FILES}/a.json", body, auth=auth)
    assert (status, error["message"]) == (400, "this repository does not support the write workflow")
    assert (await patch(git_api, "merge-patch+json", {"spec": {"title": "X"}}))[0] == 403
    assert count_commits(git_server) == 1


async def test_an_unknown_directory_of_another_branch_needs_repository_access(git_api: Api, start_repository: StartRepository) -> None:
    """A directory of another branch that has no folder needs access to the whole repository, because its access rules are unknown."""
    work_tree = await start_repository("branch")
    work_tree.commit({"secret/s.json": dashboard("s", "S"), "deep/c.json": dashboard("c", "C")}, branch="side")
    auth, side_branch = await create_editor(git_api), {"ref": "side"}
    body = json.loads(dashboard("s", "Mine"))
    for method, request_body in (("GET", None), ("PUT", body), ("DELETE", None)):
        status, error = await git_api(method, f"{FILES}/secret/s.json", request_body, auth=auth, params=side_branch)
        assert status == 403, (method, error)
        assert "anna needs repositories:write" in error["message"], (method, error)
    assert (await git_api("GET", f"{FILES}/secret/s.json", params=side_branch))[0] == 200
    assert (await git_api("PUT", f"{FILES}/secret/s.json", body, params=side_branch))[0] == 200
    assert (await git_api("GET", f"{FILES}/deep/c.json", auth=auth, params=side_branch))[0] == 200


async def test_a_directory_that_was_not_synced_yet_needs_repository_access(
    git_api: Api, git_server: GitServer, start_repository: StartRepository
) -> None:
    """A directory that is not synced yet needs access to the whole repository, and the error says so until it is synced."""
    secret = json.dumps({"title": "S", "panels": []})
    files: dict[str, str | bytes | None] = {"a.json": dashboard("a", "A"), "secret/s.json": secret, "secret/README.md": "secret"}
    work_tree = await start_repository("write", files=files, target="instance")
    auth, closed_folder = await create_editor(git_api), folder_name("team", "secret/")
    assert (await git_api("POST", f"/api/access-control/folders/{closed_folder}", {"permissions": []}))[0] == 200
    work_tree.commit({"secret/s.json": None, "secret/README.md": None, "new/s.json": secret, "new/README.md": "secret", "b.json": secret})
    body = json.loads(dashboard("mine", "Mine"))
    for method, path, request_body, query in (
        ("GET", "new/s.json", None, {}),
        ("GET", "new/README.md", None, {}),
        ("PUT", "new/s.json", body, {}),
        ("DELETE", "new/s.json", None, {}),
        ("DELETE", "new/", None, {}),
        ("POST", "s.json", None, {"originalPath": "new/s.json"}),
        ("POST", "open/", None, {"originalPath": "new/"}),
        ("POST", "new/mine.json", body, {}),
        ("POST", "new/deep/mine.json", body, {}),
    ):
        status, error = await git_api(method, f"{FILES}/{path}", request_body, auth=auth, params=query)
        reason = "anna needs repositories:write on the repository until the file's directory is synced"
        assert status == 403, (method, path, error)
        assert reason in error["message"], (method, path, error)
    for path in ("new/s.json", "new/README.md"):
        assert (await git_api("GET", f"{FILES}/{path}"))[0] == 200
    assert (await git_api("GET", f"{FILES}/b.json", auth=auth))[0] == 200
    assert count_commits(git_server) == 2
    assert (await run_sync(git_api))["state"] == "success"
    for path in ("new/s.json", "new/README.md"):
        assert "on the objects in it" in (await git_api("GET", f"{FILES}/{path}", auth=auth))[1]["message"]


async def test_new_files_in_a_readable_folder_are_readable_before_a_sync(git_api: Api, start_repository: StartRepository) -> None:
    """Directories below a readable folder are readable before they are synced, because access rules only add permissions."""
    work_tree = await start_repository("write")
    work_tree.commit({"new/README.md": "text", "new/s.json": dashboard("s", "S")})
    auth = await create_editor(git_api)
    for path in ("new/README.md", "new/s.json"):
        assert (await git_api("GET", f"{FILES}/{path}", auth=auth))[0] == 200
    assert (await git_api("POST", f"{FILES}/new/mine.json", json.loads(dashboard("mine", "Mine")), auth=auth))[0] == 200


async def test_new_directories_are_readable_after_a_sync(git_api: Api, start_repository: StartRepository) -> None:
    """A new directory at the root is readable once it is synced, or immediately if it contains no dashboard."""
    work_tree = await start_repository("write", target="instance")
    work_tree.commit({"docs/README.md": "text", "new/README.md": "text", "new/n.json": dashboard("n", "N"), "kept/.keep": ""})
    auth = await create_editor(git_api)
    assert (await git_api("POST", f"{FILES}/kept/k.json", json.loads(dashboard("k", "K")), auth=auth))[0] == 200
    assert (await git_api("GET", f"{FILES}/kept/k.json", auth=auth))[0] == 200
    assert (await git_api("GET", f"{FILES}/docs/README.md", auth=auth))[0] == 200
    assert (await git_api("GET", f"{FILES}/new/README.md", auth=auth))[0] == 403
    await run_sync(git_api)
    assert (await git_api("GET", f"{FILES}/new/README.md", auth=auth))[0] == 200
    # A directory that has been moved can be moved again without a sync.
    for new, old in (("far/", "deep/"), ("farther/", "far/")):
        assert (await git_api("POST", f"{FILES}/{new}", params={"originalPath": old}, auth=auth))[0] == 200


@pytest.mark.parametrize("is_in_mirror", [True, False], ids=["in the mirror", "not in the mirror"])
async def test_the_newest_commit_of_another_branch_can_be_read(git_api: Api, start_repository: StartRepository, is_in_mirror: bool) -> None:
    """The newest commit of another branch can be read, as previews do for their pictures. An older commit is not found."""
    work_tree = await start_repository()
    older = work_tree.commit({"b.json": dashboard("b", "Older")}, branch="side")
    newest = work_tree.commit({"b.json": dashboard("b", "Newest")}, branch="side")
    if is_in_mirror:
        assert (await git_api("GET", f"{FILES}/b.json", params={"ref": "side"}))[0] == 200
    status, body = await git_api("GET", f"{FILES}/b.json", params={"ref": newest})
    assert (status, body["ref"], body["resource"]["file"]["spec"]["title"]) == (200, newest, "Newest")
    status, error = await git_api("GET", f"{FILES}/b.json", params={"ref": older})
    assert status == 404
    assert f"commit not found: {older}" in error["message"]


async def test_existing_branches_are_named_only_with_repository_access(git_api: Api, start_repository: StartRepository) -> None:
    """The error of an unknown branch names the existing branches only for callers with access to the repository."""
    await start_repository("branch")
    viewer, auth, missing_branch = await git_api.person("vic", Role.VIEWER), await create_editor(git_api), {"ref": "gone"}
    for caller, branches in ((auth, "; there is 'main'"), (viewer, "")):
        status, error = await git_api("GET", f"{FILES}/a.json", auth=caller, params=missing_branch)
        assert (status, error["message"]) == (404, f"branch not found: 'gone'{branches}")


async def test_a_concurrent_push_is_kept(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """A commit that is pushed between plan and push is kept: the change is planned again on top of it."""
    work_tree = await start_repository("write")
    pending: list[str] = []

    async def push_first(request: web.Request) -> web.StreamResponse | None:
        """Commit the pending file before the next push of the gateway."""
        # The gateway has planned its change and begins to push.
        if "git-receive-pack" in request.path_qs and pending:
            git(work_tree.folder, "pull", "--quiet", "origin", "main")
            work_tree.commit({pending.pop(): "theirs"})
        return None

    git_server.fault = push_first
    pending.append("1.txt")
    assert (await git_api("PUT", f"{FILES}/a.json", json.loads(dashboard("a", "Mine"))))[0] == 200
    # The first commit, the concurrent one and the change.
    assert (count_commits(git_server), content(git_server, "1.txt")) == (3, "theirs")
    assert (await titles(git_api))["a"] == "Mine"
    pending.append("2.txt")
    status, body = await patch(git_api, "merge-patch+json", {"spec": {"title": "Mine again"}})
    assert (status, body["spec"]["title"]) == (200, "Mine again"), body
    assert (count_commits(git_server), content(git_server, "2.txt"), pending) == (5, "theirs", [])


async def test_concurrent_changes_all_succeed(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """Eight concurrent changes of different files all succeed, each as one commit, and all objects are stored."""
    names = ("a", "b", "c", "d")
    files = {f"{name}.json": dashboard(name, name) for name in names}
    await start_repository("write", files=dict(files))
    created = [git_api("POST", f"{FILES}/new-{name}.json", json.loads(dashboard(f"new-{name}", "New"))) for name in names]
    edited = [patch(git_api, "merge-patch+json", {"spec": {"title": "Edited"}}, name=name) for name in names]
    responses = await asyncio.gather(*created, *edited)
    assert [status for status, _ in responses] == [200] * 8, responses
    assert [body.get("errors") for _, body in responses[:4]] == [None] * 4
    # The first commit, and one for each of the eight changes.
    assert count_commits(git_server) == 9
    assert (await run_sync(git_api))["message"] == "same commit as last time"
    assert await titles(git_api) == dict.fromkeys(names, "Edited") | {f"new-{name}": "New" for name in names}


async def test_an_edit_by_the_resource_api_is_a_commit(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """An edit through the resource API is a commit that keeps the file's format, and returns the stored object."""
    await start_repository("write")
    auth = await create_editor(git_api)
    _, before = await git_api("GET", f"{DASHBOARDS}/a")
    body = {**before, "spec": {**before["spec"], "title": "A2"}}
    body["metadata"]["annotations"]["grafana.app/message"] = "By the resource API"
    status, after = await git_api("PUT", f"{DASHBOARDS}/a", body, auth=auth)
    assert (status, after["spec"]["title"], after["metadata"]["generation"]) == (200, "A2", before["metadata"]["generation"] + 1)
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    assert after == (await git_api("GET", f"{DASHBOARDS}/a"))[1]
    assert log(git_server, "%an|%s") == "Anna Ä|By the resource API"
    assert json.loads(content(git_server, "a.json")) == {"uid": "a", "title": "A2", "panels": []}
    assert (await git_api("PUT", f"{DASHBOARDS}/a", body))[0] == 409
    assert (await git_api("DELETE", f"{DASHBOARDS}/a", auth=auth))[0] == 200
    assert (await git_api("GET", f"{DASHBOARDS}/a"))[0] == 404
    assert (await titles(git_api), log(git_server, "%s")) == ({"b": "B"}, "Delete a.json")
    async with git_api.database.connection() as connection:
        rows = await connection.fetch("select action from audit_event where object = 'dashboard:a' and outcome = 'ok' order by id")
    assert [row["action"] for row in rows] == ["dashboard.update", "dashboard.delete"]


async def test_an_edit_by_the_classic_api_is_a_commit(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """A save, a restore and a delete by the classic API are commits, which change the file of the dashboard."""
    await start_repository("write")
    _, response = await git_api("GET", "/api/dashboards/uid/b")
    assert response["meta"]["provisioned"] is True
    assert response["meta"]["canSave"] is True
    body = {**response["dashboard"], "title": "B2"}
    save = {"dashboard": body, "folderUid": response["meta"]["folderUid"], "message": "Saved"}
    status, saved = await git_api("POST", "/api/dashboards/db", save)
    assert (status, saved["version"]) == (200, 2), saved
    assert (log(git_server, "%s"), json.loads(content(git_server, "deep/b.json"))["title"]) == ("Saved", "B2")
    assert (await git_api("POST", "/api/dashboards/db", save))[0] == 412
    assert (await git_api("POST", "/api/dashboards/uid/b/restore", {"version": 1}))[0] == 200
    assert json.loads(content(git_server, "deep/b.json"))["title"] == "B"
    assert (await git_api("DELETE", "/api/dashboards/uid/b"))[0] == 200
    assert await titles(git_api) == {"a": "A"}
    assert count_commits(git_server) == 4


async def test_kubectl_writes_are_commits(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """``kubectl apply``, ``edit`` and ``apply --server-side`` are commits, and the same request again makes no commit."""
    await start_repository("write")
    applied: dict[str, Any] = {"apiVersion": "dashboard.grafana.app/v2alpha1", "kind": "Dashboard"}
    applied |= {"metadata": {"name": "a", "namespace": "default"}, "spec": {"title": "Applied", "panels": []}}
    note = {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied)}}}
    client_side_patch = {**note, "spec": {"title": "Applied"}}
    for _ in range(2):
        status, response = await patch(git_api, "merge-patch+json", client_side_patch, fieldManager="kubectl-client-side-apply")
        assert (status, response["spec"]["title"]) == (200, "Applied"), response
        assert "kubectl.kubernetes.io/last-applied-configuration" not in response["metadata"]["annotations"]
    assert count_commits(git_server) == 2
    _, body = await git_api("GET", f"{DASHBOARDS}/a")
    edited = {"metadata": {"resourceVersion": body["metadata"]["resourceVersion"]}, "spec": {"title": "Edited"}}
    assert (await patch(git_api, "merge-patch+json", edited, fieldManager="kubectl-edit"))[0] == 200
    assert (await patch(git_api, "merge-patch+json", edited, fieldManager="kubectl-edit"))[0] == 409
    server_side_apply = {**applied, "spec": {"title": "By the server"}}
    for _ in range(2):
        assert (await patch(git_api, "apply-patch+yaml", server_side_apply, fieldManager="kubectl", force="false"))[0] == 200
    assert count_commits(git_server) == 4
    assert json.loads(content(git_server, "a.json")) == {"uid": "a", "title": "By the server", "panels": []}
    assert (await patch(git_api, "merge-patch+json", {"metadata": {"labels": {"team": "x"}}}, fieldManager="kubectl-label"))[0] == 200
    written = json.loads(content(git_server, "a.json"))
    assert (written["metadata"]["labels"], written["spec"]["title"]) == ({"team": "x"}, "By the server")
    assert (await git_api("GET", f"{DASHBOARDS}/a"))[1]["metadata"]["labels"]["team"] == "x"


async def test_an_edit_of_a_changed_file_conflicts(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """An edit conflicts if its file has changed since the last sync, and succeeds after a sync."""
    work_tree = await start_repository("write")
    work_tree.commit({"a.json": dashboard("a", "Theirs")})
    status, refusal = await patch(git_api, "merge-patch+json", {"spec": {"tags": ["x"]}})
    assert status == 409
    assert "sync" in refusal["message"]
    await run_sync(git_api, incremental=True)
    status, body = await patch(git_api, "merge-patch+json", {"spec": {"tags": ["x"]}})
    assert (status, body["spec"]["title"], body["spec"]["tags"]) == (200, "Theirs", ["x"])


async def test_a_dry_run_commits_nothing(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """Dry runs of edits and deletes return the result without a commit."""
    await start_repository("write")
    status, body = await patch(git_api, "merge-patch+json", {"spec": {"title": "Tried"}}, dryRun="All")
    assert (status, body["spec"]["title"]) == (200, "Tried")
    assert (await git_api("DELETE", f"{DASHBOARDS}/a?dryRun=All"))[0] == 200
    assert (count_commits(git_server), await titles(git_api)) == (1, {"a": "A", "b": "B"})


async def test_a_dashboard_is_moved_between_directories(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """A change of the folder moves the file to the folder's directory. A folder outside of the repository is rejected."""
    await start_repository("write")
    folder = await git_api.sql("select folder from resource where name = 'b'")
    status, body = await patch(git_api, "merge-patch+json", {"metadata": {"annotations": {"grafana.app/folder": folder}}})
    assert (status, body["metadata"]["annotations"]["grafana.app/folder"]) == (200, folder), body
    assert body["metadata"]["annotations"]["grafana.app/sourcePath"] == "deep/a.json"
    assert json.loads(content(git_server, "deep/a.json"))["title"] == "A"
    assert (await git_api("POST", "/api/folders", {"uid": "other", "title": "Other"}))[0] == 200
    status, refusal = await patch(git_api, "merge-patch+json", {"metadata": {"annotations": {"grafana.app/folder": "other"}}})
    assert status == 400
    assert "only between the folders of its repository" in refusal["message"]


async def test_a_failing_git_host_is_a_424(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """A failing git host is 424 at every endpoint, and nothing of the change is stored."""
    await start_repository("write")

    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    git_server.fault = refuse
    assert (await git_api("PUT", f"{FILES}/a.json", json.loads(dashboard("a", "X"))))[0] == 424
    assert (await patch(git_api, "merge-patch+json", {"spec": {"title": "X"}}))[0] == 424
    assert await titles(git_api) == {"a": "A", "b": "B"}

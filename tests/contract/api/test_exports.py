"""Exports to a real git server: which files a branch has then, and what the next sync changes."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api, case_id
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, run_sync
from tests.servers.git import GitServer, git

from dashwright.common.identity import Role
from dashwright.jobs_worker.domain.file_forms import MAX_FILE_BYTES

FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
CLASSIC = DASHBOARDS.replace("v2alpha1", "v0alpha1")
#: Selects name, generation, folder and labels of each object in one text.
_SELECT_OBJECTS = "select json_agg((name, generation, folder, labels) order by name)::text from resource where resource <> 'repositories'"
Export = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def export(git_api: Api, git_server: GitServer) -> Export:
    """Return a function that creates the repository ``team``, runs an export into it, and returns the status of the job."""
    git_server.create_repository("team.git").commit({"README.md": "x"}, message="first")

    async def export(*, target: str = "instance", **options: Any) -> dict[str, Any]:
        """Create the repository at the first call, run an export with options, and return the status of the job."""
        if (await git_api("GET", f"{REPOSITORIES}/team"))[0] == 404:
            await create_repository(git_api, git_server, target=target)
        status, job = await git_api("POST", f"{REPOSITORIES}/team/export", options)
        assert status == 202, job
        return await wait_for_job(git_api, job)

    return export


async def create_repository(
    api: Api, server: GitServer, *, target: str = "instance", workflows: tuple[str, ...] = ("write", "branch")
) -> None:
    """Create the repository ``team``, whose files are in ``team.git`` on the server."""
    spec = {"title": "Team", "type": "githost", "workflows": list(workflows), "sync": {"enabled": True, "target": target}}
    spec |= {"githost": {"url": server.url("team.git"), "branch": "main"}}
    status, body = await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
    assert status == 201, body


async def wait_for_job(api: Api, job: dict[str, Any], repository: str = "team") -> dict[str, Any]:
    """Return the status of a job once it has ended."""
    notified = asyncio.Event()
    async with asyncio.timeout(30), api.database.listen("change", lambda _: notified.set(), notified.set):
        while True:
            # A subscription begins with a notification, so that a job that has ended before is found.
            await notified.wait()
            notified.clear()
            _, body = await api("GET", f"{REPOSITORIES}/{repository}/jobs/{job['metadata']['uid']}")
            if body["status"]["state"] in ("success", "error"):
                return dict(body["status"])


async def create_folder(api: Api, name: str, title: str, parent: str = "") -> None:
    """Create a folder in a parent folder, or at the root."""
    annotations = {"grafana.app/folder": parent} if parent else {}
    status, body = await api("POST", FOLDERS, {"metadata": {"name": name, "annotations": annotations}, "spec": {"title": title}})
    assert status == 201, body


async def create_dashboard(api: Api, name: str, title: str, parent: str = "", *, url: str = CLASSIC, **spec: Any) -> None:
    """Create a dashboard in a folder, or at the root. ``url`` selects the version."""
    annotations = {"grafana.app/folder": parent} if parent else {}
    status, body = await api("POST", url, {"metadata": {"name": name, "annotations": annotations}, "spec": {"title": title, **spec}})
    assert status == 201, body


def list_files(server: GitServer, ref: str = "main") -> list[str]:
    """Return the paths of the files of a branch, except for the README of the first commit."""
    paths = git(server.root / "team.git", "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", ref)
    return [path for path in paths.splitlines() if path != "README.md"]


def read_json(server: GitServer, path: str, ref: str = "main") -> dict[str, Any]:
    """Return the parsed content of a file."""
    document: dict[str, Any] = json.loads(git(server.root / "team.git", "show", f"{ref}:{path}"))
    return document


def count_commits(server: GitServer, ref: str = "main") -> int:
    """Return the number of commits of a branch after its first commit."""
    return int(git(server.root / "team.git", "rev-list", "--count", ref)) - 1


def counts(status: dict[str, Any], resource: str = "dashboards") -> dict[str, int]:
    """Return the counts of a job for a kind of objects. Counts of 0 are omitted."""
    counters: dict[str, int] = next((item for item in status.get("summary") or [] if item["resource"] == resource), {})
    return {key: counters[key] for key in ("create", "update", "noop", "error") if counters.get(key)}


async def test_objects_are_exported_by_title(git_api: Api, git_server: GitServer, export: Export) -> None:
    """Each dashboard becomes a file named by its title, in the directory of its folder and in its stored version.

    All files are one commit, whose author is the caller. Without changes, a repeated export makes no commit.
    """
    await create_folder(git_api, "web", "Web & more")
    await create_folder(git_api, "deep", "Deep", "web")
    await create_folder(git_api, "none", "Empty")
    await create_dashboard(git_api, "v0", "Old one", "web", panels=[])
    await create_dashboard(git_api, "v2", "Test dashboard. Created at v2", url=DASHBOARDS, elements={}, layout={"kind": "GridLayout"})
    await create_dashboard(git_api, "low", "Größe 📈", "deep")
    status = await export(branch="exported")
    assert (status["state"], counts(status), counts(status, "folders")) == ("success", {"create": 3}, {"create": 3}), status
    assert list_files(git_server, "exported") == [
        "Empty/.keep",
        "Web & more/Deep/größe.json",
        "Web & more/old-one.json",
        "test-dashboard-created-at-v2.json",
    ]
    assert read_json(git_server, "Web & more/old-one.json", "exported") == {
        "apiVersion": "dashboard.grafana.app/v0alpha1",
        "kind": "Dashboard",
        "spec": {"title": "Old one", "panels": []},
    }
    assert read_json(git_server, "test-dashboard-created-at-v2.json", "exported")["apiVersion"] == "dashboard.grafana.app/v2alpha1"
    log = git(git_server.root / "team.git", "log", "-1", "--format=%an|%cn|%s", "exported")
    assert log == "admin|Dashwright|Exported from Dashwright"
    repeated = await export(branch="exported")
    assert (repeated["message"], counts(repeated), counts(repeated, "folders")) == ("no changes to export", {"noop": 3}, {"noop": 3})
    assert count_commits(git_server, "exported") == 1
    assert "grafana.app/managedBy" not in (await git_api("GET", f"{CLASSIC}/v0"))[1]["metadata"]["annotations"]


async def test_an_export_to_the_synced_branch_makes_objects_managed(git_api: Api, git_server: GitServer, export: Export) -> None:
    """An export with names makes the objects managed: the next sync changes nothing, and later edits are commits."""
    await create_folder(git_api, "web", "Web")
    await create_dashboard(git_api, "a", "A", "web", panels=[{"id": 1, "type": "text"}])
    body = {"metadata": {"name": "b", "labels": {"team": "x"}}, "spec": {"title": "B"}}
    assert (await git_api("POST", CLASSIC, body))[0] == 201
    before = await git_api.sql(_SELECT_OBJECTS)
    status = await export(identifier=True)
    assert (status["state"], counts(status)) == ("success", {"create": 2}), status
    assert read_json(git_server, "b.json")["metadata"] == {"name": "b", "labels": {"team": "x"}}
    _, team = await git_api("GET", f"{REPOSITORIES}/team")
    assert {item["resource"]: item["count"] for item in team["status"]["stats"]} == {"dashboards": 2, "folders": 1}
    synced_status = await run_sync(git_api)
    assert (synced_status["state"], counts(synced_status), counts(synced_status, "folders")) == ("success", {"noop": 2}, {"noop": 1})
    assert await git_api.sql(_SELECT_OBJECTS) == before
    _, response = await git_api("GET", f"{CLASSIC}/a")
    assert response["metadata"]["annotations"]["grafana.app/sourcePath"] == "Web/a.json"
    response["spec"]["title"] = "A2"
    assert (await git_api("PUT", f"{CLASSIC}/a", response))[0] == 200
    assert read_json(git_server, "Web/a.json")["spec"]["title"] == "A2"
    repeated = await export(identifier=True)
    assert (repeated["message"], counts(repeated)) == ("no changes to export", {})


async def test_files_without_names_become_copies(git_api: Api, git_server: GitServer, export: Export) -> None:
    """An export without names leaves the objects unmanaged, and a sync stores the files as copies once."""
    await create_dashboard(git_api, "a", "A")
    await export(target="folder")
    assert counts(await run_sync(git_api)) == {"create": 1}
    repeated = await export()
    assert (counts(repeated), count_commits(git_server)) == ({"noop": 1}, 1)
    assert (await run_sync(git_api))["message"] == "same commit as last time"
    assert await git_api.sql("select count(*) from resource where resource = 'dashboards'") == 2


async def test_file_names_are_unique(git_api: Api, git_server: GitServer, export: Export) -> None:
    """Equal, empty, very long or otherwise unsuitable titles of dashboards and folders become unique file names."""
    for name, title in (("one", "a / b"), ("two", "A: B!"), ("Two", "a b"), ("nil", "***"), ("long", "x" * 5000), ("dots", "../..")):
        await create_dashboard(git_api, name, title)
    await create_folder(git_api, "f1", "A/B")
    await create_folder(git_api, "f2", "a-b")
    await create_folder(git_api, "f3", ".git")
    await create_dashboard(git_api, "in1", "x", "f1")
    await create_dashboard(git_api, "in2", "x", "f2")
    await create_dashboard(git_api, "in3", "x", "f3")
    status = await export(branch="side", prefix="some/where/")
    assert (status["state"], counts(status)) == ("success", {"create": 9}), status
    paths = list_files(git_server, "side")
    assert [path for path in paths if not path.startswith("some/where/")] == []
    names = sorted(path.removeprefix("some/where/") for path in paths)
    # Two names that differ only in case need a suffix with a digest, because some file systems ignore case.
    assert names[1].startswith("a-b-")
    assert names[:4] == ["A-B/x.json", names[1], "a-b-f2/x.json", "a-b-two.json"]
    assert names[4:] == ["a-b.json", "dots.json", "git/x.json", "nil.json", "x" * 120 + ".json"]


async def test_history_is_exported_as_commits(git_api: Api, git_server: GitServer, export: Export) -> None:
    """Each version is a commit with its author, time and message. A repeated export adds only new versions."""
    await git_api.person("anna", Role.EDITOR)
    await git_api.sql("""update "user" set name = 'Anna Ä', email = 'anna@example.org' where login = 'anna'""")
    await create_dashboard(git_api, "a", "A")
    _, body = await git_api("GET", f"{CLASSIC}/a")
    body["spec"]["refresh"] = "5m"
    body["metadata"]["annotations"]["grafana.app/message"] = "tidy up"
    assert (await git_api("PUT", f"{CLASSIC}/a", body))[0] == 200
    statement = """update resource_history h set created_at = '2020-01-02 00:00:00Z', created_by = 'user:' || u.id
        from "user" u, resource r where u.login = 'anna' and r.name = 'a' and (h.uid, h.generation) = (r.uid, 1)"""
    await git_api.sql(statement)
    await export(branch="side", history=True)
    log = git(git_server.root / "team.git", "log", "--format=%an|%ae|%as|%s", "side").splitlines()
    assert log[1] == "Anna Ä|anna@example.org|2020-01-02|Generation: 1"
    author, _, _, message = log[0].split("|")
    assert (author, message) == ("admin", "tidy up")
    assert (await export(branch="side", history=True))["message"] == "no changes to export"
    _, body = await git_api("GET", f"{CLASSIC}/a")
    body["spec"]["refresh"] = "10m"
    assert (await git_api("PUT", f"{CLASSIC}/a", body))[0] == 200
    assert counts(await export(branch="side", history=True)) == {"update": 1}
    assert count_commits(git_server, "side") == 3


async def test_only_a_dashboard_with_its_newest_version_is_exported(git_api: Api, git_server: GitServer, export: Export) -> None:
    """If the newest version is too large for a file, no older version is exported, because the next sync would restore it."""
    await create_dashboard(git_api, "a", "A")
    await create_dashboard(git_api, "b", "B")
    _, body = await git_api("GET", f"{CLASSIC}/a")
    body["spec"]["description"] = "newest"
    assert (await git_api("PUT", f"{CLASSIC}/a", body))[0] == 200
    # Limits of specs count characters, those of files bytes.
    await git_api.sql("update resource_history set spec = replace(spec, 'newest', repeat('é', $1))", MAX_FILE_BYTES // 2)
    status = await export(history=True)
    assert (status["state"], counts(status)) == ("error", {"create": 1, "error": 1}), status
    assert list_files(git_server) == ["b.json"]
    _, body = await git_api("GET", f"{CLASSIC}/a")
    assert body["metadata"]["generation"] == 2
    assert "grafana.app/managedBy" not in body["metadata"].get("annotations", {})


async def test_files_of_other_objects_are_kept(git_api: Api, git_server: GitServer, export: Export) -> None:
    """An export does not overwrite files of other objects: it chooses another name or reports the conflict."""
    await create_repository(git_api, git_server)
    other = {"uid": "other", "title": "A", "panels": []}
    assert (await git_api("POST", f"{REPOSITORIES}/team/files/a.json?ref=side", other))[0] == 200
    assert (await git_api("POST", f"{REPOSITORIES}/team/files/Web.json?ref=side", {**other, "uid": "web"}))[0] == 200
    await create_dashboard(git_api, "a", "A")
    await create_folder(git_api, "web", "Web.json")
    await create_dashboard(git_api, "b", "B", "web")
    job_status = await export(branch="side")
    assert (job_status["state"], counts(job_status), counts(job_status, "folders")) == ("error", {"create": 1, "error": 1}, {"error": 1})
    reason = "other files are at its path: move or rename them in the repository"
    assert f"error writing: Web.json/b.json ({reason})" in job_status["errors"][0], job_status
    assert list_files(git_server, "side") == ["Web.json", "a-a.json", "a.json"]
    assert read_json(git_server, "a.json", "side") == other


async def test_the_first_export_must_write_the_synced_branch(git_api: Api, git_server: GitServer) -> None:
    """The first export to an empty repository must write the synced branch. Later exports may write other branches."""
    git_server.create_repository("team.git")
    await create_repository(git_api, git_server)
    await create_dashboard(git_api, "a", "A")
    for options, state in (({"branch": "side"}, "error"), ({}, "success"), ({"branch": "side"}, "success")):
        _, job = await git_api("POST", f"{REPOSITORIES}/team/export", options)
        assert (await wait_for_job(git_api, job))["state"] == state
    assert list_files(git_server) == ["a.json"]


async def test_a_folder_that_is_too_deep_is_an_error(git_api: Api, git_server: GitServer, export: Export) -> None:
    """A dashboard whose directory would be too deep is an error of the export. The other dashboards are exported."""
    parent = ""
    await create_dashboard(git_api, "top", "Top")
    for index in range(4):
        await create_folder(git_api, f"f{index}", f"{index}", parent)
        parent = f"f{index}"
    await create_dashboard(git_api, "low", "Low", parent)
    status = await export(branch="side", path="1/2/3/4/5")
    assert counts(status) == {"create": 1, "error": 1}
    reason = "path too deep: 9 directories, at most 8 become folders (DASHWRIGHT_FOLDER_DEPTH)"
    path = "1/2/3/4/5/0/1/2/3/low.json"
    assert f"error writing: {path} ({reason}) (file: {path}, name: low, action: create)" in status["errors"]


async def test_a_concurrent_push_is_kept(git_api: Api, git_server: GitServer, export: Export) -> None:
    """An export is repeated on top of a concurrent push. After three concurrent pushes, it fails and has pushed nothing."""
    pending_pushes = 1
    await create_repository(git_api, git_server)
    clone = git_server.root / "second"
    git(git_server.root, "clone", "--quiet", str(git_server.root / "team.git"), str(clone))
    await create_dashboard(git_api, "a", "A")

    async def push_first(request: web.Request) -> web.StreamResponse | None:
        """Push another commit before the next ``pending_pushes`` pushes of the worker."""
        nonlocal pending_pushes
        if request.path.endswith("git-receive-pack") and request.method == "POST" and pending_pushes > 0:
            pending_pushes -= 1
            git(clone, "commit", "--quiet", "--allow-empty", "-m", "other")
            git(clone, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/main")
        return None

    git_server.fault = push_first
    assert counts(await export()) == {"create": 1}
    log = git(git_server.root / "team.git", "log", "--format=%s", "main").splitlines()
    assert log == ["Exported from Dashwright", "other", "first"]
    git(clone, "pull", "--quiet", "origin", "main")
    await create_dashboard(git_api, "b", "B")
    pending_pushes = 3
    status = await export()
    assert status["state"] == "error", status
    assert "has moved" in status["message"], status
    assert list_files(git_server) == ["a.json"]


async def test_editors_export_readable_folders_to_other_branches(git_api: Api, git_server: GitServer) -> None:
    """An Editor who may not read all folders may export only a readable folder, and not to the synced branch."""
    git_server.create_repository("team.git").commit({"README.md": "x"})
    await create_repository(git_api, git_server)
    await create_folder(git_api, "open", "Open")
    await create_folder(git_api, "closed", "Closed")
    await create_dashboard(git_api, "a", "A", "open")
    for name, rules in (("closed", []), ("open", [{"builtInRole": "Editor", "permission": "View"}])):
        assert (await git_api("POST", f"/api/access-control/folders/{name}", {"permissions": rules}))[0] == 200
    auth = await git_api.person("anna", Role.EDITOR)
    url = f"{REPOSITORIES}/team/export"
    for options in ({"branch": "side"}, {"branch": "side", "folder": "closed"}, {"folder": "open"}):
        status, body = await git_api("POST", url, options, auth=auth)
        assert (status, body["reason"]) == (403, "Forbidden"), (options, body)
    status, job = await git_api("POST", url, {"branch": "side", "folder": "open"}, auth=auth)
    assert status == 202
    assert counts(await wait_for_job(git_api, job)) == {"create": 1}
    assert list_files(git_server, "side") == ["Open/a.json"]


@pytest.mark.parametrize(
    ("workflows", "options", "status", "reason"),
    [
        ((), {}, 422, "this repository is read only"),
        (("branch",), {}, 422, "does not support the write workflow"),
        (("write",), {"branch": "side"}, 422, "does not support the branch workflow"),
        (("write",), {"prefix": "../x"}, 422, "prefix: path contains traversal"),
        (("write",), {"path": "/x"}, 422, "prefix: not relative"),
        (("write",), {"path": ".x"}, 422, "prefix: path contains hidden"),
        (("write",), {"folder": "gone"}, 404, "not found"),
    ],
    ids=case_id,
)
async def test_invalid_exports_are_rejected(
    git_api: Api, git_server: GitServer, workflows: tuple[str, ...], options: dict[str, str], status: int, reason: str
) -> None:
    """An export with a missing workflow, an invalid prefix or an unknown folder is rejected before a job is created."""
    git_server.create_repository("team.git")
    await create_repository(git_api, git_server, workflows=workflows)
    actual_status, body = await git_api("POST", f"{REPOSITORIES}/team/export", options)
    assert actual_status == status, body
    assert reason in body["message"], body
    assert await git_api.sql("select count(*) from job") == 0

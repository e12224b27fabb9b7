"""Exports over a real git server: what is in the branch afterwards, what comes back of it, and what is left alone."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, synced
from tests.servers.git import GitServer, git

from dashwright.common.identity import Role

FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
CLASSIC = DASHBOARDS.replace("v2alpha1", "v0alpha1")
STORED = "select json_agg((name, generation, folder, labels) order by name)::text from resource where resource <> 'repositories'"
Export = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def export(git_api: Api, git_server: GitServer) -> Export:
    """The end of an export job into the repository ``team``, which is made at the first time; one commit with a README is there."""
    git_server.make("team.git").commit({"README.md": "x"}, message="first")

    async def export(*, target: str = "instance", auth: str | None = None, **options: Any) -> dict[str, Any]:
        if (await git_api("GET", f"{REPOSITORIES}/team"))[0] == 404:
            await make(git_api, git_server, target=target)
        status, job = await git_api("POST", f"{REPOSITORIES}/team/export", options, **({"auth": auth} if auth else {}))
        assert status == 202, job
        return await ended(git_api, job)

    return export


async def make(api: Api, server: GitServer, *, target: str = "instance", workflows: tuple[str, ...] = ("write", "branch")) -> None:
    spec = {"title": "Team", "type": "githost", "workflows": list(workflows), "sync": {"enabled": True, "target": target}}
    spec |= {"githost": {"url": server.url("team.git"), "branch": "main"}}
    status, found = await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
    assert status == 201, found


async def ended(api: Api, job: dict[str, Any], repository: str = "team") -> dict[str, Any]:
    heard = asyncio.Event()
    async with asyncio.timeout(30), api.database.listen("change", lambda _: heard.set(), heard.set):
        while True:
            await heard.wait()
            heard.clear()
            _, found = await api("GET", f"{REPOSITORIES}/{repository}/jobs/{job['metadata']['uid']}")
            if found["status"]["state"] in ("success", "error"):
                return dict(found["status"])


async def folder(api: Api, name: str, title: str, parent: str = "") -> None:
    metadata: dict[str, Any] = {"name": name} | ({"annotations": {"grafana.app/folder": parent}} if parent else {})
    status, found = await api("POST", FOLDERS, {"metadata": metadata, "spec": {"title": title}})
    assert status == 201, found


async def dashboard(api: Api, name: str, title: str, parent: str = "", *, url: str = CLASSIC, **spec: Any) -> None:
    metadata: dict[str, Any] = {"name": name} | ({"annotations": {"grafana.app/folder": parent}} if parent else {})
    status, found = await api("POST", url, {"metadata": metadata, "spec": {"title": title, **spec}})
    assert status == 201, found


def tree(server: GitServer, ref: str = "main") -> list[str]:
    listed = git(server.root / "team.git", "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", ref)
    return [path for path in listed.splitlines() if path != "README.md"]


def file(server: GitServer, path: str, ref: str = "main") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(git(server.root / "team.git", "show", f"{ref}:{path}"))
    return found


def commits(server: GitServer, ref: str = "main") -> int:
    """After the first one."""
    return int(git(server.root / "team.git", "rev-list", "--count", ref)) - 1


def counts(status: dict[str, Any], resource: str = "dashboards") -> dict[str, int]:
    found: dict[str, int] = next((item for item in status.get("summary") or [] if item["resource"] == resource), {})
    return {key: found[key] for key in ("create", "update", "noop", "error") if found.get(key)}


async def test_everything_is_a_file_by_its_title(git_api: Api, git_server: GitServer, export: Export) -> None:
    """In directories called as the folders, each in the version it is stored in, in one commit of who asked; metadata only where wanted."""
    await folder(git_api, "web", "Web & more")
    await folder(git_api, "deep", "Deep", "web")
    await folder(git_api, "none", "Empty")
    await dashboard(git_api, "v0", "Old one", "web", panels=[])
    await dashboard(git_api, "v2", "Test dashboard. Created at v2", url=DASHBOARDS, elements={}, layout={"kind": "GridLayout"})
    await dashboard(git_api, "low", "Größe 📈", "deep")
    status = await export(branch="exported")
    assert (status["state"], counts(status), counts(status, "folders")) == ("success", {"create": 3}, {"create": 3}), status
    assert tree(git_server, "exported") == [
        "Empty/.keep",
        "Web & more/Deep/größe.json",
        "Web & more/old-one.json",
        "test-dashboard-created-at-v2.json",
    ]
    assert file(git_server, "Web & more/old-one.json", "exported") == {
        "apiVersion": "dashboard.grafana.app/v0alpha1",
        "kind": "Dashboard",
        "spec": {"title": "Old one", "panels": []},
    }
    assert file(git_server, "test-dashboard-created-at-v2.json", "exported")["apiVersion"] == "dashboard.grafana.app/v2alpha1"
    told = git(git_server.root / "team.git", "log", "-1", "--format=%an|%cn|%s", "exported")
    assert told == "admin|Dashwright|Exported from Dashwright"
    again = await export(branch="exported")
    assert (again["message"], counts(again), counts(again, "folders")) == ("no changes to export", {"noop": 3}, {"noop": 3})
    assert commits(git_server, "exported") == 1
    assert "grafana.app/managedBy" not in (await git_api("GET", f"{CLASSIC}/v0"))[1]["metadata"]["annotations"]


async def test_what_goes_into_the_own_branch_is_the_repositorys(git_api: Api, git_server: GitServer, export: Export) -> None:
    """With names in the files: the next sync finds everything as it is, what is changed then becomes a commit, and labels stay."""
    await folder(git_api, "web", "Web")
    await dashboard(git_api, "a", "A", "web", panels=[{"id": 1, "type": "text"}])
    body = {"metadata": {"name": "b", "labels": {"team": "x"}}, "spec": {"title": "B"}}
    assert (await git_api("POST", CLASSIC, body))[0] == 201
    before = await git_api.sql(STORED)
    status = await export(identifier=True)
    assert (status["state"], counts(status)) == ("success", {"create": 2}), status
    assert file(git_server, "b.json")["metadata"] == {"name": "b", "labels": {"team": "x"}}
    _, team = await git_api("GET", f"{REPOSITORIES}/team")
    assert {item["resource"]: item["count"] for item in team["status"]["stats"]} == {"dashboards": 2, "folders": 1}
    synced_status = await synced(git_api)
    assert (synced_status["state"], counts(synced_status), counts(synced_status, "folders")) == ("success", {"noop": 2}, {"noop": 1})
    assert await git_api.sql(STORED) == before
    _, found = await git_api("GET", f"{CLASSIC}/a")
    assert found["metadata"]["annotations"]["grafana.app/sourcePath"] == "Web/a.json"
    found["spec"]["title"] = "A2"
    assert (await git_api("PUT", f"{CLASSIC}/a", found))[0] == 200
    assert file(git_server, "Web/a.json")["spec"]["title"] == "A2"
    again = await export(identifier=True)
    assert (again["message"], counts(again)) == ("no changes to export", {})


async def test_copies_come_of_files_without_names(git_api: Api, git_server: GitServer, export: Export) -> None:
    """A repository with a folder of its own: the objects stay as they are, and a second export and sync change nothing."""
    await dashboard(git_api, "a", "A")
    await export(target="folder")
    assert counts(await synced(git_api)) == {"create": 1}
    again = await export()
    assert (counts(again), commits(git_server)) == ({"noop": 1}, 1)
    assert (await synced(git_api))["message"] == "same commit as last time"
    assert await git_api.sql("select count(*) from resource where resource = 'dashboards'") == 2


async def test_no_two_share_a_file(git_api: Api, git_server: GitServer, export: Export) -> None:
    """Equal titles, none, those without a letter, with slashes, of five thousand characters; and folders alike."""
    for name, title in (("one", "a / b"), ("two", "A: B!"), ("Two", "a b"), ("nil", "***"), ("long", "x" * 5000), ("dots", "../..")):
        await dashboard(git_api, name, title)
    await folder(git_api, "f1", "A/B")
    await folder(git_api, "f2", "a-b")
    await folder(git_api, "f3", ".git")
    await dashboard(git_api, "in1", "x", "f1")
    await dashboard(git_api, "in2", "x", "f2")
    await dashboard(git_api, "in3", "x", "f3")
    status = await export(branch="side", prefix="some/where/")
    assert (status["state"], counts(status)) == ("success", {"create": 9}), status
    found = tree(git_server, "side")
    assert [path for path in found if not path.startswith("some/where/")] == []
    names = sorted(path.removeprefix("some/where/") for path in found)
    assert names[1].startswith("a-b-")
    assert names[:4] == ["A-B/x.json", names[1], "a-b-f2/x.json", "a-b-two.json"]
    assert names[4:] == ["a-b.json", "dots.json", "git/x.json", "nil.json", "x" * 120 + ".json"]


async def test_history_is_a_commit_for_each_version(git_api: Api, git_server: GitServer, export: Export) -> None:
    """By who wrote it when and with which words, oldest first; what git has already is not written again."""
    await git_api.person("anna", Role.EDITOR)
    await git_api.sql("""update "user" set name = 'Anna Ä', email = 'anna@example.org' where login = 'anna'""")
    await dashboard(git_api, "a", "A")
    _, found = await git_api("GET", f"{CLASSIC}/a")
    found["spec"]["refresh"] = "5m"
    found["metadata"]["annotations"]["grafana.app/message"] = "tidy up"
    assert (await git_api("PUT", f"{CLASSIC}/a", found))[0] == 200
    statement = """update resource_history h set created_at = '2020-01-02 00:00:00Z', created_by = 'user:' || u.id
        from "user" u, resource r where u.login = 'anna' and r.name = 'a' and (h.uid, h.generation) = (r.uid, 1)"""
    await git_api.sql(statement)
    await export(branch="side", history=True)
    told = git(git_server.root / "team.git", "log", "--format=%an|%ae|%as|%s", "side").splitlines()
    assert told[1] == "Anna Ä|anna@example.org|2020-01-02|Generation: 1"
    assert told[0].split("|")[::3] == ["admin", "tidy up"]
    assert (await export(branch="side", history=True))["message"] == "no changes to export"
    _, found = await git_api("GET", f"{CLASSIC}/a")
    found["spec"]["refresh"] = "10m"
    assert (await git_api("PUT", f"{CLASSIC}/a", found))[0] == 200
    assert counts(await export(branch="side", history=True)) == {"update": 1}
    assert commits(git_server, "side") == 3


async def test_files_of_others_stay(git_api: Api, git_server: GitServer, export: Export) -> None:
    """What names another object, is none, or lies in the way: the export goes around it, or says what it could not write."""
    await make(git_api, git_server)
    other = {"uid": "other", "title": "A", "panels": []}
    assert (await git_api("POST", f"{REPOSITORIES}/team/files/a.json?ref=side", other))[0] == 200
    assert (await git_api("POST", f"{REPOSITORIES}/team/files/Web.json?ref=side", {**other, "uid": "web"}))[0] == 200
    await dashboard(git_api, "a", "A")
    await folder(git_api, "web", "Web.json")
    await dashboard(git_api, "b", "B", "web")
    told = await export(branch="side")
    assert (told["state"], counts(told), counts(told, "folders")) == ("error", {"create": 1, "error": 1}, {"error": 1})
    assert "error writing: Web.json/b.json (other files are at its path)" in told["errors"][0], told
    assert tree(git_server, "side") == ["Web.json", "a-a.json", "a.json"]
    assert file(git_server, "a.json", "side") == other


async def test_an_empty_repository_begins_with_its_own_branch(git_api: Api, git_server: GitServer) -> None:
    """Another one alone would leave it without the branch that it is synced from."""
    git_server.make("team.git")
    await make(git_api, git_server)
    await dashboard(git_api, "a", "A")
    for options, state in (({"branch": "side"}, "error"), ({}, "success"), ({"branch": "side"}, "success")):
        _, job = await git_api("POST", f"{REPOSITORIES}/team/export", options)
        assert (await ended(git_api, job))["state"] == state
    assert tree(git_server) == ["a.json"]


async def test_too_deep_is_told_and_all_others_go(git_api: Api, git_server: GitServer, export: Export) -> None:
    parent = ""
    await dashboard(git_api, "top", "Top")
    for number in range(4):
        await folder(git_api, f"f{number}", f"{number}", parent)
        parent = f"f{number}"
    await dashboard(git_api, "low", "Low", parent)
    status = await export(branch="side", path="1/2/3/4/5")
    assert counts(status) == {"create": 1, "error": 1}
    reason = "path too deep: 9 directories, at most 8 become folders (DASHWRIGHT_FOLDER_DEPTH)"
    assert f"error writing: 1/2/3/4/5/0/1/2/3/low.json ({reason})" in status["errors"]


async def test_a_branch_that_moves_meanwhile_is_built_upon(git_api: Api, git_server: GitServer, export: Export) -> None:
    """The other push stays, the export comes on top of it; after three of them it gives up, and nothing is there."""
    left = [1]
    await make(git_api, git_server)
    clone = git_server.root / "second"
    git(git_server.root, "clone", "--quiet", str(git_server.root / "team.git"), str(clone))
    await dashboard(git_api, "a", "A")

    async def move(request: web.Request) -> web.StreamResponse | None:
        if request.path.endswith("git-receive-pack") and request.method == "POST" and left[0]:
            left[0] -= 1
            git(clone, "commit", "--quiet", "--allow-empty", "-m", "other")
            git(clone, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/main")
        return None

    git_server.fault = move
    assert counts(await export()) == {"create": 1}
    told = git(git_server.root / "team.git", "log", "--format=%s", "main").splitlines()
    assert told == ["Exported from Dashwright", "other", "first"]
    git(clone, "pull", "--quiet", "origin", "main")
    await dashboard(git_api, "b", "B")
    left[0] = 3
    status = await export()
    assert (status["state"], "has moved" in status["message"]) == ("error", True), status
    assert tree(git_server) == ["a.json"]


async def test_who_may_not_read_everything_exports_a_folder(git_api: Api, git_server: GitServer) -> None:
    """And what goes into the own branch takes writing, too; the queue's own identity may nothing of it."""
    git_server.make("team.git").commit({"README.md": "x"})
    await make(git_api, git_server)
    await folder(git_api, "open", "Open")
    await folder(git_api, "closed", "Closed")
    await dashboard(git_api, "a", "A", "open")
    for name, rules in (("closed", []), ("open", [{"builtInRole": "Editor", "permission": "View"}])):
        assert (await git_api("POST", f"/api/access-control/folders/{name}", {"permissions": rules}))[0] == 200
    auth = await git_api.person("anna", Role.EDITOR)
    url = f"{REPOSITORIES}/team/export"
    for options in ({"branch": "side"}, {"branch": "side", "folder": "closed"}, {"folder": "open"}):
        status, found = await git_api("POST", url, options, auth=auth)
        assert (status, found["reason"]) == (403, "Forbidden"), (options, found)
    status, job = await git_api("POST", url, {"branch": "side", "folder": "open"}, auth=auth)
    assert status == 202
    assert counts(await ended(git_api, job)) == {"create": 1}
    assert tree(git_server, "side") == ["Open/a.json"]


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
)
async def test_what_cannot_be_is_refused_when_it_is_asked_for(
    git_api: Api, git_server: GitServer, workflows: tuple[str, ...], options: dict[str, str], status: int, reason: str
) -> None:
    git_server.make("team.git")
    await make(git_api, git_server, workflows=workflows)
    answered, found = await git_api("POST", f"{REPOSITORIES}/team/export", options)
    assert (answered, reason in found["message"]) == (status, True), found
    assert await git_api.sql("select count(*) from job") == 0

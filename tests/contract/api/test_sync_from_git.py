"""Sync of a repository on a git host: what is in the branch is what is stored, and every failure is told and heals."""

import asyncio
import hashlib
import json
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api
from tests.servers import git
from tests.servers.git import GitServer

from dashwright.common.jobs import paths
from dashwright.common.jobs.names import folder_name, object_name

REPOSITORIES = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
DASHBOARDS = "/apis/dashboard.grafana.app/v2alpha1/namespaces/default/dashboards"
TOKEN = "a-token-of-the-host"


@pytest.fixture
def api(git_api: Api) -> Api:
    """With a worker that may reach this machine."""
    return git_api


async def repository(api: Api, server: GitServer, **block: Any) -> None:
    spec = {"title": "Team", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    spec |= {"githost": {"url": server.url("team.git"), "branch": "main", **block}}
    status, found = await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
    assert status == 201, found


async def synced(api: Api, *, incremental: bool = False) -> dict[str, Any]:
    """The status of a sync job once it has ended."""
    status, job = await api("POST", f"{REPOSITORIES}/team/jobs", {"action": "sync", "sync": {"incremental": incremental}})
    assert status == 202, job
    heard = asyncio.Event()
    async with asyncio.timeout(30), api.database.listen("change", lambda _: heard.set(), heard.set):
        while True:
            await heard.wait()
            heard.clear()
            _, found = await api("GET", f"{REPOSITORIES}/team/jobs/{job['metadata']['uid']}")
            if found["status"]["state"] in ("success", "error"):
                return dict(found["status"])


async def sync_status(api: Api) -> dict[str, Any]:
    _, team = await api("GET", f"{REPOSITORIES}/team")
    return dict(team["status"]["sync"])


async def titles(api: Api) -> dict[str, str]:
    _, found = await api("GET", DASHBOARDS)
    return {item["metadata"]["name"]: item["spec"]["title"] for item in found["items"]}


def dashboard(name: str, title: str) -> str:
    return json.dumps({"uid": name, "title": title, "panels": []})


async def test_what_is_in_the_branch_is_stored(api: Api, git_server: GitServer) -> None:
    """Revision by revision: added, changed, moved and removed files; who owns them, and from which commit they are."""
    git_server.token = TOKEN
    work = git_server.make("team.git")
    first = work.commit({"a.json": dashboard("a", "A"), "deep/b.json": dashboard("b", "B"), "notes.md": "none"})
    await repository(api, git_server, token=TOKEN)
    status = await synced(api)
    assert status["state"] == "success", status
    assert await titles(api) == {"a": "A", "b": "B"}
    _, found = await api("GET", f"{DASHBOARDS}/b")
    notes = found["metadata"]["annotations"]
    assert (notes["grafana.app/managerId"], notes["grafana.app/sourcePath"]) == ("team", "deep/b.json")
    _, team = await api("GET", f"{REPOSITORIES}/team")
    assert (team["status"]["sync"]["lastRef"], team["status"]["observedGeneration"]) == (first, 1)
    assert team["status"]["health"]["healthy"] is True
    second = work.commit({"a.json": None, "deep/b.json": dashboard("b", "B2"), "c.json": dashboard("c", "C")})
    assert (await synced(api))["state"] == "success"
    assert await titles(api) == {"b": "B2", "c": "C"}
    assert (await api("GET", f"{REPOSITORIES}/team"))[1]["status"]["sync"]["lastRef"] == second


async def test_the_same_commit_is_stored_once(api: Api, git_server: GitServer) -> None:
    """The second sync asks the host and writes no object."""
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(api, git_server)
    await synced(api)
    before = await api.sql("select count(*) from change where resource in ('dashboards', 'folders')")
    status = await synced(api)
    assert (status["state"], status["message"]) == ("success", "same commit as last time")
    assert await api.sql("select count(*) from change where resource in ('dashboards', 'folders')") == before


async def test_a_new_spec_is_synced_though_the_commit_is_the_same(api: Api, git_server: GitServer) -> None:
    """The title of the repository is that of its folder."""
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(api, git_server)
    await synced(api)
    _, team = await api("GET", f"{REPOSITORIES}/team")
    team["spec"]["title"] = "Renamed"
    assert (await api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    assert (await synced(api))["state"] == "success"
    assert await api.sql("select title from resource where resource = 'folders' and name = 'team'") == "Renamed"


async def test_a_bad_file_costs_only_itself(api: Api, git_server: GitServer) -> None:
    """It is an error of the job, what was stored of it stays, and it is looked at again until it is right."""
    work = git_server.make("team.git")
    work.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await repository(api, git_server)
    await synced(api)
    work.commit({"a.json": "{broken", "b.json": dashboard("b", "B2")})
    status = await synced(api)
    assert (status["state"], "a.json" in json.dumps(status["errors"])) == ("error", True)
    assert await titles(api) == {"a": "A", "b": "B2"}
    work.commit({"a.json": dashboard("a", "A3")})
    assert (await synced(api))["state"] == "success"
    assert await titles(api) == {"a": "A3", "b": "B2"}


async def test_an_empty_repository_is_no_error(api: Api, git_server: GitServer) -> None:
    """There is nothing in it yet; once there is, it is stored."""
    work = git_server.make("team.git")
    await repository(api, git_server)
    status = await synced(api)
    assert (status["state"], status["message"]) == ("success", "the repository has no commits yet")
    work.commit({"a.json": dashboard("a", "A")})
    assert (await synced(api))["state"] == "success"
    assert await titles(api) == {"a": "A"}


async def test_a_host_that_fails_is_told_and_heals(api: Api, git_server: GitServer) -> None:
    """Nothing of what is stored is lost; the health says why; the next sync goes on once the host does."""
    work = git_server.make("team.git")
    work.commit({"a.json": dashboard("a", "A")})
    await repository(api, git_server)
    await synced(api)
    work.commit({"a.json": dashboard("a", "A2")})

    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    git_server.fault = refuse
    status = await synced(api)
    assert (status["state"], "503" in status["message"]) == ("error", True)
    _, team = await api("GET", f"{REPOSITORIES}/team")
    assert (team["status"]["health"]["healthy"], "503" in team["status"]["health"]["message"][0]) == (False, True)
    assert await titles(api) == {"a": "A"}
    git_server.fault = None
    await api.sql("update resource set status = jsonb_set(status::jsonb, '{health,checked}', '1')::text where name = 'team' returning 1")
    assert (await synced(api))["state"] == "success"
    assert await titles(api) == {"a": "A2"}


async def test_a_branch_that_is_gone_removes_nothing(api: Api, git_server: GitServer) -> None:
    work = git_server.make("team.git")
    work.commit({"a.json": dashboard("a", "A")})
    work.commit({"a.json": dashboard("a", "A")}, branch="other")
    await repository(api, git_server, branch="other")
    await synced(api)
    git.git(git_server.root / "team.git", "branch", "-D", "other")
    status = await synced(api)
    assert (status["state"], "branch not found" in status["message"]) == ("error", True)
    assert await titles(api) == {"a": "A"}


Files = dict[str, str | None]

EDITS: list[tuple[str, Files]] = [
    (
        "first",
        {"a.json": dashboard("a", "A"), "x/b.json": dashboard("b", "B"), "x/y/c.json": dashboard("c", "C"), "docs/readme.md": "none"},
    ),
    ("changed", {"x/b.json": dashboard("b", "B2")}),
    ("added in a new directory", {"n/e/w/d.json": dashboard("d", "D")}),
    ("renamed within its directory", {"x/b.json": None, "x/b2.json": dashboard("b", "B2")}),
    ("moved to another directory", {"x/b2.json": None, "n/b2.json": dashboard("b", "B2")}),
    ("a directory moved", {"x/y/c.json": None, "moved/y/c.json": dashboard("c", "C")}),
    ("hidden and unsupported files", {".ci/job.json": dashboard("z", "Z"), "n/.hidden.json": "{", "n/notes.txt": "n", "k/.keep": ""}),
    ("a directory left by its last resource", {"moved/y/c.json": None, "moved/y/why.md": "gone", "c.json": dashboard("c", "C")}),
    ("a directory left by its last file", {"moved/y/why.md": None}),
    ("names swapped", {"a.json": dashboard("c", "C3"), "c.json": dashboard("a", "A3")}),
    ("an unnamed file", {"n/un named.json": json.dumps({"title": "No name", "panels": []})}),
    ("the unnamed file moved", {"n/un named.json": None, "un named.json": json.dumps({"title": "No name", "panels": []})}),
    ("a file in place of a directory", {"n/e/w/d.json": None, "n/e.json": dashboard("d", "D2")}),
    ("a directory in place of a file", {"c.json": None, "c.json/a.json": dashboard("a", "A4")}),
    ("nothing", {}),
    ("nearly all removed", {"n/b2.json": None, "n/e.json": None, "a.json": None, "un named.json": None}),
    ("a dashboard comes back", {"n/b2.json": dashboard("b", "B5")}),
]


MOVED = {"moved/": "x/", "moved/y/": "x/y/"}
"""Directories that keep the names which they were given elsewhere."""


async def test_each_revision_by_its_difference_is_stored_whole(api: Api, git_server: GitServer) -> None:
    """Of every revision the objects, bodies, places and checksums are those of its tree; only the first one is looked at whole."""
    work = git_server.make("team.git")
    tree: dict[str, str] = {}
    for number, (what, edits) in enumerate(EDITS):
        commit = work.commit(dict(edits), message=what)
        tree = {path: body for path, body in {**tree, **edits}.items() if body is not None}
        if not number:
            await repository(api, git_server)
        status = await synced(api, incremental=True)
        assert status["state"] == "success", (what, status)
        found, wanted = await stored(api), expected(tree)
        there = {f"folders:{directory.rstrip('/')}" for path in tree for directory in paths.directories(path)}
        assert {place: row for place, row in found.items() if place in wanted or place not in there} == wanted, what
        sync = await sync_status(api)
        assert (sync["lastRef"], sync["incremental"]) == (commit, number > 0), what


async def stored(api: Api) -> dict[str, Any]:
    """Everything that a repository manages, by the paths that it came from."""
    found: dict[str, Any] = {}
    for plural in ("dashboards", "folders"):
        rows = await api.sql(
            "select coalesce(json_agg(json_build_array(source_path, name, folder, source_checksum, title, spec::json -> 'title')), '[]')"
            "::text from resource join (select uid, generation, spec from resource_history) as history using (uid, generation) "
            f"where resource = '{plural}' and manager_id = 'team'"
        )
        found |= {f"{plural}:{path or ''}": rest for path, *rest in json.loads(rows)}
    return found


def expected(tree: dict[str, str]) -> dict[str, Any]:
    """What a tree says is there: name, folder, checksum, title and title in the body."""
    found: dict[str, Any] = {"folders:": ["team", None, None, "Team", "Team"]}
    for path, body in tree.items():
        if path.endswith(".json") and not paths.is_hidden(path):
            for directory in paths.directories(path):
                title = directory.rstrip("/").rpartition("/")[2]
                found[f"folders:{directory.rstrip('/')}"] = [named(directory), named(paths.parent(directory)), None, title, title]
            spec = json.loads(body)
            name = spec.get("uid") or object_name("team", path)
            blob = hashlib.sha1(b"blob %d\0%s" % (len(body), body.encode())).hexdigest()
            found[f"dashboards:{path}"] = [name, named(paths.parent(path)), blob, spec["title"], spec["title"]]
    return found


def named(directory: str) -> str:
    return folder_name("team", MOVED.get(directory, directory)) if directory else "team"


async def test_a_folder_moves_with_its_directory(api: Api, git_server: GitServer) -> None:
    """The same object, and so with its rules, whether the difference tells of the move or the whole is looked at."""
    work = git_server.make("team.git")
    work.commit({"a/1.json": dashboard("n1", "1"), "other.json": dashboard("o", "O")})
    await repository(api, git_server)
    await synced(api)
    uid = await api.sql("select uid from resource where resource = 'folders' and source_path = 'a'")
    for old, new, incremental in (("a", "b", True), ("b", "c/d", False), ("c/d", "a", True)):
        work.commit({f"{old}/1.json": None, f"{new}/1.json": dashboard("n1", "1")})
        assert (await synced(api, incremental=incremental))["state"] == "success"
        assert await api.sql(f"select uid from resource where resource = 'folders' and source_path = '{new}'") == uid
        assert await api.sql("select f.source_path from resource d join resource f on f.name = d.folder where d.name = 'n1'") == new


async def test_what_cannot_be_told_by_a_difference_is_looked_at_whole(api: Api, git_server: GitServer) -> None:
    """A rewritten branch and a new spec: each time the whole is looked at once, and the next time not. A bad file is no reason."""
    work = git_server.make("team.git")
    work.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await repository(api, git_server)

    async def was_incremental(state: str = "success") -> bool:
        assert (await synced(api, incremental=True))["state"] == state
        return bool((await sync_status(api))["incremental"])

    assert not await was_incremental()
    (work.folder / "a.json").write_text(dashboard("a", "A2"))
    work.push(amend=True)
    assert not await was_incremental()
    assert await titles(api) == {"a": "A2", "b": "B"}
    work.commit({"a.json": "{", "b.json": dashboard("b", "B2")})
    assert await was_incremental("error")
    work.commit({"a.json": dashboard("a", "A2"), "b.json": dashboard("b", "B")})
    assert await was_incremental()
    assert await titles(api) == {"a": "A2", "b": "B"}
    work.commit({"b.json": dashboard("b", "B3")})
    assert await was_incremental()
    _, team = await api("GET", f"{REPOSITORIES}/team")
    team["spec"]["title"] = "Renamed"
    assert (await api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    work.commit({"b.json": dashboard("b", "B4")})
    assert not await was_incremental()
    assert await titles(api) == {"a": "A2", "b": "B4"}


async def test_a_commit_that_is_stored_in_part_is_not_taken_for_the_one_before(api: Api, git_server: GitServer) -> None:
    """After a sync that left a file out, a branch that is set back to the commit before is looked at, and what had changed is undone."""
    work = git_server.make("team.git")
    first = work.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await repository(api, git_server)
    await synced(api)
    work.commit({"a.json": "{", "b.json": dashboard("b", "B2")})
    assert (await synced(api, incremental=True))["state"] == "error"
    git.git(work.folder, "push", "--quiet", "--force", "origin", f"{first}:refs/heads/main")
    assert (await synced(api, incremental=True))["state"] == "success"
    assert await titles(api) == {"a": "A", "b": "B"}


async def test_when_the_next_sync_is_due_is_told(api: Api, git_server: GitServer) -> None:
    """The interval after the end of the last one; not at all where none comes by itself."""
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(api, git_server)
    await synced(api)
    assert "scheduled" not in await sync_status(api)
    _, team = await api("GET", f"{REPOSITORIES}/team")
    team["spec"]["sync"]["intervalSeconds"] = 300
    assert (await api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    await synced(api)
    sync = await sync_status(api)
    assert sync["scheduled"] == sync["finished"] + 300_000

"""Syncs of a repository on a git host. A sync makes the stored objects equal to the branch, or reports why it failed."""

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
    """Return a gateway with a worker that may reach this machine."""
    return git_api


async def create_repository(api: Api, server: GitServer, **block: Any) -> None:
    """Create the repository ``team`` on the git server."""
    spec = {"title": "Team", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    spec |= {"githost": {"url": server.url("team.git"), "branch": "main", **block}}
    status, body = await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec})
    assert status == 201, body


async def run_sync(api: Api, *, incremental: bool = False) -> dict[str, Any]:
    """Run a sync job and return its status once it has ended."""
    return await run_job(api, {"action": "sync", "sync": {"incremental": incremental}})


async def run_job(api: Api, spec: dict[str, Any]) -> dict[str, Any]:
    """Run a job and return its status once it has ended."""
    status, job = await api("POST", f"{REPOSITORIES}/team/jobs", spec)
    assert status == 202, job
    notified = asyncio.Event()
    # The event is also set when listening begins, because the job may have ended before.
    async with asyncio.timeout(30), api.database.listen("change", lambda _: notified.set(), notified.set):
        while True:
            await notified.wait()
            notified.clear()
            _, body = await api("GET", f"{REPOSITORIES}/team/jobs/{job['metadata']['uid']}")
            if body["status"]["state"] in ("success", "error"):
                return dict(body["status"])


async def sync_status(api: Api) -> dict[str, Any]:
    """Return the status of the last sync of the repository."""
    _, team = await api("GET", f"{REPOSITORIES}/team")
    return dict(team["status"]["sync"])


async def titles(api: Api) -> dict[str, str]:
    """Return the titles of all dashboards by name."""
    _, body = await api("GET", DASHBOARDS)
    return {item["metadata"]["name"]: item["spec"]["title"] for item in body["items"]}


def dashboard(name: str, title: str) -> str:
    """Return the file of a dashboard."""
    return json.dumps({"uid": name, "title": title, "panels": []})


async def test_the_files_of_the_branch_are_stored(api: Api, git_server: GitServer) -> None:
    """Each sync creates, changes and deletes objects as the commit changed files, and records manager, path and commit."""
    git_server.token = TOKEN
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "A"), "deep/b.json": dashboard("b", "B"), "notes.md": "none"})
    await create_repository(api, git_server, token=TOKEN)
    status = await run_sync(api)
    assert status["state"] == "success", status
    assert await titles(api) == {"a": "A", "b": "B"}
    _, body = await api("GET", f"{DASHBOARDS}/b")
    annotations = body["metadata"]["annotations"]
    assert (annotations["grafana.app/managerId"], annotations["grafana.app/sourcePath"]) == ("team", "deep/b.json")
    _, team = await api("GET", f"{REPOSITORIES}/team")
    assert (team["status"]["sync"]["lastRef"], team["status"]["observedGeneration"]) == (first, 1)
    assert team["status"]["health"]["healthy"] is True
    second = work_tree.commit({"a.json": None, "deep/b.json": dashboard("b", "B2"), "c.json": dashboard("c", "C")})
    assert (await run_sync(api))["state"] == "success"
    assert await titles(api) == {"b": "B2", "c": "C"}
    assert (await api("GET", f"{REPOSITORIES}/team"))[1]["status"]["sync"]["lastRef"] == second


async def test_the_same_commit_is_stored_once(api: Api, git_server: GitServer) -> None:
    """A second sync of the same commit requests the host and writes no object."""
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(api, git_server)
    await run_sync(api)
    before = await api.sql("select count(*) from change where resource in ('dashboards', 'folders')")
    status = await run_sync(api)
    assert (status["state"], status["message"]) == ("success", "same commit as last time")
    assert await api.sql("select count(*) from change where resource in ('dashboards', 'folders')") == before


async def test_a_new_spec_is_synced_without_a_new_commit(api: Api, git_server: GitServer) -> None:
    """After a change of the spec, the next sync stores the unchanged commit again, and the folder has the repository's new title."""
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(api, git_server)
    await run_sync(api)
    _, team = await api("GET", f"{REPOSITORIES}/team")
    team["spec"]["title"] = "Renamed"
    assert (await api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    assert (await run_sync(api))["state"] == "success"
    assert await api.sql("select title from resource where resource = 'folders' and name = 'team'") == "Renamed"


async def test_an_invalid_file_does_not_affect_other_files(api: Api, git_server: GitServer) -> None:
    """An invalid file is an error of the job, and its object is kept until the file is corrected. All other files are stored."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await create_repository(api, git_server)
    await run_sync(api)
    work_tree.commit({"a.json": "{broken", "b.json": dashboard("b", "B2")})
    status = await run_sync(api)
    assert status["state"] == "error"
    assert "a.json" in json.dumps(status["errors"])
    assert await titles(api) == {"a": "A", "b": "B2"}
    work_tree.commit({"a.json": dashboard("a", "A3")})
    assert (await run_sync(api))["state"] == "success"
    assert await titles(api) == {"a": "A3", "b": "B2"}


async def test_an_empty_repository_is_a_success(api: Api, git_server: GitServer) -> None:
    """The sync of an empty repository succeeds with a message, and its first commit is stored."""
    work_tree = git_server.create_repository("team.git")
    await create_repository(api, git_server)
    status = await run_sync(api)
    assert (status["state"], status["message"]) == ("success", "the repository has no commits yet")
    work_tree.commit({"a.json": dashboard("a", "A")})
    assert (await run_sync(api))["state"] == "success"
    assert await titles(api) == {"a": "A"}


async def test_a_failing_host_is_reported_until_it_works(api: Api, git_server: GitServer) -> None:
    """If the host fails, the sync fails, all objects are kept, and the health has the reason. The next sync after the failure succeeds."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A")})
    await create_repository(api, git_server)
    await run_sync(api)
    work_tree.commit({"a.json": dashboard("a", "A2")})

    async def refuse(_: web.Request) -> web.StreamResponse:
        """Respond to a request as a failing host."""
        return web.Response(status=503)

    git_server.fault = refuse
    status = await run_sync(api)
    assert status["state"] == "error"
    assert "503" in status["message"]
    _, team = await api("GET", f"{REPOSITORIES}/team")
    assert team["status"]["health"]["healthy"] is False
    assert "503" in team["status"]["health"]["message"][0]
    assert await titles(api) == {"a": "A"}
    git_server.fault = None
    # The last probe is then too old to prevent a sync.
    await api.sql("update resource set status = jsonb_set(status::jsonb, '{health,checked}', '1')::text where name = 'team' returning 1")
    assert (await run_sync(api))["state"] == "success"
    assert await titles(api) == {"a": "A2"}


async def test_a_missing_branch_deletes_no_objects(api: Api, git_server: GitServer) -> None:
    """If the branch was deleted, the sync ends with an error, and all objects are kept."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A")})
    work_tree.commit({"a.json": dashboard("a", "A")}, branch="other")
    await create_repository(api, git_server, branch="other")
    await run_sync(api)
    git.git(git_server.root / "team.git", "branch", "-D", "other")
    status = await run_sync(api)
    assert status["state"] == "error"
    assert "branch not found" in status["message"]
    assert await titles(api) == {"a": "A"}


#: Changed files by path. The value None deletes a file.
Files = dict[str, str | None]

#: The commits in order, as a description and the changed files.
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

#: The first path of each moved directory. The name of the folder is made from it.
MOVED_DIRECTORIES = {"moved/": "x/", "moved/y/": "x/y/"}


async def test_incremental_syncs_store_each_revision_completely(api: Api, git_server: GitServer) -> None:
    """After each incremental sync the objects, paths, folders and checksums are those of the commit's tree."""
    work_tree = git_server.create_repository("team.git")
    tree: dict[str, str] = {}
    for index, (description, edits) in enumerate(EDITS):
        commit = work_tree.commit(dict(edits), message=description)
        tree = {path: body for path, body in {**tree, **edits}.items() if body is not None}
        if index == 0:
            await create_repository(api, git_server)
        status = await run_sync(api, incremental=True)
        assert status["state"] == "success", (description, status)
        stored, expected = await stored_objects(api), expected_objects(tree)
        # A directory without resources may or may not have a folder.
        folders_of_tree = {f"folders:{directory.rstrip('/')}" for path in tree for directory in paths.directories(path)}
        optional_folders = folders_of_tree - expected.keys()
        assert {key: row for key, row in stored.items() if key not in optional_folders} == expected, description
        sync = await sync_status(api)
        # The first sync of a repository is never incremental.
        assert (sync["lastRef"], sync["incremental"]) == (commit, index > 0), description


async def stored_objects(api: Api) -> dict[str, Any]:
    """Return name, folder, checksum, title of the row and title of the spec of all managed objects, by plural and path."""
    objects: dict[str, Any] = {}
    for plural in ("dashboards", "folders"):
        rows = await api.sql(
            "select coalesce(json_agg(json_build_array(source_path, name, folder, source_checksum, title, spec::json -> 'title')), '[]')"
            "::text from resource join (select uid, generation, spec from resource_history) as history using (uid, generation) "
            f"where resource = '{plural}' and manager_id = 'team'"
        )
        objects |= {f"{plural}:{path or ''}": columns for path, *columns in json.loads(rows)}
    return objects


def expected_objects(tree: dict[str, str]) -> dict[str, Any]:
    """Return the objects that the sync of a tree stores, in the form of ``stored_objects``."""
    objects: dict[str, Any] = {"folders:": ["team", None, None, "Team", "Team"]}
    for path, body in tree.items():
        if path.endswith(".json") and not paths.is_hidden(path):
            for directory in paths.directories(path):
                title = directory.rstrip("/").rpartition("/")[2]
                objects[f"folders:{directory.rstrip('/')}"] = [folder_of(directory), folder_of(paths.parent(directory)), None, title, title]
            spec = json.loads(body)
            name = spec.get("uid") or object_name("team", path)
            # The checksum of a file is its blob hash in git.
            checksum = hashlib.sha1(b"blob %d\0%s" % (len(body), body.encode())).hexdigest()
            objects[f"dashboards:{path}"] = [name, folder_of(paths.parent(path)), checksum, spec["title"], spec["title"]]
    return objects


def folder_of(directory: str) -> str:
    """Return the name of the folder of a directory."""
    return folder_name("team", MOVED_DIRECTORIES.get(directory, directory)) if directory else "team"


async def test_a_folder_moves_with_its_directory(api: Api, git_server: GitServer) -> None:
    """The folder of a moved directory remains the same object, with its rules, in incremental and full syncs."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a/1.json": dashboard("n1", "1"), "other.json": dashboard("o", "O")})
    await create_repository(api, git_server)
    await run_sync(api)
    uid = await api.sql("select uid from resource where resource = 'folders' and source_path = 'a'")
    for old, new, incremental in (("a", "b", True), ("b", "c/d", False), ("c/d", "a", True)):
        work_tree.commit({f"{old}/1.json": None, f"{new}/1.json": dashboard("n1", "1")})
        assert (await run_sync(api, incremental=incremental))["state"] == "success"
        assert await api.sql(f"select uid from resource where resource = 'folders' and source_path = '{new}'") == uid
        assert await api.sql("select f.source_path from resource d join resource f on f.name = d.folder where d.name = 'n1'") == new


async def test_rewritten_branches_and_new_specs_need_a_full_sync(api: Api, git_server: GitServer) -> None:
    """A rewritten branch or a new spec causes one full sync; an invalid file does not."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await create_repository(api, git_server)

    async def sync_is_incremental(state: str = "success") -> bool:
        """Run a sync and return whether it was incremental."""
        assert (await run_sync(api, incremental=True))["state"] == state
        return bool((await sync_status(api))["incremental"])

    assert not await sync_is_incremental()
    # The amended commit replaces the first one in the branch.
    (work_tree.folder / "a.json").write_text(dashboard("a", "A2"))
    work_tree.push(amend=True)
    assert not await sync_is_incremental()
    assert await titles(api) == {"a": "A2", "b": "B"}
    work_tree.commit({"a.json": "{", "b.json": dashboard("b", "B2")})
    assert await sync_is_incremental("error")
    work_tree.commit({"a.json": dashboard("a", "A2"), "b.json": dashboard("b", "B")})
    assert await sync_is_incremental()
    assert await titles(api) == {"a": "A2", "b": "B"}
    work_tree.commit({"b.json": dashboard("b", "B3")})
    assert await sync_is_incremental()
    _, team = await api("GET", f"{REPOSITORIES}/team")
    team["spec"]["title"] = "Renamed"
    assert (await api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    work_tree.commit({"b.json": dashboard("b", "B4")})
    assert not await sync_is_incremental()
    assert await titles(api) == {"a": "A2", "b": "B4"}


async def test_a_partly_stored_commit_is_undone_completely(api: Api, git_server: GitServer) -> None:
    """If the branch is reset to the commit before one that was stored only in part, the next sync restores the objects of that commit."""
    work_tree = git_server.create_repository("team.git")
    first = work_tree.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await create_repository(api, git_server)
    await run_sync(api)
    work_tree.commit({"a.json": "{", "b.json": dashboard("b", "B2")})
    assert (await run_sync(api, incremental=True))["state"] == "error"
    git.git(work_tree.folder, "push", "--quiet", "--force", "origin", f"{first}:refs/heads/main")
    assert (await run_sync(api, incremental=True))["state"] == "success"
    assert await titles(api) == {"a": "A", "b": "B"}


async def test_the_status_has_the_time_of_the_next_sync(api: Api, git_server: GitServer) -> None:
    """The status has the time of the next sync, which is the end of the last sync plus the interval. Without an interval it is absent."""
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(api, git_server)
    await run_sync(api)
    assert "scheduled" not in await sync_status(api)
    _, team = await api("GET", f"{REPOSITORIES}/team")
    team["spec"]["sync"]["intervalSeconds"] = 300
    assert (await api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    await run_sync(api)
    sync = await sync_status(api)
    assert sync["scheduled"] == sync["finished"] + 300_000

"""A repository is one directory of a branch; all other directories are neither read, listed nor changed."""

import json
from typing import Any

import pytest
from tests.contract.api.git.sync_environment import DASHBOARDS, REPOSITORIES, SyncEnvironment, dashboard, is_healthy, wait_until
from tests.servers.git import git

FILES = f"{REPOSITORIES}/team/files"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
#: Files outside of the repository's directory.
OUTSIDE = {"a.json": "{", "deploy/values.yaml": "x: [", "deploy/boards.json": "{", "boards/in/b.json": dashboard("b", "not this one")}
#: Files in the repository's directory.
INSIDE = {"deploy/boards/a.json": dashboard("a", "A"), "deploy/boards/in/b.json": dashboard("b", "B")}


@pytest.fixture
async def team(environment: SyncEnvironment) -> SyncEnvironment:
    """Return the environment after a sync of the directory ``deploy/boards`` with two dashboards. Most files outside are invalid."""
    environment.work_tree.commit({**OUTSIDE, **INSIDE})
    await environment.create_repository(path="/deploy/boards/")
    return environment


async def allow_writes(environment: SyncEnvironment) -> None:
    """Add the workflows ``write`` and ``branch`` to the repository, and sync it."""
    _, team = await environment.api("GET", f"{REPOSITORIES}/team")
    team["spec"]["workflows"] = ["write", "branch"]
    assert (await environment.api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    assert is_healthy(await environment.advance(0))


async def run_job(environment: SyncEnvironment, action: str, **options: Any) -> dict[str, Any]:
    """Run a job, wait until it has ended, and return its status."""
    status, created = await environment.api("POST", f"{REPOSITORIES}/team/jobs", {"action": action, action: options})
    assert status == 202, created
    await wait_until(environment.api.database, environment.is_at_rest)
    _, body = await environment.api("GET", f"{REPOSITORIES}/team/jobs/{created['metadata']['uid']}")
    return dict(body["status"])


async def stored_titles(environment: SyncEnvironment) -> dict[str, str]:
    """Return the titles of managed objects by their path."""
    rows = await environment.api.sql(
        "select json_object_agg(coalesce(source_path, ''), title)::text from resource where manager_id = 'team'"
    )
    return dict(json.loads(rows))


def files_on_host(environment: SyncEnvironment, ref: str = "main") -> set[str]:
    """Return the paths of all files of a ref on the server."""
    return set(git(environment.server.root / "team.git", "ls-tree", "-r", "--name-only", ref).split())


async def count_jobs(environment: SyncEnvironment) -> int:
    """Return the number of all jobs."""
    return int(await environment.api.sql("select count(*) from job"))


async def test_only_the_directory_is_stored(team: SyncEnvironment) -> None:
    """Full and incremental syncs store the files of the directory by relative path, and report no file outside."""
    assert is_healthy(await team.status())
    assert await stored_titles(team) == {"": "Team", "a.json": "A", "in": "in", "in/b.json": "B"}
    _, repository = await team.api("GET", f"{REPOSITORIES}/team")
    assert repository["spec"]["githost"]["path"] == "deploy/boards"
    team.work_tree.commit(
        {"deploy/boards/a.json": None, "deploy/boards/c.json": dashboard("c", "C"), "c.json": "{", "deploy/in/b.json": "{"}
    )
    status = await team.advance()
    assert is_healthy(status)
    assert status["sync"]["incremental"]
    assert await stored_titles(team) == {"": "Team", "in": "in", "in/b.json": "B", "c.json": "C"}
    _, body = await team.api("GET", f"{DASHBOARDS}/b")
    assert body["metadata"]["annotations"]["grafana.app/sourcePath"] == "in/b.json"
    _, resources = await team.api("GET", f"{REPOSITORIES}/team/resources")
    assert {item["path"] for item in resources["items"] if item["resource"] == "dashboards"} == {"in/b.json", "c.json"}
    assert resources.get("quarantined", []) == []


async def test_a_commit_outside_of_the_directory_changes_nothing(team: SyncEnvironment) -> None:
    """A commit outside of the directory is recorded by one sync, which writes no object, and causes no further job."""
    newest_version = await team.api.sql("select max(resource_version) from resource where resource <> 'repositories'")
    newest = team.work_tree.commit({"a.json": "{{", "deploy/boards.json": None, "elsewhere/c.json": dashboard("c", "C")})
    status = await team.advance()
    assert is_healthy(status)
    assert status["sync"]["lastRef"] == newest
    assert status["sync"]["incremental"]
    before = await count_jobs(team)
    await team.advance(600)
    assert await count_jobs(team) == before
    assert await team.api.sql("select max(resource_version) from resource where resource <> 'repositories'") == newest_version


async def test_file_paths_are_relative_to_the_directory(team: SyncEnvironment) -> None:
    """The files API lists, reads, creates, moves and deletes by relative paths; links to the host have complete paths."""
    await allow_writes(team)
    url = team.server.url("team.git").removesuffix(".git")
    _, body = await team.api("GET", FILES)
    assert [item["path"] for item in body["items"]] == ["a.json", "in/b.json"]
    status, file = await team.api("POST", f"{FILES}/new/c.json", json.loads(dashboard("c", "C")))
    assert status == 200, file
    assert file["path"] == "new/c.json"
    assert file["urls"]["sourceURL"] == f"{url}/blob/main/deploy/boards/new/c.json"
    assert (await team.api("POST", f"{FILES}/far/b.json", params={"originalPath": "in/b.json"}))[0] == 200
    assert (await team.api("DELETE", f"{FILES}/a.json"))[0] == 200
    assert (await team.api("PUT", f"{FILES}/new/c.json", json.loads(dashboard("c", "Side")), params={"ref": "side"}))[0] == 200
    expected_paths = {"deploy/boards/far/b.json", "deploy/boards/new/c.json"}
    assert files_on_host(team) == files_on_host(team, "side") == OUTSIDE.keys() | expected_paths
    assert await stored_titles(team) == {"": "Team", "far": "far", "far/b.json": "B", "new": "new", "new/c.json": "C"}
    _, side_file = await team.api("GET", f"{FILES}/new/c.json", params={"ref": "side"})
    assert side_file["resource"]["file"]["spec"]["title"] == "Side"
    # A complete path, a path outside of the directory, and a path that leads out of it.
    for path in ("deploy/boards/new/c.json", "boards/in/b.json", "..%2Fboards.json"):
        assert (await team.api("GET", f"{FILES}/{path}"))[0] in (400, 404)
    sync = (await team.advance())["sync"]
    assert sync["state"] == "success"
    assert sync["lastRef"] == git(team.server.root / "team.git", "rev-parse", "main")


async def test_an_edit_changes_the_file_in_the_directory(team: SyncEnvironment) -> None:
    """An edit of an object is committed to its file in the directory and to no other file."""
    await allow_writes(team)
    _, body = await team.api("GET", f"{DASHBOARDS}/b")
    body["spec"]["title"] = "B2"
    status, body = await team.api("PUT", f"{DASHBOARDS}/b", body)
    assert status == 200, body
    assert body["metadata"]["annotations"]["grafana.app/sourcePath"] == "in/b.json"
    assert json.loads(git(team.server.root / "team.git", "show", "main:deploy/boards/in/b.json"))["title"] == "B2"
    assert files_on_host(team) == OUTSIDE.keys() | INSIDE.keys()


async def test_deleting_the_last_file_keeps_the_directory(team: SyncEnvironment) -> None:
    """After the last file is deleted, a ``.keep`` file keeps the directory, and the next sync succeeds."""
    await allow_writes(team)
    assert (await team.api("DELETE", f"{FILES}/in/"))[0] == 200
    assert (await team.api("DELETE", f"{FILES}/a.json"))[0] == 200
    assert files_on_host(team) == OUTSIDE.keys() | {"deploy/boards/.keep"}
    assert (await run_job(team, "sync"))["state"] == "success"
    assert await stored_titles(team) == {"": "Team"}


async def test_an_export_writes_into_the_directory(team: SyncEnvironment) -> None:
    """The prefix of an export is relative to the directory, and files outside of it do not conflict."""
    await allow_writes(team)
    # The title of the exported dashboard becomes the name of its file.
    assert (await team.api("POST", DASHBOARDS, {"metadata": {"name": "x"}, "spec": {"title": "values"}}))[0] == 201
    status = await run_job(team, "export", prefix="more", branch="exported")
    assert status["state"] == "success", status
    assert files_on_host(team, "exported") == OUTSIDE.keys() | INSIDE.keys() | {"deploy/boards/more/values.json"}


async def test_lint_reads_the_configuration_in_the_directory(team: SyncEnvironment) -> None:
    """Lint uses the ``.dashboard-lint`` of the directory and ignores that of the branch's root."""
    # A configuration that excludes the rule which the dashboard violates.
    lint_configuration = "exclusions:\n  uneditable-dashboard:\n"

    async def issues() -> set[str]:
        """Return the rules that the file ``a.json`` violates."""
        _, body = await team.api("GET", f"{FILES}/a.json")
        return {issue["rule"] for issue in body.get("lint", [])}

    team.work_tree.commit({".dashboard-lint": lint_configuration})
    assert "uneditable-dashboard" in await issues()
    team.work_tree.commit({"deploy/boards/.dashboard-lint": lint_configuration})
    assert "uneditable-dashboard" not in await issues()


async def test_the_history_is_that_of_the_directory(team: SyncEnvironment) -> None:
    """The history lists the commits that changed the directory, or a path in it."""
    first = (await team.status())["sync"]["lastRef"]
    team.work_tree.commit({"outside.txt": "1"})
    second = team.work_tree.commit({"deploy/boards/a.json": dashboard("a", "A2")})

    async def history(path: str = "") -> list[str]:
        """Return the commits that changed the directory, or a path in it."""
        _, body = await team.api("GET", f"{REPOSITORIES}/team/history{path}")
        return [item["ref"] for item in body["items"]]

    assert await history() == [second, first]
    assert await history("/a.json") == [second, first]
    assert await history("/in/") == [first]
    # The path is relative to the directory, in which no file or directory is named ``deploy``.
    assert (await team.api("GET", f"{REPOSITORIES}/team/history/deploy"))[0] == 404


async def test_a_changed_path_causes_a_full_sync(team: SyncEnvironment) -> None:
    """After a change of the path, an object whose name is in a file of the new directory keeps its uid. Other objects are deleted."""
    uid = await team.api.sql("select uid from resource where name = 'b'")
    await team.change(path="boards")
    status = await team.advance()
    assert is_healthy(status)
    assert not status["sync"]["incremental"]
    assert await stored_titles(team) == {"": "Team", "in": "in", "in/b.json": "not this one"}
    assert await team.api.sql("select uid from resource where name = 'b'") == uid
    # Without a path, the repository is the whole branch.
    await team.change(path="")
    await team.advance()
    assert {"deploy", "deploy/boards", "deploy/boards/a.json"} <= set(await stored_titles(team))
    await team.change(path="deploy/boards")
    assert is_healthy(await team.advance())
    assert await stored_titles(team) == {"": "Team", "a.json": "A", "in": "in", "in/b.json": "B"}
    assert await team.api.sql("select uid from resource where name = 'b'") == uid


@pytest.mark.parametrize("missing_path", ["moved", "mistyped"])
async def test_a_missing_directory_deletes_no_objects(team: SyncEnvironment, missing_path: str) -> None:
    """A moved or misspelt directory fails syncs, dry runs and file lists until it is corrected; the stored objects remain."""
    before = await stored_titles(team)
    if missing_path == "moved":
        git(team.work_tree.folder, "mv", "deploy/boards", "deploy/new")
        team.work_tree.push()
    else:
        await team.change(path="deploy/new")
    status = await team.advance()
    assert status["sync"]["state"] == "error"
    assert "correct the path in the spec" in status["sync"]["message"][0]
    _, plan = await team.api("POST", f"{REPOSITORIES}/team/sync", params={"dryRun": "All"})
    assert plan["errors"] == status["sync"]["message"]
    assert plan.get("items", []) == []
    assert (await team.api("GET", FILES))[0] == 409
    assert await stored_titles(team) == before
    await team.change(path="deploy/new" if missing_path == "moved" else "deploy/boards")
    assert is_healthy(await team.advance(600))
    assert await stored_titles(team) == before


async def test_a_directory_that_does_not_exist_yet_is_empty(environment: SyncEnvironment) -> None:
    """Before its directory exists, a repository is healthy and empty. If the directory keeps only a ``.keep`` file, it is empty again."""
    environment.work_tree.commit(dict(OUTSIDE))
    await environment.create_repository(path="deploy/boards")
    assert is_healthy(await environment.status())
    environment.work_tree.commit(dict(INSIDE))
    assert is_healthy(await environment.advance())
    assert await stored_titles(environment) == {"": "Team", "a.json": "A", "in": "in", "in/b.json": "B"}
    environment.work_tree.commit({**dict.fromkeys(INSIDE), "deploy/boards/.keep": ""})
    assert is_healthy(await environment.advance())
    assert await stored_titles(environment) == {"": "Team"}


async def test_a_rollback_restores_the_directory(team: SyncEnvironment) -> None:
    """A rollback restores the changed and the deleted dashboard of the directory."""
    team.work_tree.commit({"deploy/boards/a.json": dashboard("a", "A2"), "deploy/boards/in/b.json": None})
    assert is_healthy(await team.advance())
    assert (await team.api("POST", f"{REPOSITORIES}/team/rollback"))[0] == 202
    await wait_until(team.api.database, team.is_at_rest)
    assert await stored_titles(team) == {"": "Team", "a.json": "A", "in": "in", "in/b.json": "B"}

"""A repository that is one directory of a branch, beside files of others: what is outside is neither read, told nor touched."""

import json
from typing import Any

import pytest
from tests.contract.api.git.trial import DASHBOARDS, REPOSITORIES, Trial, dashboard, until, well
from tests.servers.git import git

FILES = f"{REPOSITORIES}/team/files"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
OUTSIDE = {"a.json": "{", "deploy/values.yaml": "x: [", "deploy/boards.json": "{", "boards/in/b.json": dashboard("b", "not this one")}
INSIDE = {"deploy/boards/a.json": dashboard("a", "A"), "deploy/boards/in/b.json": dashboard("b", "B")}


@pytest.fixture
async def team(trial: Trial) -> Trial:
    """Two dashboards in ``deploy/boards``, synced; what lies outside cannot be read."""
    trial.work.commit({**OUTSIDE, **INSIDE})
    await trial.make(path="/deploy/boards/")
    return trial


async def write_from_here(trial: Trial) -> None:
    _, team = await trial.api("GET", f"{REPOSITORIES}/team")
    team["spec"]["workflows"] = ["write", "branch"]
    assert (await trial.api("PUT", f"{REPOSITORIES}/team", team))[0] == 200
    assert well(await trial.later(0))


async def job(trial: Trial, action: str, **options: Any) -> dict[str, Any]:
    status, made = await trial.api("POST", f"{REPOSITORIES}/team/jobs", {"action": action, action: options})
    assert status == 202, made
    await until(trial.api.database, trial.is_at_rest)
    _, found = await trial.api("GET", f"{REPOSITORIES}/team/jobs/{made['metadata']['uid']}")
    return dict(found["status"])


async def stored(trial: Trial) -> dict[str, str]:
    """What is managed, by its path."""
    rows = await trial.api.sql("select json_object_agg(coalesce(source_path, ''), title)::text from resource where manager_id = 'team'")
    return dict(json.loads(rows))


def hosted(trial: Trial, ref: str = "main") -> set[str]:
    return set(git(trial.server.root / "team.git", "ls-tree", "-r", "--name-only", ref).split())


async def jobs(trial: Trial) -> int:
    return int(await trial.api.sql("select count(*) from job"))


async def test_only_the_directory_is_stored(team: Trial) -> None:
    """By its paths inside, whole and by difference; nothing outside is a bad file."""
    assert well(await team.status())
    assert await stored(team) == {"": "Team", "a.json": "A", "in": "in", "in/b.json": "B"}
    _, spec = await team.api("GET", f"{REPOSITORIES}/team")
    assert spec["spec"]["githost"]["path"] == "deploy/boards"
    team.work.commit({"deploy/boards/a.json": None, "deploy/boards/c.json": dashboard("c", "C"), "c.json": "{", "deploy/in/b.json": "{"})
    status = await team.later()
    assert (well(status), status["sync"]["incremental"]) == (True, True)
    assert await stored(team) == {"": "Team", "in": "in", "in/b.json": "B", "c.json": "C"}
    _, found = await team.api("GET", f"{DASHBOARDS}/b")
    assert found["metadata"]["annotations"]["grafana.app/sourcePath"] == "in/b.json"
    _, resources = await team.api("GET", f"{REPOSITORIES}/team/resources")
    assert {item["path"] for item in resources["items"] if item["resource"] == "dashboards"} == {"in/b.json", "c.json"}
    assert resources.get("quarantined", []) == []


async def test_a_commit_outside_changes_nothing(team: Trial) -> None:
    """It is looked at once, written off as stored, and no job is made for it again."""
    changes = await team.api.sql("select max(resource_version) from resource where resource <> 'repositories'")
    newest = team.work.commit({"a.json": "{{", "deploy/boards.json": None, "elsewhere/c.json": dashboard("c", "C")})
    status = await team.later()
    assert (well(status), status["sync"]["lastRef"], status["sync"]["incremental"]) == (True, newest, True)
    before = await jobs(team)
    await team.later(600)
    assert await jobs(team) == before
    assert await team.api.sql("select max(resource_version) from resource where resource <> 'repositories'") == changes


async def test_files_are_named_as_inside(team: Trial) -> None:
    """Listed, read, made, moved and removed, on the own branch and another; their addresses at the host are whole."""
    await write_from_here(team)
    url = team.server.url("team.git").removesuffix(".git")
    _, listed = await team.api("GET", FILES)
    assert [item["path"] for item in listed["items"]] == ["a.json", "in/b.json"]
    status, made = await team.api("POST", f"{FILES}/new/c.json", json.loads(dashboard("c", "C")))
    assert (status, made["path"], made["urls"]["sourceURL"]) == (200, "new/c.json", f"{url}/blob/main/deploy/boards/new/c.json"), made
    assert (await team.api("POST", f"{FILES}/far/b.json", params={"originalPath": "in/b.json"}))[0] == 200
    assert (await team.api("DELETE", f"{FILES}/a.json"))[0] == 200
    assert (await team.api("PUT", f"{FILES}/new/c.json", json.loads(dashboard("c", "Side")), params={"ref": "side"}))[0] == 200
    inside = {"deploy/boards/far/b.json", "deploy/boards/new/c.json"}
    assert hosted(team) == hosted(team, "side") == OUTSIDE.keys() | inside
    assert await stored(team) == {"": "Team", "far": "far", "far/b.json": "B", "new": "new", "new/c.json": "C"}
    _, side = await team.api("GET", f"{FILES}/new/c.json", params={"ref": "side"})
    assert side["resource"]["file"]["spec"]["title"] == "Side"
    for path in ("deploy/boards/new/c.json", "boards/in/b.json", "..%2Fboards.json"):
        assert (await team.api("GET", f"{FILES}/{path}"))[0] in (400, 404)
    sync = (await team.later())["sync"]
    assert (sync["state"], sync["lastRef"]) == ("success", git(team.server.root / "team.git", "rev-parse", "main"))


async def test_an_object_is_changed_by_its_file_inside(team: Trial) -> None:
    await write_from_here(team)
    _, found = await team.api("GET", f"{DASHBOARDS}/b")
    found["spec"]["title"] = "B2"
    status, found = await team.api("PUT", f"{DASHBOARDS}/b", found)
    assert (status, found["metadata"]["annotations"]["grafana.app/sourcePath"]) == (200, "in/b.json"), found
    assert json.loads(git(team.server.root / "team.git", "show", "main:deploy/boards/in/b.json"))["title"] == "B2"
    assert hosted(team) == OUTSIDE.keys() | INSIDE.keys()


async def test_the_last_file_leaves_the_directory(team: Trial) -> None:
    """Removed from here it is kept: a sync then finds it empty, as it is to be."""
    await write_from_here(team)
    assert (await team.api("DELETE", f"{FILES}/in/"))[0] == 200
    assert (await team.api("DELETE", f"{FILES}/a.json"))[0] == 200
    assert hosted(team) == OUTSIDE.keys() | {"deploy/boards/.keep"}
    assert (await job(team, "sync"))["state"] == "success"
    assert await stored(team) == {"": "Team"}


async def test_an_export_goes_into_the_directory(team: Trial) -> None:
    """Its prefix is one inside; what lies outside at the same path is in nobody's way."""
    await write_from_here(team)
    assert (await team.api("POST", DASHBOARDS, {"metadata": {"name": "x"}, "spec": {"title": "values"}}))[0] == 201
    status = await job(team, "export", prefix="more", branch="exported")
    assert status["state"] == "success", status
    assert hosted(team, "exported") == OUTSIDE.keys() | INSIDE.keys() | {"deploy/boards/more/values.json"}


async def test_the_rules_of_lint_lie_in_the_directory(team: Trial) -> None:
    """Those of the whole repository are those of somebody else."""
    waived = "exclusions:\n  uneditable-dashboard:\n"

    async def issues() -> set[str]:
        _, found = await team.api("GET", f"{FILES}/a.json")
        return {issue["rule"] for issue in found.get("lint", [])}

    team.work.commit({".dashboard-lint": waived})
    assert "uneditable-dashboard" in await issues()
    team.work.commit({"deploy/boards/.dashboard-lint": waived})
    assert "uneditable-dashboard" not in await issues()


async def test_the_history_is_that_of_the_directory(team: Trial) -> None:
    """And of a path inside."""
    first = (await team.status())["sync"]["lastRef"]
    team.work.commit({"outside.txt": "1"})
    second = team.work.commit({"deploy/boards/a.json": dashboard("a", "A2")})

    async def history(path: str = "") -> list[str]:
        _, found = await team.api("GET", f"{REPOSITORIES}/team/history{path}")
        return [item["ref"] for item in found["items"]]

    assert await history() == await history("/a.json") == [second, first]
    assert await history("/in/") == [first]
    assert (await team.api("GET", f"{REPOSITORIES}/team/history/deploy"))[0] == 404


async def test_another_path_makes_the_next_sync_a_whole_one(team: Trial) -> None:
    """What the files name stays the same object; what lay elsewhere goes, and comes back with the path."""
    uid = await team.api.sql("select uid from resource where name = 'b'")
    await team.change(path="boards")
    status = await team.later()
    assert (well(status), status["sync"]["incremental"]) == (True, False)
    assert await stored(team) == {"": "Team", "in": "in", "in/b.json": "not this one"}
    assert await team.api.sql("select uid from resource where name = 'b'") == uid
    await team.change(path="")
    await team.later()
    assert {"deploy", "deploy/boards", "deploy/boards/a.json"} <= set(await stored(team))
    await team.change(path="deploy/boards")
    assert well(await team.later())
    assert await stored(team) == {"": "Team", "a.json": "A", "in": "in", "in/b.json": "B"}
    assert await team.api.sql("select uid from resource where name = 'b'") == uid


@pytest.mark.parametrize("gone", ["moved", "mistyped"])
async def test_a_directory_that_is_gone_takes_nothing_along(team: Trial, gone: str) -> None:
    """Moved in the branch, or mistyped in the spec: what is stored stays, the sync, a plan and whoever looks are told, and it heals."""
    before = await stored(team)
    if gone == "moved":
        git(team.work.folder, "mv", "deploy/boards", "deploy/new")
        team.work.push()
    else:
        await team.change(path="deploy/new")
    status = await team.later()
    assert status["sync"]["state"] == "error"
    assert "spec.githost.path" in status["sync"]["message"][0]
    _, plan = await team.api("POST", f"{REPOSITORIES}/team/sync", params={"dryRun": "All"})
    assert (plan["errors"], plan.get("items", [])) == (status["sync"]["message"], [])
    assert (await team.api("GET", FILES))[0] == 409
    assert await stored(team) == before
    await team.change(path="deploy/new" if gone == "moved" else "deploy/boards")
    assert well(await team.later(600))
    assert await stored(team) == before


async def test_a_directory_that_is_not_there_yet_is_empty(trial: Trial) -> None:
    """Its files are stored when they come; with a file that keeps it, it may be empty again."""
    trial.work.commit(dict(OUTSIDE))
    await trial.make(path="deploy/boards")
    assert well(await trial.status())
    trial.work.commit(dict(INSIDE))
    assert well(await trial.later())
    assert await stored(trial) == {"": "Team", "a.json": "A", "in": "in", "in/b.json": "B"}
    trial.work.commit({**dict.fromkeys(INSIDE), "deploy/boards/.keep": ""})
    assert well(await trial.later())
    assert await stored(trial) == {"": "Team"}


async def test_what_was_synced_is_put_back_inside(team: Trial) -> None:
    """A rollback is one of the directory."""
    team.work.commit({"deploy/boards/a.json": dashboard("a", "A2"), "deploy/boards/in/b.json": None})
    assert well(await team.later())
    assert (await team.api("POST", f"{REPOSITORIES}/team/rollback"))[0] == 202
    await until(team.api.database, team.is_at_rest)
    assert await stored(team) == {"": "Team", "a.json": "A", "in": "in", "in/b.json": "B"}

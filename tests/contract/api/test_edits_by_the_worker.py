"""Managed objects that are edited directly: the file is written in the form it has, then the object is stored."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.calls import Calls
from tests.contract.api.conftest import Api
from tests.contract.api.test_files_changed_by_the_worker import Team, make, synced_team
from tests.contract.api.test_sync_from_git import DASHBOARDS, dashboard, synced
from tests.servers.git import GitServer, git

from dashwright.common.errors import AlreadyExists, BadRequest, Conflict, Unavailable
from dashwright.common.jobs.names import folder_name, object_name
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.adapters.store import StoredResources
from dashwright.jobs_worker.ports import Overtaken

TREE = {
    "classic.json": '{"uid": "classic", "zebra": 1.10, "title": "C", "id": 4, "panels": [{"b": 1, "a": 2}]}',
    "deep/named.yaml": "apiVersion: dashboard.grafana.app/v1beta1\nkind: Dashboard\n"
    "metadata:\n  name: named\nspec:\n  title: N\n  panels: []\n",
    "deep/unnamed.json": '{"title": "U", "panels": []}',
}
UNNAMED = object_name("team", "deep/unnamed.json")


@pytest.fixture
async def calls(broker: MemoryBroker) -> AsyncIterator[Calls]:
    async with Calls(broker, "team") as calls:
        yield calls


@pytest.fixture(params=["git", "local"])
async def team(request: pytest.FixtureRequest, git_api: Api, git_server: GitServer, tmp_path: Path) -> Team:
    return await synced_team(request.param, TREE, git_api, git_server, tmp_path / "team")


async def stored(team: Team, name: str) -> dict[str, Any]:
    status, found = await team.api("GET", f"{DASHBOARDS}/{name}")
    assert status == 200, found
    return dict(found)


async def source(team: Team, name: str) -> tuple[str, str]:
    """The path and checksum that are stored of an object."""
    notes = (await stored(team, name))["metadata"]["annotations"]
    return notes["grafana.app/sourcePath"], notes["grafana.app/sourceChecksum"]


async def edit(team: Team, calls: Calls, name: str, spec: dict[str, Any] | None, **options: Any) -> str:
    """Edits an object from the file that is stored of it; the commit."""
    notes = (await stored(team, name))["metadata"]["annotations"]
    path, checksum = await source(team, name)
    dry_run = options.pop("dry_run", False)
    wanted = {"version": "v1beta1", "name": name, "spec": json.dumps(spec), "folder": notes["grafana.app/folder"], **options}
    return (await calls.edited(path, checksum, None if spec is None else wanted, dry_run=dry_run)).ref


async def test_a_file_keeps_its_form(team: Team, calls: Calls) -> None:
    """Classic stays classic, a resource a resource, YAML YAML; what was not touched stands where it stood, digit by digit."""
    spec = {"title": "C2", "panels": [{"a": 2, "b": 1}], "zebra": 1.1, "new": True}
    await edited_once(team, calls, "classic", spec)
    after = '{"uid":"classic","zebra":1.10,"title":"C2","id":4,"panels":[{"b":1,"a":2}],"new":true}'
    assert "".join((team.read("classic.json") or "").split()) == after
    await edit(team, calls, "named", {"title": "N2", "panels": [], "tags": ["x"]}, labels={"team": "ours"})
    assert (team.read("deep/named.yaml") or "").strip() == TREE["deep/named.yaml"].replace("title: N", "title: N2").replace(
        "  name: named\n", "  name: named\n  labels:\n    team: ours\n"
    ).strip() + '\n  tags:\n  - x'  # fmt: skip
    await edit(team, calls, UNNAMED, {"title": "U2", "panels": []})
    assert json.loads(team.read("deep/unnamed.json") or "") == {"title": "U2", "panels": []}
    found = await stored(team, "named")
    assert (found["spec"]["title"], found["metadata"]["labels"]["team"]) == ("N2", "ours")
    assert found["metadata"]["annotations"]["grafana.app/updatedBy"] == "user:7"
    counted = await team.api.sql("select entries from repository_commit")
    assert (await synced(team.api))["state"] == "success"
    assert counted == await team.api.sql("select entries from repository_commit") == 4
    assert await team.stored() == {
        "": "Team", "classic.json": "C2", "deep": "deep", "deep/named.yaml": "N2", "deep/unnamed.json": "U2",
    }  # fmt: skip


async def edited_once(team: Team, calls: Calls, name: str, spec: dict[str, Any]) -> None:
    """A dry run changes nothing, the edit does, and the same edit again has nothing to do."""
    before = team.read("classic.json")
    assert await edit(team, calls, name, spec, dry_run=True) == ""
    assert team.read("classic.json") == before
    made = await edit(team, calls, name, spec)
    assert bool(made) == (team.work is not None)
    assert await edit(team, calls, name, spec) == ""


async def test_what_a_classic_file_cannot_hold_makes_it_a_resource(team: Team, calls: Calls) -> None:
    await edit(team, calls, "classic", {"title": "C", "panels": []}, annotations={"note": "mine"})
    held = json.loads(team.read("classic.json") or "")
    assert (held["kind"], held["metadata"]) == ("Dashboard", {"name": "classic", "annotations": {"note": "mine"}})
    assert (await stored(team, "classic"))["metadata"]["annotations"]["note"] == "mine"


async def test_an_object_moves_with_its_folder(team: Team, calls: Calls) -> None:
    """Its file goes to the directory of the new folder, and names the object where the path did; other folders are refused."""
    uid = (await stored(team, UNNAMED))["metadata"]["uid"]
    spec = {"title": "U", "panels": []}
    await edit(team, calls, UNNAMED, spec, folder="team")
    assert json.loads(team.read("unnamed.json") or "") == {**spec, "uid": UNNAMED}
    assert team.read("deep/unnamed.json") is None
    found = await stored(team, UNNAMED)
    assert (found["metadata"]["uid"], found["metadata"]["annotations"]["grafana.app/folder"]) == (uid, "team")
    await edit(team, calls, "classic", {"title": "C", "panels": []}, folder=folder_name("team", "deep/"))
    assert team.read("deep/classic.json") is not None
    for wrong in (None, "elsewhere"):
        with pytest.raises(BadRequest, match="moves only between"):
            await edit(team, calls, "classic", {"title": "C", "panels": []}, folder=wrong)
    await calls.changed("create", "classic.json", {"uid": "other", "title": "O", "panels": []})
    with pytest.raises(AlreadyExists):
        await edit(team, calls, "classic", {"title": "C", "panels": []}, folder="team")


async def test_a_version_tells_why_it_was_made(team: Team, calls: Calls) -> None:
    """As its commit does; where nobody said why, a version has no message, and a commit says what was done to which file."""

    def committed() -> str:
        if team.work is None:
            return ""
        git(team.work.folder, "fetch", "--quiet", "origin")
        return git(team.work.folder, "show", "--no-patch", "--format=%s", "origin/main")

    path, checksum = await source(team, "classic")
    spec = {"title": "C2", "panels": []}
    wanted = {"version": "v1beta1", "name": "classic", "spec": json.dumps(spec), "folder": "team"}
    await calls.edited(path, checksum, wanted, message="Because")
    commits = [committed()]
    await edit(team, calls, "classic", spec, folder=folder_name("team", "deep/"))
    commits.append(committed())
    await calls.changed("update", "deep/classic.json", {**spec, "uid": "classic", "title": "C3"}, message="By its file")
    status, found = await team.api("GET", f"{DASHBOARDS}/classic/versions")
    assert (status, [item.get("message", "") for item in found["items"]]) == (200, ["By its file", "", "Because", ""])
    assert commits == (["Because", "Move classic.json to deep/classic.json"] if team.work is not None else ["", ""])


async def test_an_object_is_removed_with_its_file(team: Team, calls: Calls) -> None:
    """Its directory stays, and so does its folder: whoever may remove a dashboard may not remove a folder, or the rules of access on it."""
    before = await team.api.sql("select uid::text from resource where source_path = 'deep'")
    await edit(team, calls, "named", None)
    assert team.read("deep/.keep") is None
    await edit(team, calls, UNNAMED, None)
    kept = {"": "Team", "classic.json": "C", "deep": "deep"}
    assert (team.read("deep/named.yaml"), team.read("deep/.keep"), await team.stored()) == (None, "", kept)
    counted = await team.api.sql("select entries from repository_commit")
    assert (await synced(team.api))["state"] == "success"
    assert counted == await team.api.sql("select entries from repository_commit")
    assert await team.stored() == kept
    assert await team.api.sql("select uid::text from resource where source_path = 'deep'") == before


async def test_the_last_object_that_leaves_a_directory_leaves_the_folder(team: Team, calls: Calls) -> None:
    """Unless something else holds it. A directory above goes on being held by those in it."""
    for name in ("named", UNNAMED):
        await edit(team, calls, name, (await stored(team, name))["spec"], folder="team")
    assert (team.read("deep/.keep"), team.read("named.yaml") is None, "deep" in await team.stored()) == ("", False, True)
    await edit(team, calls, "classic", (await stored(team, "classic"))["spec"], folder=folder_name("team", "deep/"))
    await edit(team, calls, "classic", None)
    assert (await synced(team.api))["state"] == "success"
    assert await team.stored() == {"": "Team", "deep": "deep", "named.yaml": "N", "unnamed.json": "U"}


async def test_a_file_that_has_changed_is_not_overwritten(team: Team, calls: Calls) -> None:
    """Nor is an object that could not be stored from its file written into it."""
    with pytest.raises(BadRequest, match="title cannot be empty"):
        await edit(team, calls, "classic", {"title": "", "panels": []})
    theirs = dashboard("classic", "Theirs")
    if team.work is not None:
        team.work.commit({"classic.json": theirs})
    else:
        (team.folder / "classic.json").write_text(theirs)
    with pytest.raises(Conflict, match="has changed in the repository"):
        await edit(team, calls, "classic", {"title": "Mine", "panels": []})
    assert team.read("classic.json") == theirs


@pytest.mark.parametrize("spec", [{"title": "Mine", "panels": []}, None], ids=["edit", "removal"])
async def test_a_file_that_has_gone_is_a_conflict(team: Team, calls: Calls, spec: dict[str, Any] | None) -> None:
    """Not something that is not found: the object is stored, and whoever removes it would take it for removed."""
    if team.work is not None:
        team.work.commit({"classic.json": None})
    else:
        (team.folder / "classic.json").unlink()
    with pytest.raises(Conflict, match=r"classic\.json is not in the repository any more: sync it"):
        await edit(team, calls, "classic", spec)


async def test_a_branch_that_moves_is_followed(
    git_api: Api, git_server: GitServer, calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it changes other files: the edit is made upon the newest commit, and neither change is lost."""
    work = git_server.make("team.git")
    work.commit(dict(TREE))
    team = await make(git_api, tmp_path, work, git_server.url("team.git"))
    await synced(git_api)
    commit = RepositoryCheckouts.commit

    async def overtaken(*arguments: Any, **options: Any) -> Any:
        monkeypatch.undo()
        work.commit({"theirs.json": dashboard("t", "T")})
        return await commit(*arguments, **options)

    monkeypatch.setattr(RepositoryCheckouts, "commit", overtaken)
    made = await edit(team, calls, "classic", {"title": "Mine", "panels": []})
    assert (team.read("theirs.json") is not None, "Mine" in (team.read("classic.json") or "")) == (True, True)
    assert git(work.folder, "rev-parse", "origin/main") == made
    assert (await synced(git_api))["state"] == "success"
    assert {"theirs.json": "T", "classic.json": "Mine"}.items() <= (await team.stored()).items()


async def test_an_edit_that_is_not_stored_is_no_conflict(team: Team, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is committed and not stored, since others store something all the time, is told as that: it is not to be made again."""

    async def overtaken(*_: Any, **__: Any) -> None:
        raise Overtaken("somebody else was faster")

    with monkeypatch.context() as patched:
        patched.setattr(StoredResources, "apply", overtaken)
        with pytest.raises(Unavailable, match="committed to the repository but not stored yet"):
            await edit(team, calls, "classic", {"title": "Mine", "panels": []})
    assert "Mine" in (team.read("classic.json") or "")
    assert (await synced(team.api))["state"] == "success"
    assert (await team.stored())["classic.json"] == "Mine"

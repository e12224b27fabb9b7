"""Direct edits of managed objects: the worker writes the file in its existing format, then stores the object."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.file_calls import Calls
from tests.contract.api.test_files_changed_by_the_worker import Team, create_repository, synced_team
from tests.contract.api.test_sync_from_git import DASHBOARDS, dashboard, run_sync
from tests.servers.git import GitServer, git

from dashwright.common.errors import AlreadyExists, BadRequest, Conflict, Unavailable
from dashwright.common.jobs.names import folder_name, object_name
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.adapters.store import DatabaseObjectStore
from dashwright.jobs_worker.ports import Overtaken

NAMED_YAML = """\
apiVersion: dashboard.grafana.app/v1beta1
kind: Dashboard
metadata:
  name: named
spec:
  title: N
  panels: []
"""
EDITED_YAML = """\
apiVersion: dashboard.grafana.app/v1beta1
kind: Dashboard
metadata:
  name: named
  labels:
    team: ours
spec:
  title: N2
  panels: []
  tags:
  - x
"""
#: The files of the repository: a classic dashboard with numbers and an order of keys to keep, a resource, and a dashboard without a name.
TREE = {
    "classic.json": '{"uid": "classic", "zebra": 1.10, "title": "C", "id": 4, "panels": [{"b": 1, "a": 2}]}',
    "deep/named.yaml": NAMED_YAML,
    "deep/unnamed.json": '{"title": "U", "panels": []}',
}
#: The name that a sync generates for the object of a file without a name.
UNNAMED = object_name("team", "deep/unnamed.json")


@pytest.fixture
async def calls(broker: MemoryBroker) -> AsyncIterator[Calls]:
    """Yield the calls about the files of the repository ``team``."""
    async with Calls(broker, "team") as calls:
        yield calls


@pytest.fixture(params=["git", "local"])
async def team(request: pytest.FixtureRequest, git_api: Api, git_server: GitServer, tmp_path: Path) -> Team:
    """Return a synced repository, once over git and once in a local directory."""
    return await synced_team(request.param, TREE, git_api, git_server, tmp_path / "team")


async def stored_dashboard(team: Team, name: str) -> dict[str, Any]:
    """Return a stored dashboard."""
    status, body = await team.api("GET", f"{DASHBOARDS}/{name}")
    assert status == 200, body
    return dict(body)


async def source_of(team: Team, name: str) -> tuple[str, str]:
    """Return path and checksum of the file that an object was stored from."""
    annotations = (await stored_dashboard(team, name))["metadata"]["annotations"]
    return annotations["grafana.app/sourcePath"], annotations["grafana.app/sourceChecksum"]


async def edit_object(team: Team, calls: Calls, name: str, spec: dict[str, Any] | None, **options: Any) -> str:
    """Edit an object through its file, or delete the object if ``spec`` is None. Return the commit, or an empty text without a commit."""
    annotations = (await stored_dashboard(team, name))["metadata"]["annotations"]
    path, checksum = await source_of(team, name)
    dry_run = options.pop("dry_run", False)
    edited = {"version": "v1beta1", "name": name, "spec": json.dumps(spec), "folder": annotations["grafana.app/folder"], **options}
    return (await calls.edit_object(path, checksum, None if spec is None else edited, dry_run=dry_run)).ref


async def test_an_edit_keeps_the_format_of_the_file(team: Team, calls: Calls) -> None:
    """An edit keeps the file's format (classic or resource, JSON or YAML), the order of its keys and the digits of unchanged numbers."""
    spec = {"title": "C2", "panels": [{"a": 2, "b": 1}], "zebra": 1.1, "new": True}
    await check_edit_of_classic_file(team, calls, spec)
    after = '{"uid":"classic","zebra":1.10,"title":"C2","id":4,"panels":[{"b":1,"a":2}],"new":true}'
    assert "".join((team.read("classic.json") or "").split()) == after
    await edit_object(team, calls, "named", {"title": "N2", "panels": [], "tags": ["x"]}, labels={"team": "ours"})
    assert (team.read("deep/named.yaml") or "").strip() == EDITED_YAML.strip()
    await edit_object(team, calls, UNNAMED, {"title": "U2", "panels": []})
    assert json.loads(team.read("deep/unnamed.json") or "") == {"title": "U2", "panels": []}
    dashboard = await stored_dashboard(team, "named")
    assert (dashboard["spec"]["title"], dashboard["metadata"]["labels"]["team"]) == ("N2", "ours")
    assert dashboard["metadata"]["annotations"]["grafana.app/updatedBy"] == "user:7"
    entry_count = await team.api.sql("select entries from repository_commit")
    assert (await run_sync(team.api))["state"] == "success"
    # The sync has the same entries as the edits: three files and a directory.
    assert entry_count == 4
    assert await team.api.sql("select entries from repository_commit") == 4
    assert await team.stored_titles() == {
        "": "Team", "classic.json": "C2", "deep": "deep", "deep/named.yaml": "N2", "deep/unnamed.json": "U2",
    }  # fmt: skip


async def check_edit_of_classic_file(team: Team, calls: Calls, spec: dict[str, Any]) -> None:
    """Check that a dry run changes nothing, that the edit is a commit, and that the repeated edit makes no commit."""
    before = team.read("classic.json")
    assert await edit_object(team, calls, "classic", spec, dry_run=True) == ""
    assert team.read("classic.json") == before
    commit = await edit_object(team, calls, "classic", spec)
    is_local = team.work_tree is None
    if is_local:
        assert commit == ""
    else:
        assert commit != ""
    assert await edit_object(team, calls, "classic", spec) == ""


async def test_an_annotation_turns_a_classic_file_into_a_resource(team: Team, calls: Calls) -> None:
    """A file in the classic form, which cannot have annotations, is rewritten as a resource when an annotation is added."""
    await edit_object(team, calls, "classic", {"title": "C", "panels": []}, annotations={"note": "mine"})
    file_content = json.loads(team.read("classic.json") or "")
    assert (file_content["kind"], file_content["metadata"]) == ("Dashboard", {"name": "classic", "annotations": {"note": "mine"}})
    assert (await stored_dashboard(team, "classic"))["metadata"]["annotations"]["note"] == "mine"


async def test_a_changed_folder_moves_the_file(team: Team, calls: Calls) -> None:
    """An edit of the folder moves the file to the folder's directory, and keeps the name of the object.

    A folder outside of the repository is rejected.
    """
    uid = (await stored_dashboard(team, UNNAMED))["metadata"]["uid"]
    spec = {"title": "U", "panels": []}
    await edit_object(team, calls, UNNAMED, spec, folder="team")
    assert json.loads(team.read("unnamed.json") or "") == {**spec, "uid": UNNAMED}
    assert team.read("deep/unnamed.json") is None
    dashboard = await stored_dashboard(team, UNNAMED)
    assert (dashboard["metadata"]["uid"], dashboard["metadata"]["annotations"]["grafana.app/folder"]) == (uid, "team")
    await edit_object(team, calls, "classic", {"title": "C", "panels": []}, folder=folder_name("team", "deep/"))
    assert team.read("deep/classic.json") is not None
    for wrong_folder in (None, "elsewhere"):
        with pytest.raises(BadRequest, match="moves only between"):
            await edit_object(team, calls, "classic", {"title": "C", "panels": []}, folder=wrong_folder)
    await calls.plan_and_change("create", "classic.json", {"uid": "other", "title": "O", "panels": []})
    with pytest.raises(AlreadyExists):
        await edit_object(team, calls, "classic", {"title": "C", "panels": []}, folder="team")


async def test_a_version_has_the_message_of_its_commit(team: Team, calls: Calls) -> None:
    """The message of an edit is the message of its commit and of the version.

    If an edit has no message, its commit has a generated message, and its version has none.
    """

    def last_commit_message() -> str:
        """Return the message of the newest commit on the server, or an empty text for a local repository."""
        if team.work_tree is None:
            return ""
        git(team.work_tree.folder, "fetch", "--quiet", "origin")
        return git(team.work_tree.folder, "show", "--no-patch", "--format=%s", "origin/main")

    path, checksum = await source_of(team, "classic")
    spec = {"title": "C2", "panels": []}
    body = {"version": "v1beta1", "name": "classic", "spec": json.dumps(spec), "folder": "team"}
    await calls.edit_object(path, checksum, body, message="Because")
    commits = [last_commit_message()]
    await edit_object(team, calls, "classic", spec, folder=folder_name("team", "deep/"))
    commits.append(last_commit_message())
    await calls.plan_and_change("update", "deep/classic.json", {**spec, "uid": "classic", "title": "C3"}, message="By its file")
    status, response = await team.api("GET", f"{DASHBOARDS}/classic/versions")
    assert (status, [item.get("message", "") for item in response["items"]]) == (200, ["By its file", "", "Because", ""])
    if team.work_tree is not None:
        assert commits == ["Because", "Move classic.json to deep/classic.json"]
    else:
        assert commits == ["", ""]


async def test_a_version_created_by_a_restore_names_the_restored_version(team: Team, calls: Calls) -> None:
    """A version of a managed dashboard that a restore created names the restored version, as for other dashboards."""
    path, checksum = await source_of(team, "classic")
    body = {"version": "v1beta1", "name": "classic", "spec": '{"title": "C2", "panels": []}', "folder": "team"}
    await calls.edit_object(path, checksum, body, message="Restored from version 1")
    status, response = await team.api("GET", "/api/dashboards/uid/classic/versions")
    assert (status, [(item["version"], item["restoredFrom"]) for item in response["versions"]]) == (200, [(2, 1), (1, 0)])


async def test_deleting_an_object_deletes_its_file(team: Team, calls: Calls) -> None:
    """Deleting the last object of a directory deletes its file.

    The directory and its folder are kept, because the access rules of the folder must not be lost.
    """
    before = await team.api.sql("select uid::text from resource where source_path = 'deep'")
    await edit_object(team, calls, "named", None)
    assert team.read("deep/.keep") is None
    await edit_object(team, calls, UNNAMED, None)
    remaining_titles = {"": "Team", "classic.json": "C", "deep": "deep"}
    assert team.read("deep/named.yaml") is None
    assert team.read("deep/.keep") == ""
    assert await team.stored_titles() == remaining_titles
    entry_count = await team.api.sql("select entries from repository_commit")
    assert (await run_sync(team.api))["state"] == "success"
    assert entry_count == await team.api.sql("select entries from repository_commit")
    assert await team.stored_titles() == remaining_titles
    assert await team.api.sql("select uid::text from resource where source_path = 'deep'") == before


async def test_moving_the_last_object_keeps_the_folder(team: Team, calls: Calls) -> None:
    """Moving the last object out of a directory keeps the directory with a ``.keep`` file, and the folder."""
    for name in ("named", UNNAMED):
        await edit_object(team, calls, name, (await stored_dashboard(team, name))["spec"], folder="team")
    assert team.read("deep/.keep") == ""
    assert team.read("named.yaml") is not None
    assert "deep" in await team.stored_titles()
    await edit_object(team, calls, "classic", (await stored_dashboard(team, "classic"))["spec"], folder=folder_name("team", "deep/"))
    await edit_object(team, calls, "classic", None)
    assert (await run_sync(team.api))["state"] == "success"
    assert await team.stored_titles() == {"": "Team", "deep": "deep", "named.yaml": "N", "unnamed.json": "U"}


async def test_a_file_that_has_changed_is_not_overwritten(team: Team, calls: Calls) -> None:
    """An edit of a file that has changed since the last sync conflicts, and an invalid edit writes no file."""
    with pytest.raises(BadRequest, match="title cannot be empty"):
        await edit_object(team, calls, "classic", {"title": "", "panels": []})
    pushed = dashboard("classic", "Theirs")
    if team.work_tree is not None:
        team.work_tree.commit({"classic.json": pushed})
    else:
        (team.folder / "classic.json").write_text(pushed)
    with pytest.raises(Conflict, match="has changed in the repository: sync the repository, then read"):
        await edit_object(team, calls, "classic", {"title": "Mine", "panels": []})
    assert team.read("classic.json") == pushed


@pytest.mark.parametrize("spec", [{"title": "Mine", "panels": []}, None], ids=["edit", "removal"])
async def test_an_edit_of_a_missing_file_conflicts(team: Team, calls: Calls, spec: dict[str, Any] | None) -> None:
    """Editing or deleting an object whose file is missing is a conflict that asks for a sync, not a 404."""
    if team.work_tree is not None:
        team.work_tree.commit({"classic.json": None})
    else:
        (team.folder / "classic.json").unlink()
    with pytest.raises(Conflict, match=r"classic\.json is not in the repository any more: sync the repository"):
        await edit_object(team, calls, "classic", spec)


async def test_a_concurrent_push_is_kept(
    git_api: Api, git_server: GitServer, calls: Calls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit is repeated on top of a concurrent push of another file, and both changes are kept."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit(dict(TREE))
    team = await create_repository(git_api, tmp_path, work_tree, git_server.url("team.git"))
    await run_sync(git_api)
    commit = RepositoryCheckouts.commit

    async def push_and_commit(*arguments: Any, **options: Any) -> Any:
        """Push another file once, before the commit of the edit is pushed."""
        monkeypatch.undo()
        work_tree.commit({"theirs.json": dashboard("t", "T")})
        return await commit(*arguments, **options)

    monkeypatch.setattr(RepositoryCheckouts, "commit", push_and_commit)
    edit_commit = await edit_object(team, calls, "classic", {"title": "Mine", "panels": []})
    assert team.read("theirs.json") is not None
    assert "Mine" in (team.read("classic.json") or "")
    assert git(work_tree.folder, "rev-parse", "origin/main") == edit_commit
    assert (await run_sync(git_api))["state"] == "success"
    assert {"theirs.json": "T", "classic.json": "Mine"}.items() <= (await team.stored_titles()).items()


async def test_a_committed_edit_that_is_not_stored_is_reported(team: Team, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an edit is committed but cannot be stored, the error says so, and a sync stores the edit."""

    async def fail(*_: Any, **__: Any) -> None:
        raise Overtaken("another writer was faster")

    with monkeypatch.context() as patched:
        patched.setattr(DatabaseObjectStore, "apply", fail)
        with pytest.raises(Unavailable, match="committed to the repository but not stored yet"):
            await edit_object(team, calls, "classic", {"title": "Mine", "panels": []})
    assert "Mine" in (team.read("classic.json") or "")
    assert (await run_sync(team.api))["state"] == "success"
    assert (await team.stored_titles())["classic.json"] == "Mine"

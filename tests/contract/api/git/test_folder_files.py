"""``_folder.json`` with a real git server: a folder has the name and title of its file after syncs, moves and requests."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.test_exports import Export, counts, export, list_files
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, dashboard, run_sync
from tests.servers.git import GitServer, WorkTree, git

__all__ = ["export"]

FILES = f"{REPOSITORIES}/team/files"
FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
StartRepository = Callable[..., Awaitable[WorkTree]]


@pytest.fixture
async def start_repository(git_api: Api, git_server: GitServer) -> StartRepository:
    """Return a function that creates a repository with files and syncs it."""

    async def start(files: dict[str, str | bytes | None]) -> WorkTree:
        """Create the repository ``team`` with files, sync it, and return its work tree."""
        work_tree = git_server.create_repository("team.git")
        work_tree.commit(files)
        spec = {"title": "Team", "type": "githost", "workflows": ["write"], "sync": {"enabled": True, "target": "instance"}}
        spec |= {"githost": {"url": git_server.url("team.git"), "branch": "main"}}
        assert (await git_api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201
        assert (await run_sync(git_api))["state"] == "success"
        return work_tree

    return start


def folder_file(name: str, title: str, **spec: str) -> str:
    """Return the file of a folder."""
    tree = {"kind": "Folder", "apiVersion": "folder.grafana.app/v1", "metadata": {"name": name}, "spec": {"title": title, **spec}}
    return json.dumps(tree, indent=2)


def content(server: GitServer, path: str) -> Any:
    """Return the parsed content of a file on the server."""
    return json.loads(git(server.root / "team.git", "show", f"main:{path}"))


async def folders(api: Api) -> dict[str, tuple[str, str, str]]:
    """Return path, title and parent of each folder by name."""
    _, body = await api("GET", FOLDERS)
    folders_by_name = {}
    for item in body["items"]:
        annotations = item["metadata"]["annotations"]
        folders_by_name[item["metadata"]["name"]] = (
            annotations.get("grafana.app/sourcePath", ""),
            item["spec"]["title"],
            annotations.get("grafana.app/folder", ""),
        )
    return folders_by_name


async def folder_of(api: Api, name: str) -> str:
    """Return the name of a dashboard's folder, or an empty string."""
    _, body = await api("GET", f"{DASHBOARDS}/{name}")
    return str(body["metadata"]["annotations"].get("grafana.app/folder", ""))


@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "full"])
async def test_a_moved_and_renamed_directory_keeps_its_folder_and_access_rules(
    git_api: Api, start_repository: StartRepository, *, incremental: bool
) -> None:
    """If one commit moves a directory, changes all its files and the title of its folder, a sync keeps the folder and its access rules."""
    work_tree = await start_repository(
        {"web/_folder.json": folder_file("team-web", "The Web", description="All"), "web/a.json": dashboard("a", "A")}
    )
    _, body = await git_api("GET", f"{FOLDERS}/team-web")
    assert body["spec"] == {"title": "The Web", "description": "All"}
    rules = [{"builtInRole": "Viewer", "permission": "Edit"}]
    assert (await git_api("POST", "/api/access-control/folders/team-web", {"permissions": rules}))[0] == 200
    rules_before = await git_api("GET", "/api/access-control/folders/team-web")
    work_tree.commit(
        {
            "web/_folder.json": None,
            "web/a.json": None,
            "all/site/_folder.json": folder_file("team-web", "Site"),
            "all/site/a.json": dashboard("a", "A2"),
        }
    )
    status = await run_sync(git_api, incremental=incremental)
    assert status["state"] == "success", status
    stored = await folders(git_api)
    path, title, _ = stored["team-web"]
    assert path == "all/site"
    assert title == "Site"
    # The second folder is that of the directory ``all``.
    assert len(stored) == 2
    assert await folder_of(git_api, "a") == "team-web"
    assert await git_api("GET", "/api/access-control/folders/team-web") == rules_before
    assert len(rules_before[1]) == 1


async def test_exchanged_names_exchange_the_folders(git_api: Api, start_repository: StartRepository) -> None:
    """If the folder files of a directory and of its subdirectory exchange their contents, an incremental sync exchanges the folders.

    An unchanged dashboard is then in the folder that its directory has now.
    """
    dashboards: dict[str, str | bytes | None] = {"a/1.json": dashboard("d1", "1"), "a/b/2.json": dashboard("d2", "2")}
    work_tree = await start_repository({"a/_folder.json": folder_file("x", "X"), "a/b/_folder.json": folder_file("y", "Y"), **dashboards})
    work_tree.commit({"a/_folder.json": folder_file("y", "Y"), "a/b/_folder.json": folder_file("x", "X")})
    assert (await run_sync(git_api, incremental=True))["state"] == "success"
    assert await folders(git_api) == {"y": ("a", "Y", ""), "x": ("a/b", "X", "y")}
    assert await folder_of(git_api, "d1") == "y"
    assert await folder_of(git_api, "d2") == "x"


async def test_a_file_without_effect_is_a_warning_until_it_is_corrected(git_api: Api, start_repository: StartRepository) -> None:
    """A folder file that is invalid, or names an unmanaged folder, is a warning of each sync until it is corrected.

    The unmanaged folder is unchanged.
    """
    assert (await git_api("POST", "/api/folders", {"uid": "theirs", "title": "Theirs"}))[0] == 200
    work_tree = await start_repository({"a.json": dashboard("a", "A")})
    work_tree.commit({"x/_folder.json": folder_file("theirs", "X"), "x/1.json": dashboard("d1", "1"), "y/_folder.json": "{"})
    status = await run_sync(git_api, incremental=True)
    (summary,) = (entry for entry in status["summary"] if entry["resource"] == "folders")
    assert status["state"] == "success"
    assert summary["create"] == 1
    assert summary["warning"] == len(summary["warnings"]) == 2
    assert await folder_of(git_api, "d1") not in ("", "theirs")
    assert (await folders(git_api))["theirs"] == ("", "Theirs", "")
    assert (await git_api("DELETE", "/api/folders/theirs"))[0] == 200
    work_tree.commit({"y/_folder.json": folder_file("why", "Y")})
    assert "warnings" not in (await run_sync(git_api, incremental=True))["summary"][-1]
    # Without the unmanaged folder, its name is free for the folder of the directory ``x``.
    assert await folder_of(git_api, "d1") == "theirs"
    assert (await folders(git_api))["why"] == ("y", "Y", "")


async def test_requests_write_the_files_of_folders(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """A created directory has a folder file. A request can change its title, move or delete it, but cannot change its name or break it."""
    await start_repository({"a.json": dashboard("a", "A")})
    status, response = await git_api("POST", f"{FILES}/deep/er/")
    assert status == 200, response
    assert response["resource"]["type"]["kind"] == "Folder"
    name = content(git_server, "deep/er/_folder.json")["metadata"]["name"]
    assert (await folders(git_api))[name][:2] == ("deep/er", "er")
    body = json.loads(folder_file(name, "Deeper", description="New"))
    status, response = await git_api("PUT", f"{FILES}/deep/er/_folder.json", body)
    assert status == 200, response
    assert response["resource"]["dryRun"]["metadata"]["name"] == name
    assert (await folders(git_api))[name][:2] == ("deep/er", "Deeper")
    assert content(git_server, "deep/er/_folder.json")["spec"] == {"title": "Deeper", "description": "New"}
    status, response = await git_api("GET", f"{FILES}/deep/er/_folder.json")
    assert status == 200, response
    assert response["resource"]["file"]["spec"]["title"] == "Deeper"
    assert "errors" not in response
    # Another name, a title of more than 5,000 characters, a name of more than 40 characters, a dashboard, and invalid JSON.
    invalid_files = [folder_file("other", "Deeper"), folder_file(name, "x" * 5001), folder_file("x" * 41, "T"), dashboard("b", "B"), "{"]
    commits = git(git_server.root / "team.git", "rev-list", "--count", "main")
    for text in invalid_files:
        assert (await git_api("PUT", f"{FILES}/deep/er/_folder.json", data=text.encode()))[0] in (400, 422), text
    assert git(git_server.root / "team.git", "rev-list", "--count", "main") == commits
    assert (await git_api("POST", f"{FILES}/else/", params={"originalPath": "deep/er/"}))[0] == 200
    assert (await folders(git_api))[name][:2] == ("else", "Deeper")
    assert (await git_api("DELETE", f"{FILES}/else/"))[0] == 200
    assert name not in await folders(git_api)


async def test_an_edited_dashboard_leaves_the_folder_as_it_is(
    git_api: Api, git_server: GitServer, start_repository: StartRepository
) -> None:
    """An edit and the deletion of a dashboard do not change the folder of its directory."""
    await start_repository({"web/_folder.json": folder_file("team-web", "The Web", description="All"), "web/a.json": dashboard("a", "A")})
    before = await git_api.sql("select generation from resource where name = 'team-web'")
    _, body = await git_api("GET", f"{DASHBOARDS}/a")
    body["spec"]["title"] = "A2"
    assert (await git_api("PUT", f"{DASHBOARDS}/a", body))[0] == 200
    assert content(git_server, "web/a.json")["title"] == "A2"
    assert (await git_api("DELETE", f"{DASHBOARDS}/a"))[0] == 200
    assert await git_api.sql("select generation from resource where name = 'team-web'") == before
    assert (await folders(git_api))["team-web"] == ("web", "The Web", "")


async def test_an_export_with_names_writes_the_files_of_folders(git_api: Api, git_server: GitServer, export: Export) -> None:
    """An export with names writes folder files with names, descriptions and titles, even titles that no directory can have.

    A later sync changes no folder, and a moved directory keeps its folder.
    """
    spec = {"title": "A/B: the Web", "description": "All of it"}
    assert (await git_api("POST", FOLDERS, {"metadata": {"name": "web"}, "spec": spec}))[0] == 201
    assert (await git_api("POST", "/api/folders", {"uid": "none", "title": "Empty"}))[0] == 200
    body = {"metadata": {"name": "a", "annotations": {"grafana.app/folder": "web"}}, "spec": {"title": "A", "panels": []}}
    assert (await git_api("POST", DASHBOARDS.replace("v2alpha1", "v0alpha1"), body))[0] == 201
    before = await folders(git_api)
    status = await export(identifier=True)
    assert status["state"] == "success", status
    assert counts(status, "folders") == {"create": 2}
    assert list_files(git_server) == ["A-B- the Web/_folder.json", "A-B- the Web/a.json", "Empty/_folder.json"]
    assert content(git_server, "A-B- the Web/_folder.json") == {
        "apiVersion": "folder.grafana.app/v1beta1",
        "kind": "Folder",
        "metadata": {"name": "web"},
        "spec": spec,
    }
    synced_status = await run_sync(git_api)
    assert synced_status["state"] == "success"
    assert counts(synced_status) == {"noop": 1}
    assert counts(synced_status, "folders") == {"noop": 2}
    after = await folders(git_api)
    assert {name: title for name, (_, title, _) in after.items()} == {name: title for name, (_, title, _) in before.items()}
    work_tree = WorkTree(git_server.root / "team.git.work")
    git(work_tree.folder, "pull", "--quiet", "origin", "main")
    git(work_tree.folder, "mv", "A-B- the Web", "web")
    work_tree.push()
    assert (await run_sync(git_api, incremental=True))["state"] == "success"
    assert (await folders(git_api))["web"] == ("web", "A/B: the Web", "")
    assert await folder_of(git_api, "a") == "web"


async def test_a_repeated_export_changes_only_files_of_its_own_folders(git_api: Api, git_server: GitServer, export: Export) -> None:
    """A repeated export updates the file of a changed folder. A folder file that names another folder is an error and is not changed."""
    for name in ("one", "two"):
        assert (await git_api("POST", "/api/folders", {"uid": name, "title": name}))[0] == 200
    assert counts(await export(branch="side", identifier=True), "folders") == {"create": 2}
    _, body = await git_api("GET", f"{FOLDERS}/one")
    body["spec"]["description"] = "New"
    assert (await git_api("PUT", f"{FOLDERS}/one", body))[0] == 200
    assert counts(await export(branch="side", identifier=True), "folders") == {"update": 1, "noop": 1}
    work_tree = WorkTree(git_server.root / "team.git.work")
    git(work_tree.folder, "fetch", "--quiet", "origin", "side:side")
    git(work_tree.folder, "checkout", "--quiet", "side")
    work_tree.commit({"two/_folder.json": folder_file("other", "Other")}, branch="side")
    status = await export(branch="side", identifier=True)
    assert status["state"] == "error"
    assert counts(status, "folders") == {"noop": 1, "error": 1}
    assert json.loads(git(git_server.root / "team.git", "show", "side:two/_folder.json"))["metadata"]["name"] == "other"

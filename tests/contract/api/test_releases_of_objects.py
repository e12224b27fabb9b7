"""Releases of managed objects. After an Admin has released an object, it can be edited, and syncs report its file as an error."""

from pathlib import Path
from typing import Any

from tests.contract.api.conftest import Api
from tests.contract.api.test_direct_edits import DASHBOARDS, create_managed_dashboard, patch
from tests.contract.api.test_files_changed_by_the_worker import create_repository
from tests.contract.api.test_sync_from_git import dashboard, run_sync
from tests.servers.git import GitServer

from dashwright.common.identity import Role

MANAGER = "grafana.app/managedBy"
#: A merge patch that removes the manager from an object.
RELEASE_PATCH = {"metadata": {"annotations": {MANAGER: None}}}


def manager_annotations(manifest: dict[str, Any]) -> set[str]:
    """Return the names of the annotations with the manager of an object and the path of its file."""
    return {key for key in manifest["metadata"]["annotations"] if "manage" in key or "source" in key}


async def test_an_admin_releases_an_object(api: Api) -> None:
    """A patch by an Admin removes the manager, and the object can then be changed and remains without a manager."""
    await create_managed_dashboard(api)
    status, body = await patch(api, "merge-patch+json", RELEASE_PATCH)
    assert (status, manager_annotations(body)) == (200, set()), body
    status, body = await patch(api, "merge-patch+json", {"spec": {"title": "Changed"}})
    assert (status, body["spec"]["title"], manager_annotations(body)) == (200, "Changed", set()), body


async def test_a_dry_run_releases_nothing(api: Api) -> None:
    """A dry run of a release keeps the manager."""
    await create_managed_dashboard(api)
    status, body = await patch(
        api, "json-patch+json", [{"op": "remove", "path": "/metadata/annotations/grafana.app~1managedBy"}], dryRun="All"
    )
    assert (status, manager_annotations(body)) == (200, set()), body
    assert manager_annotations((await api("GET", f"{DASHBOARDS}/d"))[1])


async def test_a_release_needs_the_right_to_change_repositories(api: Api) -> None:
    """A release needs the permission to change repositories. The permission to change the object does not suffice."""
    await create_managed_dashboard(api, "write")
    editor = await api.person("editor", Role.EDITOR)
    status, body = await patch(api, "merge-patch+json", RELEASE_PATCH, auth=editor)
    assert status == 403, body
    assert "repositories:write" in body["message"], body
    assert manager_annotations((await api("GET", f"{DASHBOARDS}/d"))[1])


async def test_a_replacement_without_the_annotation_releases_nothing(api: Api) -> None:
    """A replacement without the manager's annotation releases nothing, because manifests and tools omit unknown annotations."""
    manifest = await create_managed_dashboard(api)
    before = manager_annotations(manifest)
    manifest["metadata"]["annotations"] = {"grafana.app/folder": "f"}
    assert (await api("PUT", f"{DASHBOARDS}/d", manifest))[0] == 403
    assert manager_annotations((await api("GET", f"{DASHBOARDS}/d"))[1]) == before


async def test_a_managed_object_cannot_change_its_manager(api: Api) -> None:
    """A managed object must be released before it can have another manager."""
    await create_managed_dashboard(api, "write")
    for new_manager in ({MANAGER: "terraform", "grafana.app/managerId": "t"}, {"grafana.app/managerId": "other"}):
        status, body = await patch(api, "merge-patch+json", {"metadata": {"annotations": new_manager}})
        message = "Cannot change resource manager identity; remove the existing manager first, then add the new one"
        assert (status, body["message"]) == (403, message), body


async def test_a_folder_cannot_be_released(api: Api) -> None:
    """A managed folder cannot be released; it is deleted with its directory."""
    await create_managed_dashboard(api, "write")
    folder = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders/f"
    assert (await patch(api, "merge-patch+json", RELEASE_PATCH, path=folder))[0] == 403


async def test_the_next_sync_reports_the_file(git_api: Api, git_server: GitServer, tmp_path: Path) -> None:
    """The next sync reports the file of a released object as an error. The object is kept, even after its file is deleted."""
    work_tree = git_server.create_repository("team.git")
    work_tree.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    team = await create_repository(git_api, tmp_path / "team", work_tree, git_server.url("team.git"))
    assert (await run_sync(git_api))["state"] == "success"
    path = f"{DASHBOARDS}/a"
    assert (await patch(git_api, "merge-patch+json", {**RELEASE_PATCH, "spec": {"title": "Changed"}}, path=path))[0] == 200
    job_status = await run_sync(git_api)
    assert job_status["state"] == "error", job_status
    assert "resource 'a' already exists and is not managed" in str(job_status), job_status
    work_tree.commit({"a.json": None})
    assert (await run_sync(git_api))["state"] == "success"
    _, body = await git_api("GET", path)
    assert (body["spec"]["title"], manager_annotations(body)) == ("Changed", set())
    # The released dashboard has no path.
    assert set(await team.stored_titles()) == {"", "b.json"}

"""YAML files of several documents with a real git server: a change of one dashboard does not change the other documents."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.git.test_folder_files import start_repository
from tests.contract.api.test_sync_from_git import DASHBOARDS, REPOSITORIES, run_sync, titles
from tests.servers.git import GitServer, WorkTree, git

__all__ = ["start_repository"]

FILES = f"{REPOSITORIES}/team/files"
CLASSIC = DASHBOARDS.replace("v2alpha1", "v0alpha1")
StartRepository = Callable[..., Awaitable[WorkTree]]

FIRST_DOCUMENT = "# Dashboards of the team\nuid: a\ntitle: A   # without quotes\npanels: []\n"
SECOND_DOCUMENT = "apiVersion: dashboard.grafana.app/v1beta1\nkind: Dashboard\nmetadata: {name: b}\nspec: {title: B, panels: []}\n"
FOREIGN_DOCUMENT = "apiVersion: v1\nkind: Service # not ours\nmetadata: {name: s}\n"


def file_on_host(server: GitServer) -> str:
    """Return the content of the file ``all.yaml`` on the server."""
    return git(server.root / "team.git", "show", "main:all.yaml") + "\n"


async def read_object(api: Api, name: str) -> Any:
    """Return a dashboard in the classic version."""
    _, body = await api("GET", f"{CLASSIC}/{name}")
    return body


async def test_an_edit_changes_its_document_only(git_api: Api, git_server: GitServer, start_repository: StartRepository) -> None:
    """Two edits of a dashboard change its document only. The other dashboard keeps its generation."""
    await start_repository({"all.yaml": f"{FIRST_DOCUMENT}---\n{SECOND_DOCUMENT}---\n{FOREIGN_DOCUMENT}"})
    assert await titles(git_api) == {"a": "A", "b": "B"}
    edited, unchanged = await read_object(git_api, "b"), await read_object(git_api, "a")
    for title in ("B2", "B3"):
        edited["spec"]["title"] = title
        status, edited = await git_api("PUT", f"{CLASSIC}/b", edited)
        assert status == 200, edited
    document = "apiVersion: dashboard.grafana.app/v1beta1\nkind: Dashboard\nmetadata:\n  name: b\nspec:\n  title: B3\n  panels: []\n"
    assert file_on_host(git_server) == f"{FIRST_DOCUMENT}---\n{document}---\n{FOREIGN_DOCUMENT}"
    assert (await read_object(git_api, "a"))["metadata"]["generation"] == unchanged["metadata"]["generation"]
    assert (await run_sync(git_api))["message"] == "same commit as last time"


async def test_a_deleted_dashboard_removes_its_document_only(
    git_api: Api, git_server: GitServer, start_repository: StartRepository
) -> None:
    """Deleting a dashboard removes its document, and the commit message names it.

    The last dashboard of a file with other documents cannot be deleted by a request.
    """
    await start_repository({"all.yaml": f"{FIRST_DOCUMENT}---\n{SECOND_DOCUMENT}---\n{FOREIGN_DOCUMENT}"})
    assert (await git_api("DELETE", f"{CLASSIC}/a"))[0] == 200
    assert file_on_host(git_server) == f"---\n{SECOND_DOCUMENT}---\n{FOREIGN_DOCUMENT}"
    assert git(git_server.root / "team.git", "log", "-1", "--format=%s", "main") == "Delete a from all.yaml"
    assert await titles(git_api) == {"b": "B"}
    status, body = await git_api("DELETE", f"{CLASSIC}/b")
    assert status == 400
    assert "delete the file" in body["message"]
    assert await titles(git_api) == {"b": "B"}


async def test_documents_next_to_an_invalid_one_can_be_edited(
    git_api: Api, git_server: GitServer, start_repository: StartRepository
) -> None:
    """The valid documents can be edited, the invalid one remains an error, and a move of a document is refused."""
    work_tree = await start_repository(
        {"all.yaml": f"{FIRST_DOCUMENT}---\n{SECOND_DOCUMENT}", "web/c.yaml": "uid: c\ntitle: C\npanels: []\n"}
    )
    work_tree.commit({"all.yaml": f"{FIRST_DOCUMENT}---\n{SECOND_DOCUMENT.replace('title: B', 'title: 7')}"})
    assert (await run_sync(git_api, incremental=True))["state"] == "error"
    edited = await read_object(git_api, "a")
    assert (await git_api("PUT", f"{CLASSIC}/a", {**edited, "spec": {**edited["spec"], "title": "A2"}}))[0] == 200
    assert await titles(git_api) == {"a": "A2", "b": "B", "c": "C"}
    assert file_on_host(git_server).endswith(SECOND_DOCUMENT.replace("title: B", "title: 7"))
    moved = await read_object(git_api, "a")
    folder = await git_api.sql("select name from resource where resource = 'folders'")
    moved["metadata"]["annotations"]["grafana.app/folder"] = folder
    status, refusal = await git_api("PUT", f"{CLASSIC}/a", moved)
    assert status == 400
    assert "has several documents" in refusal["message"]


@pytest.mark.parametrize(
    ("text", "status"),
    [(f"{FIRST_DOCUMENT}---\n{SECOND_DOCUMENT}", 200), (f"{FIRST_DOCUMENT}---\nkind: Dashboard\n", 422)],
    ids=["valid", "second document is invalid"],
)
async def test_a_file_of_several_documents_is_written(
    git_api: Api, git_server: GitServer, start_repository: StartRepository, text: str, status: int
) -> None:
    """Each document is written and stored; if one is invalid, nothing is written."""
    await start_repository({"c.json": '{"uid": "c", "title": "C", "panels": []}'})
    response_status, response = await git_api("POST", f"{FILES}/all.yaml", data=text.encode())
    assert response_status == status, response
    if status == 200:
        assert "\n---\n" in file_on_host(git_server)
        assert await titles(git_api) == {"a": "A", "b": "B", "c": "C"}
        # The view of a file has its first document.
        _, view = await git_api("GET", f"{FILES}/all.yaml")
        assert view["resource"]["file"]["metadata"]["name"] == "a"
    else:
        assert response["message"].startswith("document 2 at line ")
        # The server has only the first commit.
        assert git(git_server.root / "team.git", "rev-list", "--count", "main") == "1"

"""Two repositories of an organization never share a file."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.repositories import REPOSITORIES

MERGE = {"Content-Type": "application/merge-patch+json"}


def repository(name: str, **source: str) -> dict[str, Any]:
    """Return a repository on a git host if a ``url`` is given, otherwise a local one."""
    block = {"type": "githost", "githost": source} if "url" in source else {"type": "local", "local": source}
    sync = {"enabled": False, "target": "folder"}
    return {"metadata": {"name": name}, "spec": {"title": name, "workflows": [], "sync": sync, **block}}


#: The files of a repository on a git host.
HOST = {"url": "https://git.example.org/team/boards", "branch": "main", "path": "deploy/boards"}


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        (HOST, HOST, "spec.githost"),
        (HOST, {**HOST, "url": "https://GIT.example.org/team/boards.git/"}, "spec.githost"),
        (HOST, {**HOST, "path": ""}, "spec.githost"),
        (HOST, {**HOST, "path": "deploy/boards/web"}, "spec.githost"),
        ({"path": "a/b"}, {"path": "a//b/"}, "spec.local.path"),
        ({"path": "a/b"}, {"path": "a"}, "spec.local.path"),
        (HOST, {**HOST, "branch": "next"}, None),
        (HOST, {**HOST, "path": "deploy/boards2"}, None),
        (HOST, {**HOST, "url": "https://git.example.org/team/boards2"}, None),
        ({"path": "a/b"}, {"path": "a/bc"}, None),
        ({"path": "a"}, HOST, None),
    ],
    ids=[
        "same",
        "other spelling of the URL",
        "above",
        "below",
        "other spelling of the path",
        "above a local path",
        "other branch",
        "common prefix",
        "common prefix of the URL",
        "common prefix of local paths",
        "local path and host",
    ],
)
async def test_files_belong_to_one_repository(api: Api, first: Any, second: Any, field: str | None) -> None:
    """A repository is refused if its directory equals, contains or is inside the first one's. The error names the first repository."""
    assert (await api("POST", REPOSITORIES, repository("first", **first)))[0] == 201
    status, response = await api("POST", REPOSITORIES, repository("second", **second))
    if field is None:
        assert status == 201, response
    else:
        assert (status, response["details"]["causes"][0]["field"]) == (422, field)
        assert 'the repository "first" already reads this' in response["message"]


async def test_a_repository_cannot_be_moved_to_files_of_another(api: Api) -> None:
    """A repository can be moved into the directory of another repository only after the other one is deleted. Its title can change."""
    for name, path in (("first", "a"), ("second", "b")):
        assert (await api("POST", REPOSITORIES, repository(name, path=path)))[0] == 201
    moved = {"spec": {"local": {"path": "a/c"}}}
    assert (await api("PATCH", f"{REPOSITORIES}/second", moved, headers=MERGE))[0] == 422
    assert (await api("PATCH", f"{REPOSITORIES}/second", {"spec": {"title": "S"}}, headers=MERGE))[0] == 200
    assert (await api("DELETE", f"{REPOSITORIES}/first"))[0] == 200
    assert (await api("PATCH", f"{REPOSITORIES}/second", moved, headers=MERGE))[0] == 200


async def test_synonyms_of_a_git_host_have_the_same_files(api: Api) -> None:
    """Repositories of one source conflict even if their types are different synonyms; the error names the sent field."""
    assert (await api("POST", REPOSITORIES, repository("first", **HOST)))[0] == 201
    second = repository("second", **HOST)
    second["spec"] |= {"type": "gitlab", "gitlab": second["spec"].pop("githost")}
    status, response = await api("POST", REPOSITORIES, second)
    assert (status, response["details"]["causes"][0]["field"]) == (422, "spec.gitlab")

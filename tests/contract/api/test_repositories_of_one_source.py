"""Two repositories of an organization have no file in common."""

from typing import Any

import pytest
from tests.contract.api.conftest import Api
from tests.contract.api.repositories import REPOSITORIES

MERGE = {"Content-Type": "application/merge-patch+json"}


def repository(name: str, **source: str) -> dict[str, Any]:
    """On a git host where a ``url`` is given, else a folder."""
    block = {"type": "githost", "githost": source} if "url" in source else {"type": "local", "local": source}
    sync = {"enabled": False, "target": "folder"}
    return {"metadata": {"name": name}, "spec": {"title": name, "workflows": [], "sync": sync, **block}}


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
)
async def test_files_belong_to_one_repository(api: Api, first: Any, second: Any, field: str | None) -> None:
    """The same directory, or one in the other, is refused with the name of the repository that has it."""
    assert (await api("POST", REPOSITORIES, repository("first", **first)))[0] == 201
    status, answer = await api("POST", REPOSITORIES, repository("second", **second))
    if field is None:
        assert status == 201, answer
    else:
        assert (status, answer["details"]["causes"][0]["field"]) == (422, field)
        assert 'the repository "first" already reads this' in answer["message"]


async def test_a_repository_is_not_moved_to_files_of_another(api: Api) -> None:
    """It may be changed otherwise, and moved there once the other one is gone."""
    for name, path in (("first", "a"), ("second", "b")):
        assert (await api("POST", REPOSITORIES, repository(name, path=path)))[0] == 201
    moved = {"spec": {"local": {"path": "a/c"}}}
    assert (await api("PATCH", f"{REPOSITORIES}/second", moved, headers=MERGE))[0] == 422
    assert (await api("PATCH", f"{REPOSITORIES}/second", {"spec": {"title": "S"}}, headers=MERGE))[0] == 200
    assert (await api("DELETE", f"{REPOSITORIES}/first"))[0] == 200
    assert (await api("PATCH", f"{REPOSITORIES}/second", moved, headers=MERGE))[0] == 200


async def test_synonyms_of_a_git_host_have_the_same_files(api: Api) -> None:
    """The type of the other repository makes no difference; the field is that of the block that was sent."""
    assert (await api("POST", REPOSITORIES, repository("first", **HOST)))[0] == 201
    second = repository("second", **HOST)
    second["spec"] |= {"type": "gitlab", "gitlab": second["spec"].pop("githost")}
    status, answer = await api("POST", REPOSITORIES, second)
    assert (status, answer["details"]["causes"][0]["field"]) == (422, "spec.gitlab")

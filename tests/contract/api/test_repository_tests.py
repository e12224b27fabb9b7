"""Whether a repository can be read is tried on request, stored or not, and nothing is kept of it."""

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, dashboard, repository
from tests.servers import git
from tests.servers.git import GitServer
from tests.signer import SIGNER

from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.models.repository_calls import TrialResponse

TOKEN = "a-token-of-the-host"
RESULTS = {"kind": "TestResults", "apiVersion": "provisioning.grafana.app/v0alpha1"}
GOOD = (200, {**RESULTS, "code": 200, "success": True, "errors": []})


def hosted(server: GitServer, **block: Any) -> dict[str, Any]:
    """A repository of the server's, without a name."""
    spec = {"title": "Team", "type": "githost", "workflows": [], "sync": {"enabled": False, "target": "folder"}}
    return {"spec": {**spec, "githost": {"url": server.url("team.git"), "branch": "main", **block}}}


def local(path: str) -> dict[str, Any]:
    spec = {"title": "Team", "type": "local", "workflows": [], "sync": {"enabled": False, "target": "folder"}}
    return {"spec": {**spec, "local": {"path": path}}}


async def refused(api: Api, body: Any, *, name: str = "new") -> tuple[int, list[tuple[str | None, str]]]:
    """The status, which the answer tells, too, and the fields and texts of the errors."""
    status, found = await api("POST", f"{REPOSITORIES}/{name}/test", body)
    assert (found["kind"], found["code"], found["success"]) == ("TestResults", status, False), found
    return status, [(error.get("field"), error["detail"]) for error in found["errors"]]


@pytest.mark.parametrize("body", [None, {}], ids=["nothing", "empty"])
async def test_the_stored_one(git_api: Api, git_server: GitServer, body: Any) -> None:
    """With the token that is stored; nothing of the repository changes."""
    git_server.token = TOKEN
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server, token=TOKEN)
    before = await git_api("GET", f"{REPOSITORIES}/team")
    assert await git_api("POST", f"{REPOSITORIES}/team/test", body) == GOOD
    git_server.token = "another"
    status, (error,) = await refused(git_api, body, name="team")
    assert (status, error[0]) == (400, "spec.githost.token")
    assert await git_api("GET", f"{REPOSITORIES}/team") == before


async def test_a_new_one(git_api: Api, git_server: GitServer) -> None:
    """Whatever its name, or without one; nothing is stored."""
    git_server.token = TOKEN
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    body = hosted(git_server, token=TOKEN)
    for metadata in ({}, {"name": "mine"}, {"name": "new"}):
        assert await git_api("POST", f"{REPOSITORIES}/new/test", {**body, "metadata": metadata}) == GOOD
    assert (await git_api("GET", REPOSITORIES))[1]["items"] == []


FAULTS: list[tuple[str, Callable[[GitServer], dict[str, Any]], str, str]] = [
    ("wrong token", lambda server: hosted(server, token="wrong"), "spec.githost.token", "the git host refuses the token"),
    ("no token", hosted, "spec.githost.token", "the host wants one"),
    ("no branch", lambda server: hosted(server, token=TOKEN, branch="none"), "spec.githost.branch", "branch not found: 'none'"),
    ("no repository", lambda server: hosted(server, token=TOKEN, url=server.url("none.git")), "spec.githost.url", "no repository"),
    ("nobody there", lambda server: hosted(server, url="http://127.0.0.1:1/team.git"), "spec.githost.url", "cannot be reached"),
    ("inner address", lambda server: hosted(server, url="https://10.0.0.1/team.git"), "spec.githost.url", "not public"),
    ("no folder", lambda server: local("none"), "spec.local.path", "directory not found"),
]


@pytest.mark.parametrize(("make", "field", "text"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
async def test_the_fault_names_the_field(
    git_api: Api, git_server: GitServer, make: Callable[[GitServer], dict[str, Any]], field: str, text: str
) -> None:
    """And says what is wrong with it."""
    git_server.token = TOKEN
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    status, errors = await refused(git_api, make(git_server))
    assert (status, [name for name, _ in errors]) == (400, [field])
    assert text in errors[0][1]
    assert TOKEN not in errors[0][1]


async def test_a_folder_and_an_empty_repository_are_readable(git_api: Api, git_server: GitServer) -> None:
    """There is nothing in them yet."""
    (git_api.data / "dashboards").mkdir()
    git_server.make("team.git")
    assert await git_api("POST", f"{REPOSITORIES}/new/test", local("dashboards")) == GOOD
    assert await git_api("POST", f"{REPOSITORIES}/new/test", hosted(git_server)) == GOOD


async def test_a_stored_token_goes_to_its_own_host_only(git_api: Api, git_server: GitServer) -> None:
    """A configuration without a token is tried with the stored one, but not at another host's address, and one of a new name with none."""
    git_server.token = TOKEN
    git_server.make("team.git").commit({"a.json": dashboard("a", "A")})
    await repository(git_api, git_server, token=TOKEN)
    assert await git_api("POST", f"{REPOSITORIES}/team/test", hosted(git_server)) == GOOD
    seen: list[str | None] = []

    async def note(request: web.Request) -> None:
        seen.append(request.headers.get("Authorization"))

    async with git.serving(git_server.root) as other:
        other.fault = git_server.fault = note
        assert await git_api("POST", f"{REPOSITORIES}/team/test", hosted(other)) == GOOD
        assert (await refused(git_api, hosted(git_server, branch="next")))[0] == 400
    assert (set(seen), len(seen) > 1) == ({None}, True)
    _, errors = await refused(git_api, hosted(git_server, encryptedToken="bWluZQ=="), name="team")
    assert [name for name, _ in errors] == ["spec.githost.encryptedToken"]


async def test_what_could_not_be_saved_is_not_tried(git_api: Api, git_server: GitServer) -> None:
    """422, with every fault: also of another type than the stored one's, and beside another one that targets the instance."""
    await repository(git_api, git_server)
    asked = len(git_server.requests)
    spec = hosted(git_server, url="ftp://x", branch="a..b")["spec"] | {"title": ""}
    status, errors = await refused(git_api, {"spec": spec})
    assert (status, sorted(str(name) for name, _ in errors)) == (422, ["spec.githost.branch", "spec.githost.url", "spec.title"])
    status, errors = await refused(git_api, local("x"), name="team")
    assert (status, [name for name, _ in errors]) == (422, ["spec.type"])
    status, errors = await refused(git_api, {"metadata": {"name": "job"}, **hosted(git_server)})
    assert (status, [name for name, _ in errors]) == (422, ["metadata.name"])
    whole = {**local("x")["spec"], "sync": {"enabled": False, "target": "instance"}}
    assert (await git_api("POST", REPOSITORIES, {"metadata": {"name": "whole"}, "spec": whole}))[0] == 201
    status, errors = await refused(git_api, {"spec": whole})
    assert (status, [name for name, _ in errors]) == (422, ["spec.sync.target"])
    assert len(git_server.requests) == asked


async def test_what_is_no_configuration(git_api: Api) -> None:
    """Other errors are those of every route: unknown names, bodies that are no Repository, callers who may not."""
    auth = await git_api.person("editor", Role.EDITOR)
    for name, body, expected in (
        ("none", {}, 404),
        ("none", local("x"), 404),
        ("new", {}, 404),
        ("new", [], 400),
        ("new", {"kind": "Job"}, 400),
    ):
        status, found = await git_api("POST", f"{REPOSITORIES}/{name}/test", body)
        assert (status, found["kind"]) == (expected, "Status"), found
    assert (await git_api("POST", f"{REPOSITORIES}/new/test", local("x"), auth=auth))[0] == 403


async def test_a_token_travels_sealed(api: Api, broker: MemoryBroker) -> None:
    """No request to the worker holds it."""
    asked: list[bytes] = []

    async def answer(request: Request) -> Reply:
        asked.append(request.body)
        return Reply(TrialResponse().to_json())

    worker = RpcServer(broker, broker.topology.repositories, answer, SIGNER, prefetch=1)
    await worker.start()
    body = hosted(GitServer(api.data), token=TOKEN)
    assert await api("POST", f"{REPOSITORIES}/new/test", body) == GOOD
    await worker.stop(drain=1)
    (request,) = asked
    assert (b"encryptedToken" in request, TOKEN.encode() in request) == (True, False)

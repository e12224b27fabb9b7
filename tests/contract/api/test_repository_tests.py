"""The endpoint that tests the configuration of a repository. The repository need not be stored, and a test writes nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api
from tests.contract.api.test_sync_from_git import REPOSITORIES, create_repository, dashboard
from tests.servers import git
from tests.servers.git import GitServer
from tests.signer import SIGNER

from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.models.repository_calls import TrialResponse

TOKEN = "a-token-of-the-host"
#: The beginning of every result of a test.
RESULTS = {"kind": "TestResults", "apiVersion": "provisioning.grafana.app/v0alpha1"}
SUCCESS = (200, {**RESULTS, "code": 200, "success": True, "errors": []})


def host_repository(server: GitServer, **block: Any) -> dict[str, Any]:
    """Return a repository on the git server without a name."""
    spec = {"title": "Team", "type": "githost", "workflows": [], "sync": {"enabled": False, "target": "folder"}}
    return {"spec": {**spec, "githost": {"url": server.url("team.git"), "branch": "main", **block}}}


def local_repository(path: str) -> dict[str, Any]:
    """Return a local repository without a name."""
    spec = {"title": "Team", "type": "local", "workflows": [], "sync": {"enabled": False, "target": "folder"}}
    return {"spec": {**spec, "local": {"path": path}}}


async def run_failing_test(api: Api, body: Any, *, name: str = "new") -> tuple[int, list[tuple[str | None, str]]]:
    """Return the status, which equals the body's code, and the fields and messages of the errors."""
    status, response = await api("POST", f"{REPOSITORIES}/{name}/test", body)
    assert (response["kind"], response["code"], response["success"]) == ("TestResults", status, False), response
    return status, [(error.get("field"), error["detail"]) for error in response["errors"]]


@pytest.mark.parametrize("body", [None, {}], ids=["nothing", "empty"])
async def test_a_stored_repository_is_tested_with_its_token(git_api: Api, git_server: GitServer, body: Any) -> None:
    """The test of a stored repository uses its stored token and changes nothing."""
    git_server.token = TOKEN
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server, token=TOKEN)
    before = await git_api("GET", f"{REPOSITORIES}/team")
    assert await git_api("POST", f"{REPOSITORIES}/team/test", body) == SUCCESS
    git_server.token = "another"
    status, ((field, _),) = await run_failing_test(git_api, body, name="team")
    assert (status, field) == (400, "spec.githost.token")
    assert await git_api("GET", f"{REPOSITORIES}/team") == before


async def test_a_new_repository_is_tested_without_being_stored(git_api: Api, git_server: GitServer) -> None:
    """A configuration with any name or none can be tested without being stored."""
    git_server.token = TOKEN
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    body = host_repository(git_server, token=TOKEN)
    for metadata in ({}, {"name": "mine"}, {"name": "new"}):
        assert await git_api("POST", f"{REPOSITORIES}/new/test", {**body, "metadata": metadata}) == SUCCESS
    assert (await git_api("GET", REPOSITORIES))[1]["items"] == []


@pytest.mark.parametrize(
    ("make_repository", "field", "message"),
    [
        (lambda server: host_repository(server, token="wrong"), "spec.githost.token", "the git host requires a valid token"),
        (host_repository, "spec.githost.token", "the git host requires a valid token"),
        (lambda server: host_repository(server, token=TOKEN, branch="none"), "spec.githost.branch", "branch not found: 'none'"),
        (lambda server: host_repository(server, token=TOKEN, url=server.url("none.git")), "spec.githost.url", "no repository"),
        (lambda server: host_repository(server, url="http://127.0.0.1:1/team.git"), "spec.githost.url", "cannot be reached"),
        (lambda server: host_repository(server, url="https://10.0.0.1/team.git"), "spec.githost.url", "not public"),
        (lambda server: local_repository("none"), "spec.local.path", "directory not found"),
    ],
    ids=["wrong token", "no token", "no branch", "no repository", "no server", "private address", "no folder"],
)
async def test_a_failure_names_the_field(
    git_api: Api, git_server: GitServer, make_repository: Callable[[GitServer], dict[str, Any]], field: str, message: str
) -> None:
    """A failure names the field and says what is wrong."""
    git_server.token = TOKEN
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    status, errors = await run_failing_test(git_api, make_repository(git_server))
    assert (status, [name for name, _ in errors]) == (400, [field])
    assert message in errors[0][1]
    assert TOKEN not in errors[0][1]


async def test_an_empty_repository_is_readable(git_api: Api, git_server: GitServer) -> None:
    """An empty folder and an empty git repository are successes."""
    (git_api.data / "dashboards").mkdir()
    git_server.create_repository("team.git")
    assert await git_api("POST", f"{REPOSITORIES}/new/test", local_repository("dashboards")) == SUCCESS
    assert await git_api("POST", f"{REPOSITORIES}/new/test", host_repository(git_server)) == SUCCESS


async def test_a_stored_token_is_sent_only_to_its_host(git_api: Api, git_server: GitServer) -> None:
    """A configuration without a token uses the stored one, unless its URL or its name differs."""
    git_server.token = TOKEN
    git_server.create_repository("team.git").commit({"a.json": dashboard("a", "A")})
    await create_repository(git_api, git_server, token=TOKEN)
    assert await git_api("POST", f"{REPOSITORIES}/team/test", host_repository(git_server)) == SUCCESS
    authorizations: list[str | None] = []

    async def record(request: web.Request) -> None:
        """Record the credentials of a request to a git server."""
        authorizations.append(request.headers.get("Authorization"))

    async with git.serving(git_server.root) as other_server:
        other_server.fault = git_server.fault = record
        assert await git_api("POST", f"{REPOSITORIES}/team/test", host_repository(other_server)) == SUCCESS
        assert (await run_failing_test(git_api, host_repository(git_server, branch="next")))[0] == 400
    # Both servers were called, and neither received the token.
    assert len(authorizations) > 1
    assert set(authorizations) == {None}
    _, errors = await run_failing_test(git_api, host_repository(git_server, encryptedToken="bWluZQ=="), name="team")
    assert [name for name, _ in errors] == ["spec.githost.encryptedToken"]


async def test_an_invalid_configuration_is_not_tested(git_api: Api, git_server: GitServer) -> None:
    """A configuration that could not be stored is 422 with every fault and is not tested."""
    await create_repository(git_api, git_server)
    request_count = len(git_server.requests)
    spec = host_repository(git_server, url="ftp://x", branch="a..b")["spec"] | {"title": ""}
    status, errors = await run_failing_test(git_api, {"spec": spec})
    assert (status, sorted(str(name) for name, _ in errors)) == (422, ["spec.githost.branch", "spec.githost.url", "spec.title"])
    status, errors = await run_failing_test(git_api, local_repository("x"), name="team")
    assert (status, [name for name, _ in errors]) == (422, ["spec.type"])
    # This name is reserved.
    status, errors = await run_failing_test(git_api, {"metadata": {"name": "job"}, **host_repository(git_server)})
    assert (status, [name for name, _ in errors]) == (422, ["metadata.name"])
    instance_spec = {**local_repository("x")["spec"], "sync": {"enabled": False, "target": "instance"}}
    assert (await git_api("POST", REPOSITORIES, {"metadata": {"name": "instance"}, "spec": instance_spec}))[0] == 201
    status, errors = await run_failing_test(git_api, {"spec": instance_spec})
    assert (status, [name for name, _ in errors]) == (422, ["spec.sync.target"])
    assert len(git_server.requests) == request_count


async def test_invalid_requests_for_a_test_are_rejected(git_api: Api) -> None:
    """Unknown names, invalid bodies and callers without permission are rejected as by every route."""
    auth = await git_api.person("editor", Role.EDITOR)
    for name, body, expected in (
        ("none", {}, 404),
        ("none", local_repository("x"), 404),
        ("new", {}, 404),
        ("new", [], 400),
        ("new", {"kind": "Job"}, 400),
    ):
        status, response = await git_api("POST", f"{REPOSITORIES}/{name}/test", body)
        assert (status, response["kind"]) == (expected, "Status"), response
    assert (await git_api("POST", f"{REPOSITORIES}/new/test", local_repository("x"), auth=auth))[0] == 403


async def test_a_token_is_encrypted_in_messages(api: Api, git_server: GitServer, broker: MemoryBroker) -> None:
    """No message to the worker contains the token's plaintext."""
    requests: list[bytes] = []

    async def respond(request: Request) -> Reply:
        """Record the request, and respond with a successful trial."""
        requests.append(request.body)
        return Reply(TrialResponse().to_json())

    worker = RpcServer(broker, broker.topology.repositories, respond, SIGNER, prefetch=1)
    await worker.start()
    body = host_repository(git_server, token=TOKEN)
    assert await api("POST", f"{REPOSITORIES}/new/test", body) == SUCCESS
    await worker.stop(drain=1)
    (request,) = requests
    assert b"encryptedToken" in request
    assert TOKEN.encode() not in request

"""The client of git hosts and the test host, checked against the official description of the API."""

from dataclasses import replace
from pathlib import Path

import aiohttp
import orjson
import pytest
from tests.integration.host.host_access import TOKEN, open_host_access
from tests.oracles.git_host.description import USED_CALLS, Description
from tests.servers.npm import packaged_file

from dashwright.jobs_worker.domain.hosting import CommitState, CommitStatus, HookSpec

pytestmark = pytest.mark.oracles

_INTEGRITY = "sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg=="


_HOOK = HookSpec("https://boards.example.org/hook", frozenset({"push", "pull_request"}), "a secret")


@pytest.fixture(scope="module")
def description() -> Description:
    """Return the description of GitHub's API."""
    return Description(orjson.loads(packaged_file("@octokit/openapi", "23.0.2", _INTEGRITY, "generated/api.github.com.json")))


async def test_every_call_is_as_described(tmp_path: Path, description: Description) -> None:
    """Every request of the client is allowed, and every response of the test host is as described; all calls are covered."""
    async with open_host_access(tmp_path, description) as host_access:
        host, repository = host_access.host, host_access.repository
        await host.pull_request(repository, host_access.number)
        assert await host.changed_files(repository, host_access.number)
        await host.comment(repository, host_access.number, "one")
        await host.comment(repository, host_access.number, "two")
        for state in CommitState:
            await host.set_commit_status(repository, CommitStatus(host_access.head, state, "description", "https://boards.example.org/p"))
        # Without a description and a link, the client leaves both out.
        await host.set_commit_status(repository, CommitStatus(host_access.head, CommitState.SUCCESS, "", ""))
        hook = await host.create_hook(repository, _HOOK)
        assert await host.update_hook(repository, hook.id, replace(_HOOK, events=frozenset({"push"}))) in await host.hooks(repository)
        await host.delete_hook(repository, hook.id)
        host_access.server.merge("team/boards", host_access.number)
        assert (await host.pull_request(repository, host_access.number)).is_merged
    assert description.requested_operations == USED_CALLS


async def test_an_undescribed_request_is_refused(tmp_path: Path, description: Description) -> None:
    """The test host refuses unknown paths, parameters, properties and values."""
    async with open_host_access(tmp_path, description) as host_access:
        for method, path, query, body in (
            ("GET", "/repos/team/boards/nothing", {}, None),
            ("GET", "/repos/team/boards/pulls/one", {}, None),
            ("GET", "/repos/team/boards/hooks", {"pages": "1"}, None),
            ("POST", "/repos/team/boards/hooks", {}, {"name": "web", "active": "yes"}),
            ("POST", "/repos/team/boards/issues/1/comments", {}, {"text": "text"}),
            ("POST", "/repos/team/boards/issues/1/comments", {}, {"body": "text", "mark": 1}),
            ("POST", f"/repos/team/boards/statuses/{host_access.head}", {}, {"state": "fine"}),
        ):
            assert description.fault_of_request(method, path, query, body), path
        # The server of the test host responds with 422 to a request that its description does not permit.
        address = f"{host_access.server.origin}/api/v3/repos/team/boards/statuses/{host_access.head}"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with aiohttp.ClientSession() as session, session.post(address, json={"state": "fine"}, headers=headers) as response:
            assert response.status == 422

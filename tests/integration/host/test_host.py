"""The interface ``Host`` of the jobs worker over the API of GitHub, whose repositories are real ones of git."""

import asyncio
import email.utils
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web
from tests.integration.host.host_access import TOKEN, HostAccess

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, Conflict, DashwrightError, Forbidden, NotFound, SourceFailed, TooManyRequests
from dashwright.common.host_resolver import HostResolver
from dashwright.common.secrets import SecretCipher
from dashwright.jobs_worker.adapters.host.client import HostClient
from dashwright.jobs_worker.adapters.host.host import RestHost
from dashwright.jobs_worker.domain.hosting import CommitState, CommitStatus, HookSpec

HOOK = HookSpec("https://boards.example.org/hook", frozenset({"push", "pull_request"}), "a secret")


class CountingBudget:
    """A budget that records and allows all requests. If it ``is_used_up``, it refuses them."""

    def __init__(self, *, is_used_up: bool = False) -> None:
        self.charges: list[tuple[str, str]] = []
        self.requested_delays: list[float | None] = []
        self._is_used_up = is_used_up

    async def charge(self, host: str, namespace: str, requests: int) -> None:
        """Record the organization and host of each request. Raises TooManyRequests if the budget is used up."""
        if self._is_used_up:
            raise TooManyRequests("used up", retry_after=9)
        self.charges += [(namespace, host)] * requests

    async def pause(self, host: str, namespace: str, retry_after: float | None) -> TooManyRequests:
        """Record the requested delay."""
        self.requested_delays.append(retry_after)
        return TooManyRequests("paused", retry_after=retry_after)


async def test_a_comment_is_created_once_and_then_changed(host_access: HostAccess) -> None:
    """A repository has one comment. Other comments are kept, even those that quote it, and those of other repositories."""
    comments = host_access.server.repositories["team/boards"].pulls[host_access.number].comments
    comments[1000] = "> <!-- dashwright:uid-of-boards -->\n> said before"
    first = await host_access.host.comment(host_access.repository, host_access.number, "one")
    assert await host_access.host.comment(host_access.repository, host_access.number, "two") == first
    await host_access.host.comment(replace(host_access.repository, uid="another"), host_access.number, "of another")
    texts = [body.partition("\n")[2] for body in comments.values()]
    assert texts == ["> said before", "two", "of another"]


async def test_a_comment_that_cannot_be_changed_is_kept(host_access: HostAccess) -> None:
    """If the host does not allow the change of a comment, the comment is kept, and a new one is created."""
    comments = host_access.server.repositories["team/boards"].pulls[host_access.number].comments
    comments[1000] = "<!-- dashwright:uid-of-boards -->\nof another account"

    async def refuse(request: web.Request) -> web.Response | None:
        return web.json_response({"message": "Must have admin rights"}, status=403) if request.path.endswith("/1000") else None

    host_access.server.api_fault = refuse
    await host_access.host.comment(host_access.repository, host_access.number, "first text")
    await host_access.host.comment(host_access.repository, host_access.number, "second text")
    assert [body.partition("\n")[2] for body in comments.values()] == ["of another account", "second text"]


async def test_a_commit_status_has_the_repositorys_name(host_access: HostAccess) -> None:
    """A commit status has the repository's name, and a description of at most 140 characters, which GitHub accepts."""
    await host_access.host.set_commit_status(
        host_access.repository, CommitStatus(host_access.head, CommitState.FAILURE, "x" * 200, "https://boards.example.org/p")
    )
    assert host_access.server.repositories["team/boards"].statuses == [
        (
            host_access.head,
            {
                "state": "failure",
                "description": "x" * 140,
                "context": "dashwright/boards",
                "target_url": "https://boards.example.org/p",
            },
        )
    ]


async def test_hooks_are_created_changed_listed_and_removed(host_access: HostAccess) -> None:
    hook = await host_access.host.create_hook(host_access.repository, HOOK)
    assert (hook.url, hook.events, hook.is_active) == (HOOK.url, HOOK.events, True)
    changed = await host_access.host.update_hook(host_access.repository, hook.id, replace(HOOK, events=frozenset({"push"})))
    assert await host_access.host.hooks(host_access.repository) == [changed]
    assert host_access.server.repositories["team/boards"].hooks[hook.id]["config"]["secret"] == HOOK.secret
    await host_access.host.delete_hook(host_access.repository, hook.id)
    assert await host_access.host.hooks(host_access.repository) == []
    with pytest.raises(NotFound):
        await host_access.host.delete_hook(host_access.repository, hook.id)


@pytest.mark.parametrize(
    ("status", "headers", "message", "expected"),
    [
        (401, {}, "Bad credentials", Forbidden),
        (403, {}, "Resource not accessible", Forbidden),
        (404, {}, "Not Found", NotFound),
        (410, {}, "Gone", NotFound),
        (409, {}, "Conflict", Conflict),
        (422, {}, "Validation Failed", BadRequest),
        (301, {"Location": "http://127.0.0.1:1/elsewhere"}, "Moved", BadRequest),
        (500, {}, "oops", SourceFailed),
        (503, {}, "oops", SourceFailed),
        (503, {"Retry-After": "7"}, "oops", TooManyRequests),
        (429, {"Retry-After": "7"}, "oops", TooManyRequests),
        (403, {"Retry-After": "7"}, "secondary", TooManyRequests),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}, "API rate limit exceeded", TooManyRequests),
        (403, {}, "You have exceeded a secondary rate limit", TooManyRequests),
    ],
)
async def test_error_responses_become_product_errors(
    host_access: HostAccess, status: int, headers: dict[str, str], message: str, expected: type
) -> None:
    """An error response becomes an error of the product after one request. No redirect is followed, and an echoed token is removed."""

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"message": f"{message} {TOKEN}"}, status=status, headers=headers)

    host_access.server.api_fault = refuse
    with pytest.raises(DashwrightError) as raised:
        await host_access.host.pull_request(host_access.repository, 1)
    assert type(raised.value) is expected
    assert TOKEN not in str(raised.value)
    assert len(host_access.server.calls) == 1
    if "Retry-After" in headers:
        assert raised.value.retry_after == 7


async def test_a_pause_until_a_date_is_reported(host_access: HostAccess) -> None:
    """A host may give the end of a pause as a date (RFC 9110, section 10.2.3)."""
    until = email.utils.format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({}, status=429, headers={"Retry-After": until})

    host_access.server.api_fault = refuse
    with pytest.raises(TooManyRequests) as raised:
        await host_access.host.pull_request(host_access.repository, 1)
    assert raised.value.retry_after is not None
    assert 3000 < raised.value.retry_after <= 3600


@pytest.mark.parametrize("body", ["", "null", "[]", "not JSON", '{"number": 1}', "[" * 100_000])
async def test_an_invalid_response_is_an_error_of_the_host(host_access: HostAccess, body: str) -> None:
    async def handle(_: web.Request) -> web.Response:
        return web.Response(text=body)

    host_access.server.api_fault = handle
    with pytest.raises(SourceFailed):
        await host_access.host.pull_request(host_access.repository, 1)
    # An empty list of webhooks is valid.
    if body != "[]":
        with pytest.raises(SourceFailed):
            await host_access.host.hooks(host_access.repository)


async def test_an_endless_response_is_cut_off(host_access: HostAccess) -> None:
    """An endless response is cut off at the limit, also if it is compressed."""

    async def handle(_: web.Request) -> web.Response:
        response = web.Response(text='"' + "x" * (5 << 20) + '"')
        response.enable_compression()
        return response

    host_access.server.api_fault = handle
    with pytest.raises(SourceFailed, match="more than"):
        await host_access.host.pull_request(host_access.repository, 1)


async def test_requests_are_counted_and_pauses_reported(host_access: HostAccess) -> None:
    """Each request is charged to the organization and the API's address, also the three that recognize the host.

    If the budget is used up, no request is sent. A pause that the host requests is reported to the budget.
    """
    resolver, budget = HostResolver(AllowedHosts.parse(["127.0.0.1"])), CountingBudget()
    cipher = SecretCipher.from_keys("a key of the test's own")
    client = HostClient(resolver, budget)
    await RestHost(client, cipher, {}).hooks(host_access.repository)
    assert budget.charges == [("default", f"127.0.0.1:{host_access.server.port}")] * 4

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({}, status=429, headers={"Retry-After": "11"})

    host_access.server.api_fault = refuse
    with pytest.raises(TooManyRequests, match="paused"):
        await RestHost(client, cipher, {}).hooks(host_access.repository)
    assert budget.requested_delays == [11]
    host_access.server.calls.clear()
    client_without_budget = HostClient(resolver, CountingBudget(is_used_up=True))
    with pytest.raises(TooManyRequests, match="used up"):
        await RestHost(client_without_budget, cipher, {}).hooks(host_access.repository)
    assert host_access.server.calls == []
    await client.close()


async def test_only_allowed_hosts_are_contacted(host_access: HostAccess) -> None:
    """The host of an API is checked like that of a repository."""
    client = HostClient(HostResolver(AllowedHosts.parse([]), "the repository's"))
    with pytest.raises(BadRequest, match="DASHWRIGHT_ALLOWED_HOSTS"):
        await RestHost(client, SecretCipher.from_keys("a key of the test's own"), {}).hooks(host_access.repository)
    assert host_access.server.calls == []


async def test_a_broken_or_unreachable_host_is_an_error(host_access: HostAccess) -> None:
    """A call of a broken or unreachable host fails within the client's time limit."""

    async def abort_connection(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    host_access.server.api_fault = abort_connection
    with pytest.raises(SourceFailed, match="closed the connection"):
        await host_access.host.create_hook(host_access.repository, HOOK)
    with pytest.raises(SourceFailed, match="cannot be reached"):
        await host_access.host.hooks(host_access.with_url("http://127.0.0.1:1/team/boards"))
    with pytest.raises(SourceFailed, match="probably serves plain HTTP: use http://"):
        await host_access.host.hooks(host_access.with_url(host_access.url.replace("http://", "https://")))
    assert len(host_access.server.calls) == 1


async def test_a_silent_host_times_out(host_access: HostAccess) -> None:
    """A request to a silent host times out and is not repeated, because its result is unknown."""
    released = asyncio.Event()

    async def wait(_: web.Request) -> web.Response:
        await released.wait()
        return web.Response()

    host_access.server.api_fault = wait
    client = HostClient(HostResolver(AllowedHosts.parse(["127.0.0.1"])), seconds=0.2)
    with pytest.raises(SourceFailed, match="did not respond in time"):
        await RestHost(client, SecretCipher.from_keys("a key of the test's own"), {}).create_hook(host_access.repository, HOOK)
    released.set()
    assert len(host_access.server.calls) == 1
    await client.close()


async def test_an_operator_configures_addresses_of_apis(host_access: HostAccess) -> None:
    """GIT_HOST_APIS names the API of each host, with an empty address for a host without one."""
    cipher, address = SecretCipher.from_keys("a key of the test's own"), f"127.0.0.1:{host_access.server.port}"
    host_with_address = RestHost(host_access.client, cipher, {"git.example.org": f"http://{address}/api/v3"})
    assert await host_with_address.hooks(host_access.with_url("https://git.example.org/team/boards.git")) == []
    with pytest.raises(BadRequest, match="DASHWRIGHT_GIT_HOST_APIS"):
        await RestHost(host_access.client, cipher, {address: ""}).hooks(host_access.repository)
    with pytest.raises(BadRequest, match="owner/name"):
        await host_access.host.hooks(host_access.with_url(f"http://{address}/team/sub/boards"))

"""The port ``Host`` over the API of a git host whose git is real."""

import asyncio
from dataclasses import replace

import pytest
from aiohttp import web
from tests.integration.host.host_access import TOKEN, HostAccess

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, Conflict, DashwrightError, Forbidden, NotFound, SourceFailed, TooManyRequests
from dashwright.common.reach import Reach
from dashwright.common.secrets import SecretBox
from dashwright.jobs_worker.adapters.host.client import HostClient
from dashwright.jobs_worker.adapters.host.host import RestHost
from dashwright.jobs_worker.domain.hosting import ChangedFile, CommitState, CommitStatus, FileStatus, HookSpec

HOOK = HookSpec("https://boards.example.org/hook", frozenset({"push", "pull_request"}), "a secret")


class Counted:
    """A budget that counts and allows everything. With ``spent`` it refuses."""

    def __init__(self, *, spent: bool = False) -> None:
        self.taken: list[tuple[str, str]] = []
        self.wishes: list[float | None] = []
        self._spent = spent

    async def take(self, host: str, namespace: str, requests: int) -> None:
        if self._spent:
            raise TooManyRequests("spent", retry_after=9)
        self.taken += [(namespace, host)] * requests

    async def pause(self, host: str, namespace: str, retry_after: float | None) -> TooManyRequests:
        self.wishes.append(retry_after)
        return TooManyRequests("paused", retry_after=retry_after)


async def test_a_pull_request_has_its_branches_and_commits(asked: HostAccess) -> None:
    """They are as the git of the host has them at this moment."""
    told = await asked.host.pull_request(asked.repository, asked.number)
    assert (told.number, told.base, told.head, told.head_commit) == (asked.number, "main", "change", asked.head)
    assert (told.is_open, told.is_merged, told.is_from_elsewhere, told.files) == (True, False, False, 4)
    asked.server.merge("team/boards", asked.number)
    merged = await asked.host.pull_request(asked.repository, asked.number)
    assert (merged.is_open, merged.is_merged, merged.base_commit) == (False, True, asked.head)


async def test_changed_files_have_their_type_of_change(asked: HostAccess) -> None:
    """A renamed file has its former path."""
    assert set(await asked.host.changed_files(asked.repository, asked.number)) == {
        ChangedFile("new.json", FileStatus.ADDED),
        ChangedFile("kept.json", FileStatus.MODIFIED),
        ChangedFile("gone.json", FileStatus.REMOVED),
        ChangedFile("new/moved.json", FileStatus.RENAMED, "old/moved.json"),
    }


async def test_files_are_read_page_by_page_up_to_a_thousand(asked: HostAccess) -> None:
    """The host's pages may be shorter than requested."""
    asked.server.page = 3
    assert len(await asked.host.changed_files(asked.repository, asked.number)) == 4
    asked.server.page = 100
    work = asked.server.make("team/many")
    work.commit({"one.json": "{}"})
    work.commit({f"{number:04}.json": "{}" for number in range(1100)}, branch="many")
    number = asked.server.open_pull("team/many", "many")
    many = await asked.host.changed_files(asked.at(asked.server.url("team/many.git")), number)
    assert [file.path for file in many] == [f"{number:04}.json" for number in range(1000)]


async def test_a_comment_is_created_once_and_then_changed(asked: HostAccess) -> None:
    """Comments of others are kept, also those that quote it; another repository has a comment of its own."""
    comments = asked.server.repositories["team/boards"].pulls[asked.number].comments
    comments[1000] = "> <!-- dashwright:uid-of-boards -->\n> said before"
    first = await asked.host.comment(asked.repository, asked.number, "one")
    assert await asked.host.comment(asked.repository, asked.number, "two") == first
    await asked.host.comment(replace(asked.repository, uid="another"), asked.number, "of another")
    said = [body.partition("\n")[2] for body in comments.values()]
    assert said == ["> said before", "two", "of another"]


async def test_a_comment_of_another_account_with_our_mark_is_not_in_the_way(asked: HostAccess) -> None:
    """A comment that the host does not allow to change is left, and a new one created."""
    comments = asked.server.repositories["team/boards"].pulls[asked.number].comments
    comments[1000] = "<!-- dashwright:uid-of-boards -->\nmine"

    async def refuse(request: web.Request) -> web.Response | None:
        return web.json_response({"message": "Must have admin rights"}, status=403) if request.path.endswith("/1000") else None

    asked.server.api_fault = refuse
    await asked.host.comment(asked.repository, asked.number, "ours")
    await asked.host.comment(asked.repository, asked.number, "ours again")
    assert [body.partition("\n")[2] for body in comments.values()] == ["mine", "ours again"]


async def test_a_commit_status_has_the_repositorys_name(asked: HostAccess) -> None:
    """Its text is cut to the length that hosts accept."""
    await asked.host.set_commit_status(
        asked.repository, CommitStatus(asked.head, CommitState.FAILURE, "x" * 200, "https://boards.example.org/p")
    )
    assert asked.server.repositories["team/boards"].statuses == [
        (
            asked.head,
            {
                "state": "failure",
                "description": "x" * 140,
                "context": "dashwright/boards",
                "target_url": "https://boards.example.org/p",
            },
        )
    ]


async def test_hooks_are_created_changed_listed_and_removed(asked: HostAccess) -> None:
    hook = await asked.host.make_hook(asked.repository, HOOK)
    assert (hook.url, hook.events, hook.is_active) == (HOOK.url, HOOK.events, True)
    changed = await asked.host.change_hook(asked.repository, hook.id, replace(HOOK, events=frozenset({"push"})))
    assert await asked.host.hooks(asked.repository) == [changed]
    assert asked.server.repositories["team/boards"].hooks[hook.id]["config"]["secret"] == HOOK.secret
    await asked.host.remove_hook(asked.repository, hook.id)
    assert await asked.host.hooks(asked.repository) == []
    with pytest.raises(NotFound):
        await asked.host.remove_hook(asked.repository, hook.id)


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
async def test_refusals_become_product_errors(
    asked: HostAccess, status: int, headers: dict[str, str], message: str, expected: type
) -> None:
    """One request is made, no redirect followed, and an echoed token is hidden."""

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({"message": f"{message} {TOKEN}"}, status=status, headers=headers)

    asked.server.api_fault = refuse
    with pytest.raises(DashwrightError) as raised:
        await asked.host.pull_request(asked.repository, 1)
    assert type(raised.value) is expected
    assert TOKEN not in str(raised.value)
    assert len(asked.server.calls) == 1
    if "Retry-After" in headers:
        assert raised.value.retry_after == 7


@pytest.mark.parametrize("body", ["", "null", "[]", "not JSON", '{"number": 1}', "[" * 100_000])
async def test_an_invalid_response_is_an_error_of_the_host(asked: HostAccess, body: str) -> None:
    async def handle(_: web.Request) -> web.Response:
        return web.Response(text=body)

    asked.server.api_fault = handle
    with pytest.raises(SourceFailed):
        await asked.host.pull_request(asked.repository, 1)
    if body != "[]":
        with pytest.raises(SourceFailed):
            await asked.host.hooks(asked.repository)


async def test_an_endless_response_is_cut_off(asked: HostAccess) -> None:
    """The limit also holds for compressed responses."""

    async def handle(_: web.Request) -> web.Response:
        response = web.Response(text='"' + "x" * (5 << 20) + '"')
        response.enable_compression()
        return response

    asked.server.api_fault = handle
    with pytest.raises(SourceFailed, match="more than"):
        await asked.host.pull_request(asked.repository, 1)


async def test_requests_are_counted_and_pauses_reported(asked: HostAccess) -> None:
    """Requests count for the organization and the API's address; if the budget refuses, none is sent."""
    reach, box, counted = Reach(AllowedHosts.of(["127.0.0.1"])), SecretBox.of("a key of the test's own"), Counted()
    client = HostClient(reach, counted)
    await RestHost(client, box, {}).hooks(asked.repository)
    assert counted.taken == [("default", f"127.0.0.1:{asked.server.port}")]

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response({}, status=429, headers={"Retry-After": "11"})

    asked.server.api_fault = refuse
    with pytest.raises(TooManyRequests, match="paused"):
        await RestHost(client, box, {}).hooks(asked.repository)
    assert counted.wishes == [11]
    asked.server.calls.clear()
    spent = HostClient(reach, Counted(spent=True))
    with pytest.raises(TooManyRequests, match="spent"):
        await RestHost(spent, box, {}).hooks(asked.repository)
    assert asked.server.calls == []
    await client.close()


async def test_only_allowed_hosts_are_contacted(asked: HostAccess) -> None:
    """The host of an API is checked like that of a repository."""
    client = HostClient(Reach(AllowedHosts.of([]), "the repository's"))
    with pytest.raises(BadRequest, match="DASHWRIGHT_ALLOWED_HOSTS"):
        await RestHost(client, SecretBox.of("a key of the test's own"), {}).hooks(asked.repository)
    assert asked.server.calls == []


async def test_a_broken_or_unreachable_host_is_an_error(asked: HostAccess) -> None:
    """It fails within the client's time limit."""

    async def break_off(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    asked.server.api_fault = break_off
    with pytest.raises(SourceFailed, match="closed the connection"):
        await asked.host.make_hook(asked.repository, HOOK)
    with pytest.raises(SourceFailed, match="cannot be reached"):
        await asked.host.hooks(asked.at("http://127.0.0.1:1/team/boards"))
    assert len(asked.server.calls) == 1


async def test_a_silent_host_times_out(asked: HostAccess) -> None:
    """No request is repeated: the result of the first is unknown."""
    answered = asyncio.Event()

    async def wait(_: web.Request) -> web.Response:
        await answered.wait()
        return web.Response()

    asked.server.api_fault = wait
    client = HostClient(Reach(AllowedHosts.of(["127.0.0.1"])), seconds=0.2)
    with pytest.raises(SourceFailed, match="did not respond in time"):
        await RestHost(client, SecretBox.of("a key of the test's own"), {}).make_hook(asked.repository, HOOK)
    answered.set()
    assert len(asked.server.calls) == 1
    await client.close()


async def test_an_operator_configures_addresses_of_apis(asked: HostAccess) -> None:
    box, place = SecretBox.of("a key of the test's own"), f"127.0.0.1:{asked.server.port}"
    elsewhere = RestHost(asked.client, box, {"git.example.org": f"http://{place}/api/v3"})
    assert await elsewhere.hooks(asked.at("https://git.example.org/team/boards.git")) == []
    with pytest.raises(BadRequest, match="DASHWRIGHT_GIT_HOST_APIS"):
        await RestHost(asked.client, box, {place: ""}).hooks(asked.repository)
    with pytest.raises(BadRequest, match="owner/name"):
        await asked.host.hooks(asked.at(f"http://{place}/team/sub/boards"))

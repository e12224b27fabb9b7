"""Failures of a git host: stored objects remain, the health of the repository has the reason, and syncs resume when the host works."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from tests.contract.api.git.sync_environment import MINUTE, SyncEnvironment, dashboard, is_healthy
from tests.servers.git import Fault, GitServer, git

TOKEN = "a-token-of-the-host"


def respond_with(status: int, text: str = "") -> Fault:
    """Return a fault that responds to every request with a status and a text."""

    async def respond(_: web.Request) -> web.StreamResponse:
        """Respond to every request with this status and this text."""
        return web.Response(status=status, text=text, content_type="text/html")

    return respond


async def hang_up(request: web.Request) -> web.StreamResponse | None:
    """Close the connection instead of responding."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def break_off_packfile(request: web.Request) -> web.StreamResponse | None:
    """Close the connection in the middle of the response to a fetch. Other requests have no fault."""
    if not request.path.endswith("git-upload-pack") or b"command=fetch" not in await request.read():
        return None
    response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-result", "Content-Length": "100000"})
    await response.prepare(request)
    await response.write(b"000dpackfile\n0011\x01PACK\x00\x00\x00\x02\x00\x00")
    assert request.transport is not None
    request.transport.abort()
    return response


#: A part of the health message, and the fault that causes it.
FAULTS: Sequence[tuple[str, Fault]] = [
    ("the git host responds with status 503", respond_with(503)),
    ("the git host refuses access (403)", respond_with(403)),
    ("there is no repository at this address", respond_with(404)),
    ("the server does not speak the git protocol", respond_with(200, "<html>Please log in</html>")),
    (
        "the server does not speak the git protocol",
        respond_with(200, "<html>\n<body>\tPlease log in here, and then you may go on</body></html>"),
    ),
    ("the git host closed the connection", hang_up),
    ("the git host closed the connection", break_off_packfile),
]


async def test_a_failing_host_is_reported_until_it_works(environment: SyncEnvironment) -> None:
    """While the host fails, the health message of the repository names the failure and objects remain. The next sync then succeeds."""
    environment.work_tree.commit({"a.json": dashboard("a", "0")})
    await environment.create_repository()
    for number, (message, fault) in enumerate(FAULTS, 1):
        environment.work_tree.commit({"a.json": dashboard("a", f"{number}")})
        environment.server.fault = fault
        for _ in range(2):  # A repeated failure is reported in the same way.
            status = await environment.advance()
            assert not status["health"]["healthy"], message
            assert message in status["health"]["message"][0]
            assert await environment.titles() == {"a": f"{number - 1}"}
        environment.server.fault = None
        # After failures, the next sync is due some minutes later.
        assert is_healthy(await environment.advance(5 * MINUTE)), message
        assert await environment.titles() == {"a": f"{number}"}


async def test_a_rate_limit_does_not_change_the_health(environment: SyncEnvironment) -> None:
    """After a response 429 the repository is still healthy and unchanged, and a later sync succeeds."""
    environment.work_tree.commit({"a.json": dashboard("a", "0")})
    await environment.create_repository()
    environment.work_tree.commit({"a.json": dashboard("a", "1")})
    environment.server.fault = respond_with(429)
    assert (await environment.advance())["health"]["healthy"]
    assert await environment.titles() == {"a": "0"}
    environment.server.fault = None
    assert is_healthy(await environment.advance(5 * MINUTE))
    assert await environment.titles() == {"a": "1"}


async def test_the_first_sync_waits_for_the_host(environment: SyncEnvironment) -> None:
    """If the host fails during the first sync, the health names the failure. The next sync succeeds when the host works."""
    environment.work_tree.commit({"a.json": dashboard("a", "A")})
    environment.server.fault = respond_with(502)
    await environment.create_repository()
    assert (await environment.status())["health"]["message"] == ["the git host responds with status 502"]
    environment.server.fault = None
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "A"}


async def test_a_silent_host_times_out(environment: SyncEnvironment) -> None:
    """A host that lists its refs and then sends nothing makes the sync fail after the timeout."""
    await environment.start(git_seconds=1)
    environment.work_tree.commit({"a.json": dashboard("a", "A")})
    await environment.create_repository()
    environment.work_tree.commit({"a.json": dashboard("a", "A2")})
    async with without_packfiles(environment.server):
        status = await environment.advance()
        (message,) = status["sync"]["message"]
        assert status["health"]["message"] == [message]
        assert message.startswith(
            "the git host did not complete its response within 1 s: sync again later, or raise DASHWRIGHT_GIT_SECONDS"
        )
        assert status["sync"]["state"] == "error"
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "A2"}


@asynccontextmanager
async def without_packfiles(server: GitServer) -> AsyncIterator[None]:
    """Hold the responses of the host to fetches while the block runs."""
    released = asyncio.Event()

    async def wait(request: web.Request) -> web.StreamResponse | None:
        """Hold the response to a fetch."""
        if request.path.endswith("git-upload-pack") and b"command=fetch" in await request.read():
            await released.wait()
        return None

    server.fault = wait
    try:
        yield
    finally:
        released.set()
        server.fault = None


async def test_failing_syncs_back_off(environment: SyncEnvironment) -> None:
    """While each sync fails, the pause between syncs doubles up to 15 minutes."""
    environment.work_tree.commit({"a.json": dashboard("a", "A")})
    environment.server.fault = break_off_packfile
    await environment.create_repository()
    minutes_of_syncs = []
    for minute in range(30):
        environment.server.requests.clear()
        await environment.advance()
        if environment.server.requests:
            minutes_of_syncs.append(minute)
    # The pauses are 2, 4, 8 and 15 minutes.
    assert minutes_of_syncs == [0, 2, 6, 14, 29]
    environment.server.fault = None
    assert is_healthy(await environment.advance(15 * MINUTE))


async def test_an_expired_token_is_reported_until_it_works(environment: SyncEnvironment) -> None:
    """A rejected token is reported until the spec has a token that the host accepts, or the host accepts the token of the spec again."""
    environment.server.token = TOKEN
    environment.work_tree.commit({"a.json": dashboard("a", "A")})
    await environment.create_repository(token=TOKEN)

    async def check_rejection(title: str) -> None:
        """Commit a title. Raises AssertionError unless it is not synced because the host rejects the token."""
        environment.work_tree.commit({"a.json": dashboard("a", title)})
        status = await environment.advance()
        assert status["health"]["message"] == ["the git host requires a valid token: it is missing, wrong or expired"]
        assert title not in (await environment.titles()).values()

    environment.server.token = "second-token"
    await check_rejection("new token in the spec")
    await environment.change(token="second-token")
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "new token in the spec"}
    environment.server.token = "third-token"
    await check_rejection("accepted again")
    environment.server.token = "second-token"
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "accepted again"}


async def test_a_deleted_branch_deletes_no_objects(environment: SyncEnvironment) -> None:
    """The objects of a deleted branch remain, whether or not other branches exist. Once the branch exists again, it is synced."""
    work_tree, bare = environment.work_tree, environment.server.root / "team.git"
    work_tree.commit({"a.json": dashboard("a", "A")})
    await environment.create_repository()
    messages = {False: "there are no commits at this address any more", True: "branch not found: 'main'; there is 'other'"}
    for has_other_branch, message in messages.items():
        git(bare, "update-ref", "-d", "refs/heads/main")
        if has_other_branch:
            work_tree.push(branch="other")
        for _ in range(2):  # A repeated failure is reported in the same way.
            status = await environment.advance()
            assert status["health"]["message"][0].startswith(message)
            assert list(await environment.titles()) == ["a"]
        work_tree.commit({"a.json": dashboard("a", message)})
        assert is_healthy(await environment.advance(5 * MINUTE))
        assert await environment.titles() == {"a": message}


async def test_a_missing_default_branch_is_an_error(environment: SyncEnvironment) -> None:
    """A missing default branch is an error that names the existing branches: the repository does not count as empty."""
    environment.work_tree.commit({"a.json": dashboard("a", "A")}, branch="trunk")
    await environment.create_repository(branch="")
    status = await environment.advance()
    assert status["health"]["message"] == ["the host's own branch does not exist: name another one as the branch; there is 'trunk'"]
    git(environment.server.root / "team.git", "symbolic-ref", "HEAD", "refs/heads/trunk")
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "A"}


async def test_an_empty_repository_waits_for_its_first_commit(environment: SyncEnvironment) -> None:
    """A repository without commits is healthy, and its first commit is synced."""
    await environment.create_repository()
    status = await environment.advance()
    assert is_healthy(status)
    assert "lastRef" not in status["sync"]
    first = environment.work_tree.commit({"a.json": dashboard("a", "A")})
    assert (await environment.advance())["sync"]["lastRef"] == first
    assert await environment.titles() == {"a": "A"}


async def test_rewritten_history_is_synced(environment: SyncEnvironment) -> None:
    """A sync follows a branch that was moved back to an older commit, and the branch of a repository that replaced the first one."""
    work_tree = environment.work_tree
    first = work_tree.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await environment.create_repository()
    work_tree.commit({"a.json": dashboard("a", "A2"), "b.json": None})
    await environment.advance()
    assert await environment.titles() == {"a": "A2"}
    git(work_tree.folder, "push", "--quiet", "--force", "origin", f"{first}:refs/heads/main")
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"a": "A", "b": "B"}
    # Another repository replaces the first one at its address.
    (environment.server.root / "team.git").rename(environment.server.root / "old.git")
    (environment.server.root / "team.git.work").rename(environment.server.root / "old.work")
    environment.server.create_repository("team.git").commit({"c.json": dashboard("c", "C"), "b.json": dashboard("b", "B3")})
    assert is_healthy(await environment.advance())
    assert await environment.titles() == {"b": "B3", "c": "C"}

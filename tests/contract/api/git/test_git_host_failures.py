"""A git host fails in various ways: the stored objects remain, the health says why, and syncs resume once the host works."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from tests.contract.api.git.trial import MINUTE, Trial, dashboard, is_well
from tests.servers.git import Fault, GitServer, git

TOKEN = "a-token-of-the-host"


def respond_with(status: int, text: str = "") -> Fault:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, content_type="text/html")

    return answer


async def hang_up(request: web.Request) -> web.StreamResponse | None:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def break_off_packfile(request: web.Request) -> web.StreamResponse | None:
    """Respond to the request for refs, and close the connection in the middle of the packfile."""
    if not request.path.endswith("git-upload-pack") or b"command=fetch" not in await request.read():
        return None
    response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-result", "Content-Length": "100000"})
    await response.prepare(request)
    await response.write(b"000dpackfile\n0011\x01PACK\x00\x00\x00\x02\x00\x00")
    assert request.transport is not None
    request.transport.abort()
    return response


FAULTS: Sequence[tuple[str, Fault]] = [
    ("the git host responds with status 503", respond_with(503)),
    ("the git host refuses access (403)", respond_with(403)),
    ("there is no repository at this address", respond_with(404)),
    ("there are no commits at this address any more", respond_with(200, "<html>Please log in</html>")),
    (
        "the server does not speak the git protocol",
        respond_with(200, "<html>\n<body>\tPlease log in here, and then you may go on</body></html>"),
    ),
    ("the git host closed the connection", hang_up),
    ("the git host closed the connection", break_off_packfile),
]


async def test_a_failing_host_is_reported_until_it_works(trial: Trial) -> None:
    """Each failure of the host is the health message of the repository, and the next sync after it succeeds."""
    trial.work.commit({"a.json": dashboard("a", "0")})
    await trial.make()
    for index, (message, fault) in enumerate(FAULTS):
        trial.work.commit({"a.json": dashboard("a", f"{index + 1}")})
        trial.server.fault = fault
        for _ in range(2):
            status = await trial.later()
            assert not status["health"]["healthy"], message
            assert message in status["health"]["message"][0]
            assert await trial.titles() == {"a": f"{index}"}
        trial.server.fault = None
        assert is_well(await trial.later(5 * MINUTE)), message
        assert await trial.titles() == {"a": f"{index + 1}"}


async def test_a_rate_limit_does_not_change_the_health(trial: Trial) -> None:
    """After a response 429 the repository is still healthy and unchanged, and a later sync succeeds."""
    trial.work.commit({"a.json": dashboard("a", "0")})
    await trial.make()
    trial.work.commit({"a.json": dashboard("a", "1")})
    trial.server.fault = respond_with(429)
    assert (await trial.later())["health"]["healthy"]
    assert await trial.titles() == {"a": "0"}
    trial.server.fault = None
    assert is_well(await trial.later(5 * MINUTE))
    assert await trial.titles() == {"a": "1"}


async def test_the_first_sync_waits_for_the_host(trial: Trial) -> None:
    """The first sync succeeds once the host responds."""
    trial.work.commit({"a.json": dashboard("a", "A")})
    trial.server.fault = respond_with(502)
    await trial.make()
    assert (await trial.status())["health"]["message"] == ["the git host responds with status 502"]
    trial.server.fault = None
    assert is_well(await trial.later())
    assert await trial.titles() == {"a": "A"}


async def test_a_silent_host_times_out(trial: Trial) -> None:
    """A host that lists its refs and then sends nothing makes the sync fail after the timeout."""
    await trial.start(git_seconds=1)
    trial.work.commit({"a.json": dashboard("a", "A")})
    await trial.make()
    trial.work.commit({"a.json": dashboard("a", "A2")})
    async with without_packfiles(trial.server):
        status = await trial.later()
        assert status["health"]["message"] == status["sync"]["message"] == ["the git host did not respond within 1 s"]
        assert status["sync"]["state"] == "error"
    assert is_well(await trial.later())
    assert await trial.titles() == {"a": "A2"}


@asynccontextmanager
async def without_packfiles(server: GitServer) -> AsyncIterator[None]:
    """Let the host send no packfiles while the block runs."""
    released = asyncio.Event()

    async def wait(request: web.Request) -> web.StreamResponse | None:
        if request.path.endswith("git-upload-pack") and b"command=fetch" in await request.read():
            await released.wait()
        return None

    server.fault = wait
    try:
        yield
    finally:
        released.set()
        server.fault = None


async def test_failing_syncs_back_off(trial: Trial) -> None:
    """While the probe succeeds and each sync fails, the pause between syncs grows up to 15 minutes."""
    trial.work.commit({"a.json": dashboard("a", "A")})
    trial.server.fault = break_off_packfile
    await trial.make()
    tries = []
    for minute in range(30):
        trial.server.requests.clear()
        await trial.later()
        if trial.server.requests:
            tries.append(minute)
    assert tries == [0, 2, 6, 14, 29]
    trial.server.fault = None
    assert is_well(await trial.later(15 * MINUTE))


async def test_an_expired_token_is_reported_until_it_works(trial: Trial) -> None:
    """A rejected token is reported until the spec has a valid one or the host accepts the old one."""
    trial.server.token = TOKEN
    trial.work.commit({"a.json": dashboard("a", "A")})
    await trial.make(token=TOKEN)
    for index, remedy in enumerate(("another", "the same")):
        trial.work.commit({"a.json": dashboard("a", remedy)})
        trial.server.token = f"new-{index}"
        status = await trial.later()
        assert status["health"]["message"] == ["the git host requires a valid token: it is missing, wrong or expired"]
        assert remedy not in (await trial.titles()).values()
        if remedy == "another":
            await trial.change(token=trial.server.token)
            assert is_well(await trial.later())
        else:
            trial.server.token = "new-0"
            assert is_well(await trial.later())
        assert await trial.titles() == {"a": remedy}


async def test_a_deleted_branch_deletes_no_objects(trial: Trial) -> None:
    """The objects of a deleted branch remain, whether or not other branches exist, and it is synced when it is back."""
    work, bare = trial.work, trial.server.root / "team.git"
    work.commit({"a.json": dashboard("a", "A")})
    await trial.make()
    for index, message in enumerate(("there are no commits at this address any more", "branch not found: 'main'; there is 'other'")):
        git(bare, "update-ref", "-d", "refs/heads/main")
        if index:
            work.push(branch="other")
        for _ in range(2):
            status = await trial.later()
            assert status["health"]["message"][0].startswith(message)
            assert list(await trial.titles()) == ["a"]
        work.commit({"a.json": dashboard("a", f"A{index}")})
        assert is_well(await trial.later(5 * MINUTE))
        assert await trial.titles() == {"a": f"A{index}"}


async def test_a_missing_default_branch_is_an_error(trial: Trial) -> None:
    """A repository whose default branch does not exist is an error that names the existing branches; it is not empty."""
    trial.work.commit({"a.json": dashboard("a", "A")}, branch="trunk")
    await trial.make(branch="")
    status = await trial.later()
    assert status["health"]["message"] == ["the host's own branch does not exist: name another one as the branch; there is 'trunk'"]
    git(trial.server.root / "team.git", "symbolic-ref", "HEAD", "refs/heads/trunk")
    assert is_well(await trial.later())
    assert await trial.titles() == {"a": "A"}


async def test_an_empty_repository_waits_for_its_first_commit(trial: Trial) -> None:
    """A repository without commits is healthy, and its first commit is synced."""
    await trial.make()
    status = await trial.later()
    assert is_well(status)
    assert "lastRef" not in status["sync"]
    first = trial.work.commit({"a.json": dashboard("a", "A")})
    assert (await trial.later())["sync"]["lastRef"] == first
    assert await trial.titles() == {"a": "A"}


async def test_rewritten_history_is_synced(trial: Trial) -> None:
    """A sync follows a branch that was moved back to an older commit, and one of another repository at the same address."""
    work = trial.work
    first = work.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await trial.make()
    work.commit({"a.json": dashboard("a", "A2"), "b.json": None})
    await trial.later()
    assert await trial.titles() == {"a": "A2"}
    git(work.folder, "push", "--quiet", "--force", "origin", f"{first}:refs/heads/main")
    assert is_well(await trial.later())
    assert await trial.titles() == {"a": "A", "b": "B"}
    (trial.server.root / "team.git").rename(trial.server.root / "old.git")
    (trial.server.root / "team.git.work").rename(trial.server.root / "old.work")
    trial.server.make("team.git").commit({"c.json": dashboard("c", "C"), "b.json": dashboard("b", "B3")})
    assert is_well(await trial.later())
    assert await trial.titles() == {"b": "B3", "c": "C"}

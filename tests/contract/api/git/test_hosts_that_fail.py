"""A git host that fails in any way: what is stored stays, the health says why, and all goes on by itself once the host does."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from aiohttp import web
from tests.contract.api.git.trial import MINUTE, Trial, dashboard, well
from tests.servers.git import Fault, GitServer, git

TOKEN = "a-token-of-the-host"


def answering(status: int, text: str = "") -> Fault:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, content_type="text/html")

    return answer


async def hang_up(request: web.Request) -> web.StreamResponse | None:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def break_the_pack(request: web.Request) -> web.StreamResponse | None:
    """Says what branches there are, and breaks off in the middle of their files."""
    if not request.path.endswith("git-upload-pack") or b"command=fetch" not in await request.read():
        return None
    response = web.StreamResponse(headers={"Content-Type": "application/x-git-upload-pack-result", "Content-Length": "100000"})
    await response.prepare(request)
    await response.write(b"000dpackfile\n0011\x01PACK\x00\x00\x00\x02\x00\x00")
    assert request.transport is not None
    request.transport.abort()
    return response


FAULTS: Sequence[tuple[str, Fault]] = [
    ("the git host responds with status 503", answering(503)),
    ("the git host refuses access (403)", answering(403)),
    ("there is no repository at this address", answering(404)),
    ("there are no commits at this address any more", answering(200, "<html>Please log in</html>")),
    (
        "the server does not speak the git protocol",
        answering(200, "<html>\n<body>\tPlease log in here, and then you may go on</body></html>"),
    ),
    ("the git host closed the connection", hang_up),
    ("the git host closed the connection", break_the_pack),
]


async def test_a_host_that_fails_is_told_and_heals(trial: Trial) -> None:
    trial.work.commit({"a.json": dashboard("a", "0")})
    await trial.make()
    for number, (said, fault) in enumerate(FAULTS):
        trial.work.commit({"a.json": dashboard("a", f"{number + 1}")})
        trial.server.fault = fault
        for _ in range(2):
            status = await trial.later()
            assert not status["health"]["healthy"], said
            assert said in status["health"]["message"][0]
            assert await trial.titles() == {"a": f"{number}"}
        trial.server.fault = None
        assert well(await trial.later(5 * MINUTE)), said
        assert await trial.titles() == {"a": f"{number + 1}"}


async def test_a_host_that_was_asked_too_often_is_not_sick(trial: Trial) -> None:
    """It is left alone for a while, and what is stored stays; then it is asked again."""
    trial.work.commit({"a.json": dashboard("a", "0")})
    await trial.make()
    trial.work.commit({"a.json": dashboard("a", "1")})
    trial.server.fault = answering(429)
    assert (await trial.later())["health"]["healthy"]
    assert await trial.titles() == {"a": "0"}
    trial.server.fault = None
    assert well(await trial.later(5 * MINUTE))
    assert await trial.titles() == {"a": "1"}


async def test_a_host_that_is_not_there_yet(trial: Trial) -> None:
    """The first sync waits for it."""
    trial.work.commit({"a.json": dashboard("a", "A")})
    trial.server.fault = answering(502)
    await trial.make()
    assert (await trial.status())["health"]["message"] == ["the git host responds with status 502"]
    trial.server.fault = None
    assert well(await trial.later())
    assert await trial.titles() == {"a": "A"}


async def test_a_silent_host_is_left_in_time(trial: Trial) -> None:
    """It says what branches there are, and then nothing."""
    await trial.start(git_seconds=1)
    trial.work.commit({"a.json": dashboard("a", "A")})
    await trial.make()
    trial.work.commit({"a.json": dashboard("a", "A2")})
    async with silent(trial.server):
        status = await trial.later()
        assert status["health"]["message"] == status["sync"]["message"] == ["the git host did not respond within 1 s"]
        assert status["sync"]["state"] == "error"
    assert well(await trial.later())
    assert await trial.titles() == {"a": "A2"}


@asynccontextmanager
async def silent(server: GitServer) -> AsyncIterator[None]:
    """The host sends no files as long as the block runs."""
    over = asyncio.Event()

    async def wait(request: web.Request) -> web.StreamResponse | None:
        if request.path.endswith("git-upload-pack") and b"command=fetch" in await request.read():
            await over.wait()
        return None

    server.fault = wait
    try:
        yield
    finally:
        over.set()
        server.fault = None


async def test_what_cannot_be_read_after_all_is_tried_less_and_less_often(trial: Trial) -> None:
    """Each look says that all is well, and each sync that it is not: the pause between them grows to a quarter of an hour."""
    trial.work.commit({"a.json": dashboard("a", "A")})
    trial.server.fault = break_the_pack
    await trial.make()
    tries = []
    for minute in range(30):
        trial.server.requests.clear()
        await trial.later()
        if trial.server.requests:
            tries.append(minute)
    assert tries == [0, 2, 6, 14, 29]
    trial.server.fault = None
    assert well(await trial.later(15 * MINUTE))


async def test_a_token_that_has_expired_is_told_until_there_is_another(trial: Trial) -> None:
    """Whether a new one in the spec, or the old one that works again."""
    trial.server.token = TOKEN
    trial.work.commit({"a.json": dashboard("a", "A")})
    await trial.make(token=TOKEN)
    for number, mend in enumerate(("another", "the same")):
        trial.work.commit({"a.json": dashboard("a", mend)})
        trial.server.token = f"new-{number}"
        status = await trial.later()
        assert status["health"]["message"] == ["the git host refuses the token: it is wrong, has expired, or the host wants one"]
        assert mend not in (await trial.titles()).values()
        if mend == "another":
            await trial.change(token=trial.server.token)
            assert well(await trial.later())
        else:
            trial.server.token = "new-0"
            assert well(await trial.later())
        assert await trial.titles() == {"a": mend}


async def test_a_branch_that_goes_takes_nothing_along(trial: Trial) -> None:
    """Whether others stay or not, and it is followed when it comes back, at whatever commit."""
    work, bare = trial.work, trial.server.root / "team.git"
    work.commit({"a.json": dashboard("a", "A")})
    await trial.make()
    for number, message in enumerate(("there are no commits at this address any more", "branch not found: 'main'; there is 'other'")):
        git(bare, "update-ref", "-d", "refs/heads/main")
        if number:
            work.push(branch="other")
        for _ in range(2):
            status = await trial.later()
            assert status["health"]["message"][0].startswith(message)
            assert list(await trial.titles()) == ["a"]
        work.commit({"a.json": dashboard("a", f"A{number}")})
        assert well(await trial.later(5 * MINUTE))
        assert await trial.titles() == {"a": f"A{number}"}


async def test_a_host_whose_own_branch_is_none_says_which_there_are(trial: Trial) -> None:
    """That is no empty repository."""
    trial.work.commit({"a.json": dashboard("a", "A")}, branch="trunk")
    await trial.make(branch="")
    status = await trial.later()
    assert status["health"]["message"] == ["the host's own branch does not exist: name another one as the branch; there is 'trunk'"]
    git(trial.server.root / "team.git", "symbolic-ref", "HEAD", "refs/heads/trunk")
    assert well(await trial.later())
    assert await trial.titles() == {"a": "A"}


async def test_an_empty_repository_waits_for_its_first_commit(trial: Trial) -> None:
    await trial.make()
    status = await trial.later()
    assert well(status)
    assert "lastRef" not in status["sync"]
    first = trial.work.commit({"a.json": dashboard("a", "A")})
    assert (await trial.later())["sync"]["lastRef"] == first
    assert await trial.titles() == {"a": "A"}


async def test_history_that_is_rewritten_is_followed(trial: Trial) -> None:
    """Also back to a commit that was synced before, and to another repository at the same address."""
    work = trial.work
    first = work.commit({"a.json": dashboard("a", "A"), "b.json": dashboard("b", "B")})
    await trial.make()
    work.commit({"a.json": dashboard("a", "A2"), "b.json": None})
    await trial.later()
    assert await trial.titles() == {"a": "A2"}
    git(work.folder, "push", "--quiet", "--force", "origin", f"{first}:refs/heads/main")
    assert well(await trial.later())
    assert await trial.titles() == {"a": "A", "b": "B"}
    (trial.server.root / "team.git").rename(trial.server.root / "old.git")
    (trial.server.root / "team.git.work").rename(trial.server.root / "old.work")
    trial.server.make("team.git").commit({"c.json": dashboard("c", "C"), "b.json": dashboard("b", "B3")})
    assert well(await trial.later())
    assert await trial.titles() == {"b": "B3", "c": "C"}

"""Start of a process before its dependencies: it waits for a time, and can be stopped while it waits."""

import asyncio

import pytest

from dashwright.common import process
from dashwright.common.errors import Unavailable


class Server:
    """A server that is unavailable for the first ``refusals`` attempts to start."""

    def __init__(self, refusals: int) -> None:
        self._refusals = refusals
        self.attempts = 0
        #: Set at each attempt.
        self.attempted = asyncio.Event()

    async def start(self) -> str:
        """Return a result, or raise Unavailable for the first attempts."""
        self.attempts += 1
        self.attempted.set()
        if self.attempts <= self._refusals:
            raise Unavailable("The server is away.")
        return "started"


async def test_unavailable_dependencies_are_retried() -> None:
    """A start is retried until an attempt succeeds."""
    server = Server(refusals=3)
    assert await process.start_with_retries("server", server.start, asyncio.Event(), pause_seconds=0) == "started"
    assert server.attempts == 4


async def test_the_wait_for_dependencies_is_limited() -> None:
    """A dependency that is unreachable beyond the limit stops the start with its own error."""
    with pytest.raises(Unavailable, match="The server is away"):
        # The second attempt would be after the limit.
        await process.start_with_retries("server", Server(refusals=1000).start, asyncio.Event(), timeout_seconds=1, pause_seconds=2)


async def test_a_signal_between_two_attempts_ends_the_start() -> None:
    """A signal stops a process immediately while it waits for the next attempt."""
    server, stopped = Server(refusals=1000), asyncio.Event()
    task = asyncio.create_task(process.start_with_retries("server", server.start, stopped, timeout_seconds=7200, pause_seconds=3600))
    await server.attempted.wait()
    stopped.set()
    with pytest.raises(process.StoppedBeforeStart):
        async with asyncio.timeout(5):
            await task
    assert server.attempts == 1


async def test_a_signal_during_an_attempt_ends_the_attempt() -> None:
    """An attempt that hangs is cancelled, and ends before the start ends."""
    has_begun = asyncio.Event()
    has_ended = asyncio.Event()
    stopped = asyncio.Event()

    async def hang() -> None:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            has_ended.set()

    task = asyncio.create_task(process.start_with_retries("server", hang, stopped))
    await has_begun.wait()
    stopped.set()
    with pytest.raises(process.StoppedBeforeStart):
        async with asyncio.timeout(5):
            await task
    assert has_ended.is_set()


async def test_a_started_connection_is_returned_despite_a_signal() -> None:
    """If a signal arrives during a successful attempt, the caller receives the result, so that it can close a connection."""
    stopped = asyncio.Event()

    async def start() -> str:
        stopped.set()
        return "started"

    assert await process.start_with_retries("server", start, stopped) == "started"


def test_a_start_that_was_stopped_is_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends with status 0, because it received a signal to stop."""
    monkeypatch.setattr("dashwright.common.observability.logging.configure", lambda *_args, **_options: None)

    async def main(_settings: object) -> None:
        raise process.StoppedBeforeStart

    assert process.run("test", main) == 0

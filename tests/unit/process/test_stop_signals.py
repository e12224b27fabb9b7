"""Effects of signals on a process."""

import asyncio
import signal
from typing import Any

import pytest

from dashwright.common import process


class BrokenPipe:
    """A log whose reader has ended."""

    def info(self, event: str, **_: Any) -> None:
        """Raise BrokenPipeError."""
        raise BrokenPipeError(event)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
async def test_a_signal_stops_a_process_without_its_log(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal stops the process even if it cannot be logged. The handlers are removed, so that a second signal ends the process."""
    monkeypatch.setattr(process, "log", BrokenPipe())
    loop = asyncio.get_running_loop()
    failures: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    stopped = process.stop_signal()
    try:
        signal.raise_signal(number)
        async with asyncio.timeout(10):
            await stopped.wait()
    finally:
        # False if the loop has no handler of the signal.
        had_handlers = [loop.remove_signal_handler(signal_number) for signal_number in (signal.SIGINT, signal.SIGTERM)]
    assert had_handlers == [False, False]
    assert [type(failure["exception"]) for failure in failures] == [BrokenPipeError]

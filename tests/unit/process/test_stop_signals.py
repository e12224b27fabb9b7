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
    """The signal takes effect before it is logged, and a second one would end the process immediately."""
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
        remaining = [loop.remove_signal_handler(signal_number) for signal_number in (signal.SIGINT, signal.SIGTERM)]
    assert remaining == [False, False]
    assert [type(failure["exception"]) for failure in failures] == [BrokenPipeError]

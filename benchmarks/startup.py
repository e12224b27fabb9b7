"""T1: the time until a service serves and until a short command ends."""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final

from tests.acceptance.processes import Service, Stack

from benchmarks.measurement import ROUNDS, Row

_SERVICE: Final = 1500
"""Milliseconds that a service may take, by the project's own goal."""

_COMMAND: Final = 400
"""Milliseconds that ``dashwright lint`` may take for a folder of a few files."""

_EXAMPLES: Final = Path(__file__).parents[1] / "examples"


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the medians of starts one after the other, each of a new process over a database that has its first user."""
    stack = Stack(database_url, amqp_url, folder)
    names = ("dashwright-api", "dashwright-jobs-worker", "dashwright-expressions")
    found = [
        Row("T1", f"{name} serves, to {_SERVICE} ms", "ms", await _median(partial(_served, name, stack.settings)), _SERVICE, 1)
        for name in names
    ]
    return [*found, Row("T1", f"dashwright lint, to {_COMMAND} ms", "ms", await _median(_linted), _COMMAND, 1)]


async def _median(run: Callable[[], Awaitable[float]]) -> float:
    await run()  # The first run may compile modules, and makes the first user.
    return statistics.median([await run() for _ in range(ROUNDS)])


async def _served(name: str, settings: dict[str, str]) -> float:
    service, started = Service(name, settings), time.perf_counter()
    await service.start()
    milliseconds = (time.perf_counter() - started) * 1000
    await service.stop()
    return milliseconds


async def _linted() -> float:
    program, started = Path(sys.executable).with_name("dashwright"), time.perf_counter()
    process = await asyncio.create_subprocess_exec(program, "lint", _EXAMPLES, stdout=asyncio.subprocess.DEVNULL)
    await process.wait()
    return (time.perf_counter() - started) * 1000

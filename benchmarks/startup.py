"""T1: the time from the start of a process until a service is ready, or until ``dashwright lint`` ends."""

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

#: The goals, which the project has set itself.
_SERVICE_MS: Final = 1500
_LINT_MS: Final = 400
#: The folder that ``dashwright lint`` checks.
_EXAMPLES: Final = Path(__file__).parents[1] / "examples"


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of T1. Processes are started one after another, with a database that has its first user."""
    stack = Stack(database_url, amqp_url, folder)
    names = ("dashwright-api", "dashwright-jobs-worker", "dashwright-expressions")
    service_rows = [
        Row("T1", f"{name} serves, to {_SERVICE_MS} ms", "ms", await _median_ms(partial(_service_ms, name, stack.settings)), _SERVICE_MS, 1)
        for name in names
    ]
    return [*service_rows, Row("T1", f"dashwright lint, to {_LINT_MS} ms", "ms", await _median_ms(_lint_ms), _LINT_MS, 1)]


async def _median_ms(measure: Callable[[], Awaitable[float]]) -> float:
    """Return the median of several measurements after a warm-up."""
    # The first start may compile modules, and creates the first user.
    await measure()
    return statistics.median([await measure() for _ in range(ROUNDS)])


async def _service_ms(name: str, settings: dict[str, str]) -> float:
    """Return the time from the start of a service until it serves."""
    service, started = Service(name, settings), time.perf_counter()
    await service.start()
    milliseconds = (time.perf_counter() - started) * 1000
    await service.stop()
    return milliseconds


async def _lint_ms() -> float:
    """Return the time of a whole run of ``dashwright lint``."""
    program, started = Path(sys.executable).with_name("dashwright"), time.perf_counter()
    process = await asyncio.create_subprocess_exec(program, "lint", _EXAMPLES, stdout=asyncio.subprocess.DEVNULL)
    await process.wait()
    return (time.perf_counter() - started) * 1000

"""Work that is started again after an error that a fresh start repairs."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from dashwright.common.errors import DashwrightError
from dashwright.jobs_worker.ports import CopyDamaged

log = structlog.get_logger()

Result = TypeVar("Result")


async def with_retries(
    work: Callable[[], Awaitable[Result]], *, attempts: int = 2, on: tuple[type[DashwrightError], ...] = (CopyDamaged,)
) -> Result:
    """Return the result of ``work``, which is started again after an error of the types ``on``. Raises the error of the last attempt.

    A damaged copy of a repository is repaired by opening the repository again, so ``work`` has to open it.
    """
    for attempt in range(1, attempts):
        try:
            return await work()
        except on as error:
            log.warning("attempt_failed", attempt=attempt, reason=type(error).__name__, error=error.message)
    return await work()

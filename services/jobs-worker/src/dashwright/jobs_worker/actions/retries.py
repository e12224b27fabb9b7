"""Retries of work after errors that a new attempt can repair."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from dashwright.common.errors import DashwrightError
from dashwright.jobs_worker.ports import MirrorDamaged

log = structlog.get_logger()

Result = TypeVar("Result")


async def with_retries(
    work: Callable[[], Awaitable[Result]], *, attempts: int = 2, retryable: tuple[type[DashwrightError], ...] = (MirrorDamaged,)
) -> Result:
    """Return the result of ``work``, which is started again after an error of a ``retryable`` type. Raises the error of the last attempt.

    A damaged mirror is recreated when the repository is opened again, so ``work`` must open the repository.
    """
    for attempt in range(1, attempts):
        try:
            return await work()
        except retryable as error:
            log.warning("attempt_failed", attempt=attempt, reason=type(error).__name__, error=error.message)
    return await work()

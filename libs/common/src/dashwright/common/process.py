"""Lifecycle of a process: settings, logs, event loop, signals, and waiting for other processes at the start."""

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

import structlog
import uvloop
from dotenv import dotenv_values

from dashwright.common.database import schema
from dashwright.common.errors import DashwrightError, Unavailable
from dashwright.common.observability import logging
from dashwright.common.settings import Settings, SettingsError, load, unknown_variables

log = structlog.get_logger()
Result = TypeVar("Result")

#: Number of files that a process may open in addition to its connections.
_FILES_BESIDES_CONNECTIONS = 1000


class StoppedBeforeStart(Exception):
    """A signal requested the stop before the process was serving."""


def run(service: str, main: Callable[[Settings], Coroutine[Any, Any, None]]) -> int:
    """Run a service until SIGINT or SIGTERM and return the exit status: 0, 1 after an error, or 2 for invalid settings.

    An error that prevents the start is written as one line to standard error.
    """
    try:
        settings = load()
    except SettingsError as error:
        sys.stderr.write(f"{service}: {error}\n")
        return 2
    logging.configure(service, level=settings.log_level, as_json=settings.log_as_json)
    warn_of_unknown_settings(os.environ)
    for name, advice in settings.unrestricted_settings.items():
        log.warning("setting_trusts_everything", name=name, advice=f"list {advice} only")
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop if settings.event_loop == "uvloop" else None) as runner:
            runner.run(main(settings))
    except StoppedBeforeStart:
        return 0
    # Some settings are checked only when they are used, such as the address to listen at.
    except SettingsError as error:
        sys.stderr.write(f"{service}: {error}\n")
        return 2
    except DashwrightError as error:
        sys.stderr.write(f"{service}: {error.message}\n")
        return 1
    return 0


def warn_of_unknown_settings(environment: Mapping[str, str]) -> None:
    """Log each variable of the environment or ``.env`` that has the prefix but is not a setting, with the most similar setting."""
    for name, similar_name in unknown_variables({**dotenv_values(".env"), **environment}).items():
        log.warning("unknown_setting", name=name, did_you_mean=similar_name or None)


def stop_signal() -> asyncio.Event:
    """Return an event that SIGINT or SIGTERM sets. A second signal ends the process immediately."""
    stop_requested = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(received_signal: signal.Signals) -> None:
        stop_requested.set()
        for handled_signal in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(handled_signal)
        log.info("stopping", signal=received_signal.name)  # last, because writing fails if the reader of the log has ended

    for handled_signal in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(handled_signal, stop, handled_signal)
    return stop_requested


async def start_with_retries(
    dependency: str,
    start: Callable[[], Awaitable[Result]],
    stop_requested: asyncio.Event,
    *,
    timeout_seconds: float = 60.0,
    pause_seconds: float = 1.0,
) -> Result:
    """Return the result of ``start``, retrying it every ``pause_seconds`` while it raises Unavailable.

    ``dependency`` names the required process in logs. Raises Unavailable after ``timeout_seconds``, and StoppedBeforeStart
    as soon as ``stop_requested`` is set.
    """
    attempts = asyncio.create_task(_retry(dependency, start, timeout_seconds, pause_seconds), name=f"start-{dependency}")
    stopping = asyncio.create_task(stop_requested.wait(), name="stop-signal")
    try:
        await asyncio.wait((attempts, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not attempts.done():
            raise StoppedBeforeStart
        return attempts.result()
    finally:
        attempts.cancel()
        stopping.cancel()
        await asyncio.gather(attempts, stopping, return_exceptions=True)


async def _retry(dependency: str, start: Callable[[], Awaitable[Result]], timeout_seconds: float, pause_seconds: float) -> Result:
    """Return the result of ``start`` as soon as it does not raise Unavailable. Raise its last error at the timeout."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_seconds
    while True:
        try:
            return await start()
        except Unavailable as error:
            if loop.time() + pause_seconds > deadline:
                raise
            log.warning("waiting_at_start", what=dependency, error=error.message)
            await asyncio.sleep(pause_seconds)


def raise_open_file_limit(connection_count: int) -> None:
    """Raise the limit of open files for a number of connections; log if the system does not allow it."""
    required_files = connection_count + _FILES_BESIDES_CONNECTIONS
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft_limit != resource.RLIM_INFINITY and soft_limit < required_files:
        soft_limit = required_files if hard_limit == resource.RLIM_INFINITY else min(required_files, hard_limit)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft_limit, hard_limit))
        if soft_limit < required_files:
            advice = "raise the limit of open files of this process, or lower DASHWRIGHT_WATCHES"
            # Few servers reach DASHWRIGHT_WATCHES, so only a limit below half of the required files is a reason for a warning.
            log_method = log.warning if soft_limit < required_files // 2 else log.info
            log_method("few_open_files", allowed=soft_limit, wanted=required_files, advice=advice)


async def require_schema(url: str) -> None:
    """Raise Unavailable if migrations are pending. The command ``dashwright migrate`` applies them in another process."""
    if pending_migrations := await schema.pending_migrations(url):
        raise Unavailable(f"the database lacks the migrations {', '.join(pending_migrations)}; run: dashwright migrate")

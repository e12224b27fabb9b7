"""Lifecycle of a process: settings, logs, event loop, signals, and the order in which its parts start and stop."""

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
from dashwright.common.settings import Settings, SettingsError, load, unknown

log = structlog.get_logger()
T = TypeVar("T")

#: Open files that a process needs in addition to its connections.
_OTHER_FILES = 1000


class StoppedBeforeStart(Exception):
    """Signal to stop that arrived before the process was serving."""


def run(service: str, main: Callable[[Settings], Coroutine[Any, Any, None]]) -> int:
    """Run a service until SIGINT or SIGTERM and return the exit status.

    An error that prevents the start is written as one line to standard error.
    """
    try:
        settings = load()
    except SettingsError as error:
        sys.stderr.write(f"{service}: {error}\n")
        return 2
    logging.configure(service, level=settings.log_level, as_json=settings.log_as_json)
    warn_of_unknown_settings(os.environ)
    for name, advice in settings.trusting.items():
        log.warning("setting_trusts_everything", name=name, advice=f"list {advice} only")
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop if settings.event_loop == "uvloop" else None) as runner:
            runner.run(main(settings))
    except StoppedBeforeStart:
        return 0
    except SettingsError as error:
        sys.stderr.write(f"{service}: {error}\n")
        return 2
    except DashwrightError as error:
        sys.stderr.write(f"{service}: {error.message}\n")
        return 1
    return 0


def warn_of_unknown_settings(environment: Mapping[str, str]) -> None:
    """Log each variable with the prefix that is not a setting, with the setting that was probably meant.

    ``.env`` is read as well.
    """
    for name, meant in unknown({**dotenv_values(".env"), **environment}).items():
        log.warning("unknown_setting", name=name, did_you_mean=meant or None)


def stop_signal() -> asyncio.Event:
    """Return an event that SIGINT or SIGTERM sets. A second signal ends the process immediately."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        stopped.set()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(each)
        log.info("stopping", signal=number.name)  # last, since writing fails if the reader of the log has ended

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop, each)
    return stopped


async def start_with_retries(
    what: str, start: Callable[[], Awaitable[T]], stopped: asyncio.Event, *, seconds: float = 60.0, pause: float = 1.0
) -> T:
    """Start something that another process provides, trying again for ``seconds`` while it is unavailable.

    Raises StoppedBeforeStart as soon as ``stopped`` is set, so that a waiting process can be stopped without delay.
    """
    attempts = asyncio.create_task(_attempts(what, start, seconds, pause), name=f"start-{what}")
    stopping = asyncio.create_task(stopped.wait(), name="stop-signal")
    try:
        await asyncio.wait((attempts, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not attempts.done():
            raise StoppedBeforeStart
        return attempts.result()
    finally:
        attempts.cancel()
        stopping.cancel()
        await asyncio.gather(attempts, stopping, return_exceptions=True)


async def _attempts(what: str, start: Callable[[], Awaitable[T]], seconds: float, pause: float) -> T:
    loop = asyncio.get_running_loop()
    give_up = loop.time() + seconds
    while True:
        try:
            return await start()
        except Unavailable as error:
            if loop.time() + pause > give_up:
                raise
            log.warning("waiting_at_start", what=what, error=error.message)
            await asyncio.sleep(pause)


def allow_connections(number: int) -> None:
    """Raise the limit of open files for ``number`` connections; log if the system does not allow it."""
    wanted = number + _OTHER_FILES
    allowed, granted = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        allowed = wanted if granted == resource.RLIM_INFINITY else min(wanted, granted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, granted))
        if allowed < wanted:
            advice = "raise the limit of open files of this process, or lower DASHWRIGHT_WATCHES"
            # Few servers come near DASHWRIGHT_WATCHES, so half of the files is worth a note, but no warning.
            report = log.warning if allowed < wanted // 2 else log.info
            report("few_open_files", allowed=allowed, wanted=wanted, advice=advice)


async def require_schema(url: str) -> None:
    """Raise Unavailable while migrations are pending: another process applies them."""
    if missing := await schema.pending(url):
        raise Unavailable(f"the database lacks the migrations {', '.join(missing)}; run: dashwright migrate")

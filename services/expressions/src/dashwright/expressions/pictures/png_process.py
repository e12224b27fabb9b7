"""A child process that makes PNGs, and the thread that exchanges messages with it.

The process is started for the first PNG, and responds to one request after another. It is ended when idle for a
minute, and killed at the deadline of a picture or when it uses too much memory. The next PNG starts another process.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import orjson
import structlog

from dashwright.common.errors import DashwrightError, DeadlineExceeded, Unavailable
from dashwright.expressions.confinement_report import report_confinement
from dashwright.expressions.sql.pipe import Pipe, PipeClosed, RemainingSeconds

_log = structlog.get_logger()

_PROGRAM: Final = Path(__file__).with_name("child.py")
#: The child has nothing of the environment of the worker, which contains secrets.
_ENVIRONMENT: Final = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
#: Bytes that the process may allocate in addition to those after its first picture.
_ALLOCATION_LIMIT: Final = 256 * 1024 * 1024

#: Bytes in use at which the process is killed.
MAX_MEMORY_BYTES: Final = 350 * 1024 * 1024

#: Bytes in use after a PNG at which the process is ended, because the library frees little memory and the next PNG
#: needs some.
_RESTART_MEMORY_BYTES: Final = 200 * 1024 * 1024

_MAX_RESPONSE_BYTES: Final = 64 * 1024 * 1024
#: The message of DeadlineExceeded.
LATE: Final = "the picture was not drawn in time; ask for a shorter time range, or for one panel (panelId)"

#: The default of the time without requests after which a process is ended.
IDLE_SECONDS: Final = 60.0


class NotDrawn(DashwrightError):
    """The library could not make a PNG, for the reason in the message."""


class _Child:
    """A running child process. It must be used by a single thread."""

    def __init__(self) -> None:
        # In a session of its own, so that Ctrl-C in the terminal does not reach it.
        self._process = subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-I", "-B", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipe = Pipe(os.dup(self._process.stdout.fileno()), os.dup(self._process.stdin.fileno()))
        self._process.stdin.close()
        self._process.stdout.close()
        self._is_ready = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, request: Mapping[str, Any], remaining_seconds: RemainingSeconds) -> bytes:
        """Return the response to a request.

        Raises NotDrawn if the process responds with an error, PipeClosed if it has ended, Unavailable if it needs too
        much memory, and DeadlineExceeded if ``remaining_seconds`` does.
        """

        # The pipe calls this function repeatedly while it waits, so it also limits the memory.
        def checked_remaining_seconds() -> float:
            """Return the remaining seconds. Raises Unavailable if the process needs too much memory."""
            if _used_memory(self.pid) > MAX_MEMORY_BYTES:
                raise Unavailable("the picture needs more memory than allowed; ask for a shorter time range, or for one panel")
            return remaining_seconds()

        if not self._is_ready:
            setup = {"parent": os.getpid(), "allocation_limit": _ALLOCATION_LIMIT}
            header, _ = self._exchange(setup, checked_remaining_seconds)
            report_confinement("pictures", header)
            self._is_ready = True
        return self._exchange(request, checked_remaining_seconds)[1]

    def kill(self) -> str:
        """Kill the process and return the reason of its end, for a message."""
        self._process.kill()
        status = self._process.wait()
        # The status is negative after a signal.
        return f"it was ended by {signal.Signals(-status).name}" if status < 0 else f"it ended with status {status}"

    def close(self) -> None:
        """Kill the process and close its pipes."""
        self._process.kill()
        self._process.wait()
        self._pipe.close()

    def _exchange(self, request: Mapping[str, Any], remaining_seconds: RemainingSeconds) -> tuple[Mapping[str, Any], bytes]:
        """Return the header and the body of the response. Raises like ``send``."""
        self._pipe.send(orjson.dumps(request), remaining_seconds)
        try:
            header = orjson.loads(self._pipe.read_header(remaining_seconds))
            size, error = header["size"], header.get("error")
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as parse_error:
            raise PipeClosed from parse_error
        if error is not None:
            raise NotDrawn(f"the PNG could not be made, request the format svg: {error}")
        if not isinstance(size, int) or not 0 <= size <= _MAX_RESPONSE_BYTES:
            raise PipeClosed
        return header, bytes(self._pipe.read_bytes(size, remaining_seconds))


class PngProcess:
    """A child process, which makes one PNG after another. It is ended after ``idle_seconds`` without requests."""

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        # On Linux a child ends with the thread that started it, so a single thread starts it and waits for it.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="plotter")
        self._child: _Child | None = None
        self._idle_seconds = idle_seconds
        self._idle_timer: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the child, or None."""
        return None if self._child is None else self._child.pid

    async def png(self, svg: str, scale: float, deadline: float) -> bytes:
        """Return the PNG of an SVG, made by ``deadline``, a time of ``time.monotonic``.

        Raises NotDrawn, DeadlineExceeded and Unavailable for the reasons that ``Plotter.png`` names.
        """
        loop = asyncio.get_running_loop()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        remaining_seconds = _Deadline(deadline)
        try:
            return await loop.run_in_executor(self._thread, self._send, {"svg": svg, "scale": scale}, remaining_seconds)
        except asyncio.CancelledError:
            # The thread, which cannot be cancelled, raises DeadlineExceeded at its next check.
            remaining_seconds.deadline = 0.0
            raise
        finally:
            self._idle_timer = loop.call_later(self._idle_seconds, self._end_when_idle)

    async def stop(self) -> None:
        """End the child and the thread."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._end)
        self._thread.shutdown(wait=False)

    def _end_when_idle(self) -> None:
        with contextlib.suppress(RuntimeError):  # the plotter is being stopped, which ends the child as well
            self._thread.submit(self._end)

    def _send(self, request: Mapping[str, Any], remaining_seconds: RemainingSeconds) -> bytes:
        """Return the response of the child, which is started if it does not run. Called in the thread. Raises like ``png``."""
        # The wait for the thread may have taken all the time.
        remaining_seconds()
        try:
            if self._child is None:
                self._child = _Child()
            drawing = self._child.send(request, remaining_seconds)
        except NotDrawn as error:
            # The child has responded with an error and remains usable.
            _log.error("png_failed", reason=error.message)
            raise
        except PipeClosed as error:
            reason = "it did not start" if self._child is None else self._child.kill()
            self._end()
            raise Unavailable(f"the process that makes PNGs has ended: {reason}; try again, or request a smaller picture") from error
        except OSError as error:
            raise Unavailable(f"the process that makes PNGs cannot be started: {error}; try again") from error
        except BaseException:
            self._end()
            raise
        if _used_memory(self._child.pid) > _RESTART_MEMORY_BYTES:
            self._end()
        return drawing

    def _end(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


class _Deadline:
    """A function that returns the seconds until a time of ``time.monotonic``, and then raises DeadlineExceeded.

    Another thread may set ``deadline`` to 0 to cancel.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline

    def __call__(self) -> float:
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise DeadlineExceeded(LATE)
        return remaining


def _used_memory(pid: int) -> int:
    """Return the bytes of memory in use; 0 if the system does not report them."""
    try:
        # The second number is that of pages in memory.
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError, ValueError):
        return 0

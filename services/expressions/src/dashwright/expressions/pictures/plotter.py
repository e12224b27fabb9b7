"""The child process that draws, and the one thread that talks to it.

It is started for the first drawing, draws one picture after another, and is ended when idle for a minute. It is killed
at the deadline of a picture, or when it holds too much memory; the next picture starts another.
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

from dashwright.common.errors import DeadlineExceeded, Unavailable
from dashwright.expressions.confinement_report import report_walls
from dashwright.expressions.sql.pipe import Closed, Pipe, Wait

_PROGRAM: Final = Path(__file__).with_name("child.py")
_ENVIRONMENT: Final = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
#: Bytes that it may take in addition to what the drawing library takes for itself.
_ROOM: Final = 256 * 1024 * 1024

#: Bytes in use at which it is killed.
MOST_MEMORY: Final = 350 * 1024 * 1024

#: Bytes in use after a picture at which it is ended, because the library returns little memory and the next picture
#: needs room.
_SPENT: Final = 200 * 1024 * 1024

_LARGEST: Final = 64 * 1024 * 1024
_IDLE: Final = 60.0


class NotDrawn(Exception):
    """The library could not draw the spec; the text is the library's."""


class _Child:
    """The process, as its thread sees it."""

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

    def ask(self, request: Mapping[str, Any], wait: Wait) -> bytes:
        """Return the response to a request. Raises NotDrawn, Closed if the process is gone, and what ``wait`` raises."""

        def watched() -> float:
            if _memory(self.pid) > MOST_MEMORY:
                raise Unavailable("the picture needs more memory than a picture may; ask for a shorter time range, or for one panel")
            return wait()

        if not self._is_ready:
            report_walls("pictures", self._exchange({"parent": os.getpid(), "room": _ROOM}, watched)[0])
            self._is_ready = True
        return self._exchange(request, watched)[1]

    def how_it_ended(self) -> str:
        """Kill the process and return how it ended."""
        self._process.kill()
        number = -self._process.wait()
        return f"it was ended by {signal.Signals(number).name}" if number > 0 else f"it ended with status {-number}"

    def close(self) -> None:
        """Kill the process and close its pipes."""
        self._process.kill()
        self._process.wait()
        self._pipe.close()

    def _exchange(self, request: Mapping[str, Any], wait: Wait) -> tuple[Mapping[str, Any], bytes]:
        """Return the head of the response and its body."""
        self._pipe.send(orjson.dumps(request), wait)
        try:
            head = orjson.loads(self._pipe.head(wait))
            size, error = head["size"], head.get("error")
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as fault:
            raise Closed from fault
        if error is not None:
            raise NotDrawn(str(error))
        if not isinstance(size, int) or not 0 <= size <= _LARGEST:
            raise Closed
        return head, bytes(self._pipe.body(size, wait))


class Plotter:
    """Draws in a child process, which is ended after ``idle`` seconds without requests."""

    def __init__(self, *, idle: float = _IDLE) -> None:
        # On Linux a child ends with the thread that started it, so a single thread starts it and waits for it.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="plotter")
        self._child: _Child | None = None
        self._idle = idle
        self._ending: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the child, or None."""
        return None if self._child is None else self._child.pid

    async def chart(self, spec: Mapping[str, Any], until: float) -> bytes:
        """Return the SVG of a Vega-Lite spec, ``until`` a time of ``time.monotonic``.

        Raises NotDrawn, DeadlineExceeded and Unavailable.
        """
        return await self._run({"chart": spec}, until)

    async def png(self, svg: str, scale: float, until: float) -> bytes:
        """Return the PNG of an SVG. Raises like ``chart``."""
        return await self._run({"svg": svg, "scale": scale}, until)

    async def stop(self) -> None:
        """End the child and the thread."""
        if self._ending is not None:
            self._ending.cancel()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._end)
        self._thread.shutdown(wait=False)

    async def _run(self, request: Mapping[str, Any], until: float) -> bytes:
        loop = asyncio.get_running_loop()
        if self._ending is not None:
            self._ending.cancel()
        left = _RemainingTime(until)
        try:
            return await loop.run_in_executor(self._thread, self._ask, request, left)
        except asyncio.CancelledError:
            left.until = 0.0
            raise
        finally:
            self._ending = loop.call_later(self._idle, self._end_later)

    def _end_later(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is being stopped, which ends the child as well
            self._thread.submit(self._end)

    def _ask(self, request: Mapping[str, Any], wait: Wait) -> bytes:
        wait()
        try:
            if self._child is None:
                self._child = _Child()
            drawn = self._child.ask(request, wait)
        except NotDrawn:
            raise
        except Closed as error:
            ended = "it did not start" if self._child is None else self._child.how_it_ended()
            self._end()
            raise Unavailable(f"the process that draws is gone: {ended}; try again, and request less if that does not help") from error
        except OSError as error:
            raise Unavailable(f"the process that draws cannot be started: {error}; try again") from error
        except BaseException:
            self._end()
            raise
        if _memory(self._child.pid) > _SPENT:
            self._end()
        return drawn

    def _end(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


class _RemainingTime:
    """Returns the seconds until a time that may be brought forward."""

    def __init__(self, until: float) -> None:
        self.until = until

    def __call__(self) -> float:
        left = self.until - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded("the picture was not drawn in time; ask for a shorter time range, or for one panel (panelId)")
        return left


def _memory(pid: int) -> int:
    """Return the bytes of memory in use; 0 if the system does not report them."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError, ValueError):
        return 0

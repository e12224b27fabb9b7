"""The sandbox of statements: confined child processes that can only select from given tables, one for each slot.

A child is started when its slot is first used, and runs one statement after another. A child that has ended, was killed
after a timeout, or has used most of its processor time is replaced when its slot is used next. A child serves all
organizations, but the tables of one statement are not visible to the next.

The settings of DuckDB deny statements files and network. If a bug of DuckDB allows a statement to run code, the kernel
still confines the child: Landlock and seccomp deny files, network and other processes, and resource limits apply to
memory, processor time and descriptors.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, LifoQueue
from typing import Any

import orjson

from dashwright.expressions.confinement_report import report_confinement
from dashwright.expressions.sql.pipe import Pipe, PipeClosed, RemainingSeconds
from dashwright.expressions.sql.relation import Relation
from dashwright.expressions.sql.shared_tables import BufferLayout, SharedMemory

_PROGRAM = Path(__file__).with_name("child.py")
_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "OPENBLAS_NUM_THREADS": "1"}
#: Processor time in seconds after which a child is replaced.
_MAX_CPU_SECONDS = 600
#: A child may run at least this many statements of the longest permitted duration, even if that exceeds ``_MAX_CPU_SECONDS``.
_MIN_STATEMENTS_PER_CHILD = 4

#: A child may map this multiple of a statement's bytes: for the tables, the database, and the result twice.
_ADDRESS_SPACE_FACTOR = 4

#: Bytes for each cell of a result in addition to its value: a null flag, and the length of a string.
_OVERHEAD_PER_CELL = 8

#: Seconds between two checks whether the caller still waits for a slot.
_POLL_INTERVAL_SECONDS = 0.05
_STOPPING_MESSAGE = "this service is stopping"


class SandboxError(Exception):
    """A statement could not be run, for a reason that is not in the statement."""


class ChildUnavailable(SandboxError):
    """No child is available. The message has the reason."""


class ChildEnded(SandboxError):
    """The child ended before it responded. The message has the reason."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """The resources of each statement, and the macros of each child."""

    bytes: int  #: The limit in bytes. It applies to the memory of the database, to the tables and to the result separately.
    seconds: float  #: The time limit of a statement.
    macros: Callable[[], Sequence[str]] = tuple  #: Returns the statements that create the macros, by default an empty tuple.

    @property
    def cpu_seconds(self) -> int:
        """Processor time in seconds after which a child is replaced."""
        return max(_MAX_CPU_SECONDS, _MIN_STATEMENTS_PER_CHILD * int(self.seconds + 1))


@dataclass(frozen=True, slots=True)
class ChildResponse:
    """A response of a child, which must be validated before use."""

    header: Mapping[str, Any]  #: A description of the ``body``, or an error.
    body: memoryview


class Child:
    """One confined process. It must not be used by two threads concurrently.

    ``call_in_starter`` calls its argument in a thread that outlives the process, and returns the result. The kernel kills the process
    when the thread that started it ends.
    """

    def __init__(self, settings: SandboxSettings, call_in_starter: Callable[[Callable[[], Any]], Any]) -> None:
        self._memory = SharedMemory()
        try:
            self._process = call_in_starter(self._start_process)
        except OSError as error:
            self._memory.close()
            raise ChildUnavailable(f"the process for statements cannot be started: {error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # ``Pipe`` reads and writes descriptors. It needs copies, because Popen's files close their own descriptors.
        self._pipe = Pipe(os.dup(self._process.stdout.fileno()), os.dup(self._process.stdin.fileno()))
        self._process.stdin.close()
        self._process.stdout.close()
        self._settings = settings
        self._is_ready = False
        self._is_ended = False
        self.needs_replacement = False  #: True if another statement might exceed the processor time of the process.

    @property
    def pid(self) -> int:
        """The process id."""
        return int(self._process.pid)

    @property
    def is_alive(self) -> bool:
        """True while the process runs."""
        return not self._is_ended and self._process.poll() is None

    def run(self, request: Mapping[str, Any], layout: BufferLayout, remaining_seconds: RemainingSeconds) -> ChildResponse:
        """Return the response to ``request``, which has the ``sql`` and the limits of ``cells`` and ``bytes`` of the result.

        Raises ChildEnded, ChildUnavailable, OSError if there is no memory for the tables, and the errors that a call of
        ``remaining_seconds`` raises.
        """
        try:
            self._prepare(remaining_seconds)
            self._memory.write(layout.buffers, layout.size)
            self._pipe.send(orjson.dumps({**request, "tables": layout.tables, "size": layout.size}), remaining_seconds)
            header = self._read_header(remaining_seconds)
            size = _body_size(header, limit=request["bytes"] + _OVERHEAD_PER_CELL * request["cells"])
            response = ChildResponse(header, memoryview(self._pipe.read_bytes(size, remaining_seconds)))
            self.needs_replacement = float(header["cpu"]) + self._settings.seconds > self._settings.cpu_seconds
        # All except PipeClosed mean a malformed response. The child is not trusted, so it is killed.
        except (PipeClosed, AttributeError, KeyError, TypeError, ValueError) as error:
            raise ChildEnded(self._kill_and_describe()) from error
        self._memory.clear()
        return response

    def warm(self, remaining_seconds: RemainingSeconds) -> None:
        """Wait until the child is ready to run a statement. Raises ChildUnavailable."""
        try:
            self._prepare(remaining_seconds)
        except PipeClosed as error:
            raise ChildUnavailable(f"the process for statements did not start: {self._kill_and_describe()}") from error

    def kill(self) -> None:
        """Kill the process immediately. A thread that waits for a response gets ChildEnded.

        This method may be called several times and from any thread.
        """
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Kill the process, and release its memory and pipes."""
        self.kill()
        if not self._is_ended:
            self._is_ended = True
            self._pipe.close()
            self._memory.close()

    def _prepare(self, remaining_seconds: RemainingSeconds) -> None:
        """Send the setup to a new child, and wait until it is ready."""
        if self._is_ready:
            return
        setup = {
            "parent": os.getpid(),
            "descriptor": self._memory.descriptor,
            "bytes": self._settings.bytes,
            "address_space": _ADDRESS_SPACE_FACTOR * self._settings.bytes,
            "cpu_seconds": self._settings.cpu_seconds,
            "macros": list(self._settings.macros()),
        }
        self._pipe.send(orjson.dumps(setup), remaining_seconds)
        response = self._read_header(remaining_seconds)
        if "error" in response:
            raise ChildUnavailable(f"the process for statements did not start: {response['error']}: {response.get('text')}")
        report_confinement("sql", response)
        self._is_ready = True

    def _read_header(self, remaining_seconds: RemainingSeconds) -> dict[str, Any]:
        """Return the header of the next message. Raises PipeClosed, also for a header that is not a JSON object."""
        try:
            header = orjson.loads(self._pipe.read_header(remaining_seconds))
        except orjson.JSONDecodeError as error:
            raise PipeClosed from error
        if not isinstance(header, dict):
            raise PipeClosed
        return header

    def _kill_and_describe(self) -> str:
        """Kill the process and return the reason of its end, for a message."""
        self.kill()
        return_code = self._process.returncode or 0
        # If a signal ended the process, Popen's return code is its negative number.
        return f"it was ended by {signal.Signals(-return_code).name}" if return_code < 0 else f"it ended with status {return_code}"

    def _start_process(self) -> subprocess.Popen[bytes]:
        # In a session of its own, so that Ctrl-C in the terminal does not reach it.
        return subprocess.Popen(  # noqa: S603 (our own program)
            [sys.executable, "-I", "-B", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[self._memory.descriptor],
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )


class Sandbox:
    """A pool of at most ``slots`` children, which are started when needed. It may be used from any thread."""

    def __init__(self, settings: SandboxSettings, slots: int) -> None:
        self.settings = settings
        # The child of each free slot, or None if it has no child yet. The last one is used first, so that few children start.
        self._free_slots: LifoQueue[Child | None] = LifoQueue()
        for _ in range(slots):
            self._free_slots.put(None)
        self._children: set[Child] = set()
        self._lock = threading.Lock()
        self._is_stopped = False
        # Linux kills a child when the thread that started it ends, as the child requests. So one lasting thread starts all children.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="sql-starter")

    @property
    def pids(self) -> list[int]:
        """The process ids of the running children."""
        with self._lock:
            return [child.pid for child in self._children if child.is_alive]

    def warm(self, remaining_seconds: RemainingSeconds) -> None:
        """Start one child, and wait until it is ready. Raises ChildUnavailable."""
        with self._slot(remaining_seconds) as child:
            child.warm(remaining_seconds)

    def run(
        self,
        request: Mapping[str, Any],
        relations: Mapping[str, Relation],
        remaining_seconds: RemainingSeconds,
        start_timer: Callable[[], RemainingSeconds],
    ) -> ChildResponse:
        """Return a child's response to ``request``.

        ``remaining_seconds`` applies until a slot is free. From then on the result of ``start_timer`` applies. Raises
        SandboxError, OSError, StringsTooLong, and the errors of ``remaining_seconds`` and the timer.
        """
        layout = BufferLayout(relations)
        with self._slot(remaining_seconds) as child:
            # The timer of the statement starts after this, so that the start of a child is not part of its time.
            child.warm(remaining_seconds)
            return child.run(request, layout, start_timer())

    def stop(self) -> None:
        """Kill all children, including those that run statements."""
        with self._lock:
            self._is_stopped = True
            children = list(self._children)
        for child in children:
            child.kill()
        self._starter.shutdown()
        while True:
            try:
                free_child = self._free_slots.get_nowait()
            except Empty:
                return
            if free_child is not None:
                self._discard(free_child)

    @contextmanager
    def _slot(self, remaining_seconds: RemainingSeconds) -> Iterator[Child]:
        """Wait for a free slot, and yield its child, which is started if necessary."""
        child = self._take_slot(remaining_seconds)
        reusable_child: Child | None = None
        try:
            if child is not None and not child.is_alive:
                self._discard(child)
                child = None
            child = child or self._start_child()
            yield child
            if child.is_alive and not child.needs_replacement and not self._is_stopped:
                reusable_child = child
        finally:
            # After an error in the block, the child is discarded, too: it may still run the statement.
            if child is not None and reusable_child is None:
                self._discard(child)
            self._free_slots.put(reusable_child)

    def _take_slot(self, remaining_seconds: RemainingSeconds) -> Child | None:
        """Wait for a free slot, and return its child, which may have ended, or None."""
        while not self._is_stopped:
            try:
                return self._free_slots.get(timeout=max(0.0, min(_POLL_INTERVAL_SECONDS, remaining_seconds())))
            except Empty:
                continue
        raise ChildUnavailable(_STOPPING_MESSAGE)

    def _start_child(self) -> Child:
        with self._lock:
            if self._is_stopped:
                raise ChildUnavailable(_STOPPING_MESSAGE)
            child = Child(self.settings, lambda start: self._starter.submit(start).result())
            self._children.add(child)
            return child

    def _discard(self, child: Child) -> None:
        child.close()
        with self._lock:
            self._children.discard(child)


def _body_size(header: Mapping[str, Any], limit: int) -> int:
    """Return the size of a response's body in bytes, from its header. Raises ValueError if it exceeds ``limit``."""
    lengths = [length for column in header.get("columns", ()) for length in column["buffers"].values()]
    if any(length < 0 for length in lengths) or sum(lengths) > limit:
        raise ValueError("the response has an invalid size")
    return sum(lengths)

"""The sandbox of statements: confined child processes that can only select from given tables, one for each slot.

A child is started when a slot is first needed and serves one statement after another. A child that dies, that is killed
because its time is over, or that has used its share of processor time is replaced when its slot is needed next. A child
serves all organizations; the tables of one statement are gone in the next.

The settings of DuckDB keep statements from files and network. Code that a fault in DuckDB lets run in a child is still
confined by the kernel: Landlock and seccomp refuse it files, network and other processes, and limits bound memory,
processor time and descriptors.
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

from dashwright.expressions.confinement_report import report_walls
from dashwright.expressions.sql.pipe import Closed, Pipe, Wait
from dashwright.expressions.sql.relation import Relation
from dashwright.expressions.sql.shared_tables import BufferLayout, SharedMemory

_PROGRAM = Path(__file__).with_name("child.py")
_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "OPENBLAS_NUM_THREADS": "1"}
#: Processor time after which a child is replaced; more if a single statement may take as much.
_CPU_SECONDS = 600

#: Multiple of a statement's bytes that a child may map: tables, the database, and the result twice.
_PARTS_OF_MEMORY = 4

#: Most bytes of a result for each of its cells in addition to the values: nulls, and lengths of texts.
_BESIDE = 8

_SLICE = 0.05
_STOPPING = "this service is stopping"


class SandboxError(Exception):
    """A statement could not be run, for a reason outside of the statement."""


class NoChild(SandboxError):
    """A child could not be started; the text has the reason."""


class ChildEnded(SandboxError):
    """The child ended while it worked; the text says how."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The resources of a statement."""

    bytes: int  #: Memory of the database, and as much each for tables and result.
    seconds: float
    macros: Callable[[], Sequence[str]] = tuple

    @property
    def cpu_seconds(self) -> int:
        """Processor time after which a child is replaced."""
        return max(_CPU_SECONDS, 4 * int(self.seconds + 1))


@dataclass(frozen=True, slots=True)
class ChildResponse:
    """A response of a child, which must be validated before use."""

    head: Mapping[str, Any]  #: Describes the ``body``, or what went wrong.
    body: memoryview


class Child:
    """One confined process. It must not be used by two threads concurrently."""

    def __init__(self, fence: Fence, start: Callable[[Callable[[], Any]], Any]) -> None:
        self._memory = SharedMemory()
        try:
            self._process = start(self._started)
        except OSError as error:
            self._memory.close()
            raise NoChild(f"the process for statements cannot be started: {error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipe = Pipe(os.dup(self._process.stdout.fileno()), os.dup(self._process.stdin.fileno()))
        self._process.stdin.close()
        self._process.stdout.close()
        self._fence = fence
        self._is_ready = False
        self._is_ended = False
        self.is_spent = False

    @property
    def pid(self) -> int:
        """The process id."""
        return int(self._process.pid)

    @property
    def is_alive(self) -> bool:
        """True while the process runs."""
        return not self._is_ended and self._process.poll() is None

    def run(self, request: Mapping[str, Any], layout: BufferLayout, wait: Wait) -> ChildResponse:
        """Return the response to ``request``: ``sql``, and the most ``cells`` and ``bytes`` of its result.

        Raises ChildEnded, NoChild, OSError if there is no memory for the tables, and what ``wait`` raises.
        """
        try:
            self._prepare(wait)
            self._memory.write(layout.parts, layout.size)
            self._pipe.send(orjson.dumps({**request, "tables": layout.tables, "size": layout.size}), wait)
            head = self._head(wait)
            size = _size_of(head, most=request["bytes"] + _BESIDE * request["cells"])
            response = ChildResponse(head, memoryview(self._pipe.body(size, wait)))
            self.is_spent = float(head["cpu"]) + self._fence.seconds > self._fence.cpu_seconds
        except (Closed, orjson.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise ChildEnded(self._how_it_ended()) from error
        self._memory.clear()
        return response

    def warm(self, wait: Wait) -> None:
        """Wait until it is ready to run a statement. Raises NoChild."""
        try:
            self._prepare(wait)
        except Closed as error:
            raise NoChild(f"the process for statements did not start: {self._how_it_ended()}") from error

    def end(self) -> None:
        """Kill the process immediately, whatever it does.

        It may be called twice and from any thread; a thread that waits for the process gets ChildEnded.
        """
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process and release its memory and pipes."""
        self.end()
        if not self._is_ended:
            self._is_ended = True
            self._pipe.close()
            self._memory.close()

    def _prepare(self, wait: Wait) -> None:
        if self._is_ready:
            return
        head = {
            "parent": os.getpid(),
            "descriptor": self._memory.descriptor,
            "bytes": self._fence.bytes,
            "address_space": _PARTS_OF_MEMORY * self._fence.bytes,
            "cpu_seconds": self._fence.cpu_seconds,
            "macros": list(self._fence.macros()),
        }
        self._pipe.send(orjson.dumps(head), wait)
        ready = self._head(wait)
        if "error" in ready:
            raise NoChild(f"the process for statements did not start: {ready['error']}: {ready.get('text')}")
        report_walls("sql", ready)
        self._is_ready = True

    def _head(self, wait: Wait) -> dict[str, Any]:
        head = orjson.loads(self._pipe.head(wait))
        if not isinstance(head, dict):
            raise Closed
        return head

    def _how_it_ended(self) -> str:
        self.end()
        number = -(self._process.returncode or 0)
        return f"it was ended by {signal.Signals(number).name}" if number > 0 else f"it ended with status {-number}"

    def _started(self) -> subprocess.Popen[bytes]:
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
    """At most ``slots`` children, created as they are needed. It may be used from any thread."""

    def __init__(self, fence: Fence, slots: int) -> None:
        self.fence = fence
        self._free: LifoQueue[Child | None] = LifoQueue()
        for _ in range(slots):
            self._free.put(None)
        self._children: set[Child] = set()
        self._lock = threading.Lock()
        self._is_stopped = False
        # On Linux a child ends with the thread that started it, so one thread that outlives all children starts them.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="sql-starter")

    @property
    def pids(self) -> list[int]:
        """The process ids of the running children."""
        with self._lock:
            return [child.pid for child in self._children if child.is_alive]

    def warm(self, wait: Wait) -> None:
        """Make one child ready. Raises NoChild."""
        with self._slot(wait) as child:
            child.warm(wait)

    def run(self, request: Mapping[str, Any], relations: Mapping[str, Relation], wait: Wait, working: Callable[[], Wait]) -> ChildResponse:
        """Return a child's response to ``request``.

        ``wait`` applies until a slot is free, the result of ``working`` from then on. Raises SandboxError, OSError,
        TextTooLong, and what the waits raise.
        """
        layout = BufferLayout(relations)
        with self._slot(wait) as child:
            child.warm(wait)
            return child.run(request, layout, working())

    def stop(self) -> None:
        """End every child, running statements included."""
        with self._lock:
            self._is_stopped = True
            children = list(self._children)
        for child in children:
            child.end()
        self._starter.shutdown()
        while True:
            try:
                child_or_none = self._free.get_nowait()
            except Empty:
                return
            if child_or_none is not None:
                self._discard(child_or_none)

    @contextmanager
    def _slot(self, wait: Wait) -> Iterator[Child]:
        child = self._taken(wait)
        kept: Child | None = None
        try:
            if child is not None and not child.is_alive:
                self._discard(child)
                child = None
            child = child or self._made()
            yield child
            kept = None if child.is_spent or not child.is_alive or self._is_stopped else child
        finally:
            if child is not None and kept is None:
                self._discard(child)
            self._free.put(kept)

    def _taken(self, wait: Wait) -> Child | None:
        while not self._is_stopped:
            try:
                return self._free.get(timeout=max(0.0, min(_SLICE, wait())))
            except Empty:
                continue
        raise NoChild(_STOPPING)

    def _made(self) -> Child:
        with self._lock:
            if self._is_stopped:
                raise NoChild(_STOPPING)
            child = Child(self.fence, lambda start: self._starter.submit(start).result())
            self._children.add(child)
            return child

    def _discard(self, child: Child) -> None:
        child.close()
        with self._lock:
            self._children.discard(child)


def _size_of(head: Mapping[str, Any], most: int) -> int:
    """Return the size of a response's body, by its own description."""
    lengths = [length for column in head.get("columns", ()) for length in column["buffers"].values()]
    if any(length < 0 for length in lengths) or sum(lengths) > most:
        raise ValueError("a response of impossible size")
    return sum(lengths)

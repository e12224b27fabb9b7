"""The second and third layer of confinement of SQL, each tested without the first: statements sent directly to a child do no harm."""

import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dashwright.common.errors import DeadlineExceeded
from dashwright.expressions.engine.frame import FieldType
from dashwright.expressions.sql import sandbox as sandbox_module
from dashwright.expressions.sql.pipe import RemainingSeconds
from dashwright.expressions.sql.relation import Relation, RelationColumn
from dashwright.expressions.sql.results import MalformedResult, frame_of
from dashwright.expressions.sql.sandbox import ChildEnded, ChildResponse, ChildUnavailable, Sandbox, SandboxSettings
from dashwright.expressions.sql.shared_tables import SharedMemory

MEMORY = 64 * 1024 * 1024
#: Longer than any test needs.
LONG_SECONDS = 60.0
LONG_STATEMENT = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3"
TABLE = Relation(
    (RelationColumn("n", FieldType.INT64, np.arange(3)), RelationColumn("s", FieldType.STRING, np.array(["a", "b", "c"], object))), 3
)


class TimeLimitExpired(Exception):
    """An expired time limit of a test's statement."""


def time_limit(seconds: float) -> Callable[[], RemainingSeconds]:
    """Return a function that starts a timer, and returns a function that returns its remaining seconds or raises TimeLimitExpired."""

    def start_timer() -> RemainingSeconds:
        deadline = time.monotonic() + seconds

        def wait() -> float:
            if (remaining := deadline - time.monotonic()) <= 0:
                raise TimeLimitExpired
            return remaining

        return wait

    return start_timer


def run_statement(sandbox: Sandbox, sql: str, *, seconds: float = LONG_SECONDS, **tables: Relation) -> ChildResponse:
    """Send a statement directly to a child, without the check of its syntax."""
    request = {"sql": sql, "cells": 1000, "bytes": sandbox.settings.bytes}
    return sandbox.run(request, tables, time_limit(seconds)(), time_limit(seconds))


def check_sandbox_serves(sandbox: Sandbox) -> None:
    """Check that a next statement succeeds."""
    (field,) = frame_of(run_statement(sandbox, "SELECT count(*) AS n FROM A", A=TABLE)).fields
    assert field.values.tolist() == [3]


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a state of another process, as long as a slow machine may need."""
    deadline, pause = time.monotonic() + LONG_SECONDS, threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        pause.wait(0.01)


def processor_ticks(pid: int) -> int:
    """Return the clock ticks of processor time that a process has used in user mode, which is the 14th field of its ``stat``."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def has_ended(pid: int) -> bool:
    """Return whether a process has ended, even if its parent has not waited for it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Provide a sandbox of one child with a macro, for all tests that leave it intact."""
    created = Sandbox(SandboxSettings(MEMORY, LONG_SECONDS, lambda: ("CREATE MACRO twice(x) AS 2 * x",)), 1)
    yield created
    created.stop()


@pytest.fixture
def own_sandbox() -> Iterator[Sandbox]:
    """Return a sandbox for one test, which may break it."""
    created = Sandbox(SandboxSettings(MEMORY, LONG_SECONDS), 1)
    yield created
    created.stop()


def test_a_statement_reads_its_tables(sandbox: Sandbox) -> None:
    """A statement reads its tables, and macros that were defined before the database was locked."""
    response = run_statement(sandbox, 'SELECT twice(n) AS n, s FROM "A" WHERE n > 0 ORDER BY n', A=TABLE)
    assert [field.values.tolist() for field in frame_of(response).fields] == [[2, 4], ["b", "c"]]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/proc/self/environ')",
        "SELECT * FROM read_blob('/proc/self/maps')",
        "SELECT * FROM read_parquet('x.parquet')",
        "SELECT * FROM read_json('/etc/hostname')",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM 'x.csv'",
        "SELECT * FROM read_csv('http://127.0.0.1/x')",
        "SELECT * FROM read_csv('https://example.org/x.csv')",
        "SELECT getenv('PATH')",
        "SELECT * FROM connection",
        "SELECT * FROM setup",
        "SELECT * FROM os",
        "SELECT * FROM query('SELECT 1; CREATE TABLE t (a INT)')",
        "COPY (SELECT 1) TO '/tmp/x'",
        "COPY (SELECT 1) TO '/dev/stdout'",
        "EXPORT DATABASE '/tmp/x'",
        "ATTACH '/tmp/x.db'",
        "ATTACH ':memory:' AS other",
        "USE other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "INSTALL x FROM 'http://127.0.0.1/'",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET memory_limit = '8GB'",
        "SET threads = 8",
        "RESET ALL",
        "PRAGMA enable_external_access",
        "PRAGMA memory_limit = '8GB'",
        "CREATE TABLE t (a INT)",
        "CREATE TEMP TABLE t AS SELECT 1",
        "CREATE MACRO f(x) AS x",
        "CREATE OR REPLACE MACRO twice(x) AS x",
        "CREATE SECRET (TYPE http)",
        "INSERT INTO A VALUES (1)",
        "DROP MACRO twice",
        "CHECKPOINT",
        "BEGIN TRANSACTION",
        "PREPARE p AS SELECT 1",
        "EXECUTE p",
        "EXPLAIN ANALYZE SELECT 1",
        "CALL pragma_version()",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE A",
        "SELECT 1 /* ; */; SET threads = 8",
        "SELECT * FROM A; -- \n DELETE FROM A",
        "",
        ";",
        "-- nothing",
        "\u0000",
    ],
)
def test_a_child_only_selects(sandbox: Sandbox, statement: str) -> None:
    """Statements that do more than select are refused, also those that read files or variables of the child, which continues."""
    (before,) = sandbox.pids or [0]
    head = run_statement(sandbox, statement, A=TABLE).header
    assert set(head) == {"error", "text", "cpu"}, head
    check_sandbox_serves(sandbox)
    assert not before or sandbox.pids == [before]


def test_each_setting_of_the_database_is_effective(sandbox: Sandbox) -> None:
    """Each setting is tested alone, even if another one would have the same effect."""
    settings = {
        "temp_directory": "",
        "max_temp_directory_size": "0 bytes",
        "memory_limit": "64.0 MiB",
        "threads": "1",
        "TimeZone": "UTC",
        "error_on_division_by_zero": "false",
        "python_enable_replacements": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "enable_external_access": "false",
        "lock_configuration": "true",
    }
    request = ", ".join(f"cast(current_setting('{name}') as varchar)" for name in settings)
    fields = frame_of(run_statement(sandbox, f"SELECT {request}")).fields
    assert dict(zip(settings, (field.values[0] for field in fields), strict=True)) == settings


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT repeat('x', 2000000000)",
        "SELECT length(string_agg(repeat('x', 1000000), '')) FROM range(100000)",
        "SELECT list(range) FROM range(1000000000)",
        "SELECT * FROM range(100000000) ORDER BY hash(range)",
        "SELECT count(DISTINCT a.range * 100000 + b.range) FROM range(100000) a, range(100000) b",
        "SELECT repeat('x', 1000000) FROM range(1000)",
    ],
)
def test_memory_is_limited(sandbox: Sandbox, statement: str) -> None:
    """A statement beyond its memory limit ends with an error or, in the worst case, with its process."""
    try:
        head = run_statement(sandbox, statement).header
    except ChildEnded:
        pass
    else:
        assert head["error"] in {"OutOfMemoryException", "MemoryError", "_StatementError", "NanoarrowException"}, head
    check_sandbox_serves(sandbox)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT " + "(" * 50_000 + "1" + ")" * 50_000,
        "SELECT " + "-" * 50_000 + "1",
        "SELECT " + "1+" * 50_000 + "1",
        "SELECT " + "abs(" * 20_000 + "1" + ")" * 20_000,
        "SELECT * FROM " + "(SELECT * FROM " * 5_000 + "A" + ")" * 5_000,
        "SELECT '" + "x" * 20_000_000 + "'",
        "SELECT " + ", ".join(f"1 AS c{number}" for number in range(20_000)),
    ],
    ids=["parentheses", "signs", "sums", "calls", "subqueries", "text", "columns"],
)
def test_a_child_handles_statements_of_any_form(sandbox: Sandbox, statement: str) -> None:
    """Too deep or very long statements end with a result, an error, or the end of that process."""
    with suppress(ChildEnded, TimeLimitExpired):
        run_statement(sandbox, statement, seconds=10, A=TABLE)
    check_sandbox_serves(sandbox)


@pytest.mark.parametrize(
    "statement", [LONG_STATEMENT, "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT (n + 1) % 10 FROM r) SELECT max(n) FROM r"]
)
def test_a_statement_ends_at_its_time_limit(sandbox: Sandbox, statement: str) -> None:
    """Endless joins and recursions end with their process at the limit."""
    sandbox.warm(time_limit(LONG_SECONDS)())
    (before,) = sandbox.pids
    with pytest.raises(TimeLimitExpired):
        run_statement(sandbox, statement, seconds=0.5)
    assert has_ended(before)
    check_sandbox_serves(sandbox)


def test_a_child_inherits_nothing(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child process has two environment variables, its own descriptors, no terminal, and no access to files, processes or memory."""
    monkeypatch.setenv("DASHWRIGHT_SECRET", "x")
    with Path(__file__).open() as open_file:
        os.set_inheritable(open_file.fileno(), True)
        created = Sandbox(sandbox.settings, 1)
        try:
            created.warm(time_limit(LONG_SECONDS)())
            (pid,) = created.pids
            environment = Path(f"/proc/{pid}/environ").read_bytes().decode().strip("\0").split("\0")
            assert sorted(word.partition("=")[0] for word in environment) == ["LC_ALL", "OPENBLAS_NUM_THREADS", "PATH"]
            opened = [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
            assert sorted(name.partition(":")[0].partition(" ")[0] for name in opened) == ["/dev/null", "/memfd", "pipe", "pipe"]
            assert os.getsid(pid) == pid
            assert str(Path(f"/proc/{pid}/cwd").readlink()) == "/"
            # The first column, of 26 characters, has the name, and the next two the soft and the hard limit.
            limits = {line[:26].strip(): line[26:].split()[:2] for line in Path(f"/proc/{pid}/limits").read_text().splitlines()[1:]}
            for name, maximum in {"file size": "0", "core file size": "0", "processes": "0", "open files": "64", "cpu time": "600"}.items():
                assert limits[f"Max {name}"] == [maximum, maximum], name
            assert int(limits["Max address space"][1]) < 8 * 2**30
            assert "NoNewPrivs:\t1" in Path(f"/proc/{pid}/status").read_text()
        finally:
            created.stop()


def test_shared_memory_is_read_only(sandbox: Sandbox) -> None:
    """The child cannot write to shared memory, and nothing of a statement's tables is left afterwards."""
    memory = SharedMemory()
    memory.write([(0, memoryview(b"abc"))], 64)
    assert os.pread(memory.descriptor, 3, 0) == b"abc"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.pwrite(memory.descriptor, b"x", 0)
    memory.clear()
    assert os.fstat(memory.descriptor).st_size == 0
    memory.close()
    check_sandbox_serves(sandbox)
    assert "does not exist" in run_statement(sandbox, "SELECT * FROM A").header["text"]
    (pid,) = sandbox.pids
    (memory_file,) = [path for path in Path(f"/proc/{pid}/fd").iterdir() if "memfd" in str(path.readlink())]
    assert memory_file.stat().st_size == 0


def test_an_unlinked_file_replaces_a_memory_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An unlinked file replaces a memory file. It has no name by which other processes could find it."""
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    memory = SharedMemory()
    memory.write([(64, memoryview(b"abc"))], 128)
    assert os.pread(memory.descriptor, 128, 0)[64:67] == b"abc"
    assert list(tmp_path.iterdir()) == []
    memory.close()


@contextmanager
def running_statement(own_sandbox: Sandbox) -> Iterator[tuple[int, Future[Any]]]:
    """Start a long statement in the only child; yield the child's process id and the future result."""
    own_sandbox.warm(time_limit(LONG_SECONDS)())
    (pid,) = own_sandbox.pids
    idle_ticks = processor_ticks(pid)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run_statement, own_sandbox, LONG_STATEMENT)
        wait_until(lambda: processor_ticks(pid) > idle_ticks + 5)
        yield pid, running


def test_a_child_killed_during_a_statement_fails_only_that_one(own_sandbox: Sandbox) -> None:
    """The error of a statement says that its child was killed, and the next statement gets a new child."""
    with running_statement(own_sandbox) as (pid, running):
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ChildEnded, match="ended by SIGKILL"):
            running.result()
    check_sandbox_serves(own_sandbox)
    assert own_sandbox.pids != [pid]


def test_an_idle_child_that_was_killed_is_replaced(own_sandbox: Sandbox) -> None:
    """An idle child that was killed is replaced, and no statement fails."""
    own_sandbox.warm(time_limit(LONG_SECONDS)())
    (pid,) = own_sandbox.pids
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not own_sandbox.pids)
    check_sandbox_serves(own_sandbox)
    assert own_sandbox.pids != [pid]


def test_a_child_outlives_the_thread_of_its_first_statement(own_sandbox: Sandbox) -> None:
    """A child outlives the thread of its first statement, although the kernel ends a child with the thread that started it."""
    thread = threading.Thread(target=own_sandbox.warm, args=(time_limit(LONG_SECONDS)(),))
    thread.start()
    thread.join()
    before = own_sandbox.pids
    check_sandbox_serves(own_sandbox)
    assert own_sandbox.pids == before


def test_a_child_is_replaced_before_its_limit_of_processor_time() -> None:
    """A child is replaced if its next statement could exceed the limit of its processor time."""

    class ShortLivedSettings(SandboxSettings):
        cpu_seconds = 50

    # After the first statement, the next one could use 49.99 seconds more, and thus exceed the 50 seconds of the child.
    created = Sandbox(ShortLivedSettings(MEMORY, seconds=49.99), 1)
    try:
        created.warm(time_limit(LONG_SECONDS)())
        (pid,) = created.pids
        check_sandbox_serves(created)
        assert created.pids == []
        assert has_ended(pid)
        check_sandbox_serves(created)
    finally:
        created.stop()


def test_a_stop_ends_running_statements(own_sandbox: Sandbox) -> None:
    """A stop ends the child during its statement, and no statement starts afterwards."""
    with running_statement(own_sandbox) as (pid, running):
        own_sandbox.stop()
        with pytest.raises(ChildEnded):
            running.result()
    assert own_sandbox.pids == []
    assert has_ended(pid)
    with pytest.raises(ChildUnavailable, match="stopping"):
        run_statement(own_sandbox, "SELECT 1")


def test_the_wait_for_a_slot_is_limited(own_sandbox: Sandbox) -> None:
    """The wait for a child is limited, and the statement that it runs is not affected."""
    with running_statement(own_sandbox) as (pid, running):
        with pytest.raises(TimeLimitExpired):
            own_sandbox.run({"sql": "SELECT 1", "cells": 1, "bytes": 1}, {}, time_limit(0.1)(), time_limit(LONG_SECONDS))
        assert own_sandbox.pids == [pid]
        own_sandbox.stop()
        with pytest.raises(ChildEnded):
            running.result()


def test_a_child_ends_with_its_parent() -> None:
    """The child ends even if the parent is killed, and during a statement."""
    program = f"""
import sys, threading
from dashwright.expressions.sql.sandbox import Sandbox, SandboxSettings
sandbox = Sandbox(SandboxSettings({MEMORY}, 60), 1)
sandbox.warm(lambda: 60.0)
print(sandbox.pids[0], flush=True)
sandbox.run({{"sql": {LONG_STATEMENT!r}, "cells": 1, "bytes": 1}}, {{}}, lambda: 60.0, lambda: lambda: 60.0)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(next(line for line in parent.stdout if line.strip().isdigit()))
        idle_ticks = processor_ticks(pid)
        wait_until(lambda: processor_ticks(pid) > idle_ticks + 5)
        parent.kill()
    wait_until(lambda: has_ended(pid))


def length_prefixed(text: str) -> bytes:
    """Return a message of a child: its length in four bytes, and the text."""
    return struct.pack(">I", len(text)) + text.encode()


START_ERROR = length_prefixed('{"error": "IOException", "text": "no settings"}')
INVALID_OUTPUTS = {
    "no length": b"\x00",
    "a length without end": b"\xff\xff\xff\xff",
    "not JSON": length_prefixed("{]"),
    "no object": length_prefixed("[]"),
    "no description": length_prefixed('{"columns":[1]}'),
    "a negative size": length_prefixed('{"columns":[{"buffers":{"values":-8}}]}'),
    "more than asked for": length_prefixed('{"columns":[{"buffers":{"values":1000000000000}}]}'),
    "less than it says": length_prefixed('{"columns":[{"buffers":{"values":8}}]}') + b"abc",
    "no time": length_prefixed('{"cpu":"abc"}'),
}


@pytest.mark.parametrize("output", INVALID_OUTPUTS.values(), ids=INVALID_OUTPUTS.keys())
def test_a_child_with_invalid_output_is_killed(output: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that sends invalid output is killed, because no output of a child is trusted."""
    ready = length_prefixed('{"ready": true}')
    program = tmp_path / "program.py"
    program.write_text(f"import os\nos.read(0, 1 << 20)\nos.write(1, {ready!r})\nos.read(0, 1 << 20)\nos.write(1, {output!r})\n")
    monkeypatch.setattr(sandbox_module, "_PROGRAM", program)
    created = Sandbox(SandboxSettings(MEMORY, LONG_SECONDS), 1)
    try:
        with pytest.raises(ChildEnded):
            run_statement(created, "SELECT 1")
        assert created.pids == []
    finally:
        created.stop()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("raise SystemExit(3)", "did not start: it ended with status 3"),
        (f"import os\nos.write(1, {START_ERROR!r})", "IOException: no settings"),
        (f"import os\nos.read(0, 1 << 20)\nos.write(1, {length_prefixed('{]')!r})\nos.read(0, 1)", "it was ended by SIGKILL"),
    ],
    ids=["an exit", "a reported error", "a header that is not JSON"],
)
def test_a_child_that_cannot_start_is_an_error(text: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a child that cannot start has as much of the reason as is available."""
    program = tmp_path / "program.py"
    program.write_text(text)
    monkeypatch.setattr(sandbox_module, "_PROGRAM", program)
    created = Sandbox(SandboxSettings(MEMORY, LONG_SECONDS), 1)
    try:
        with pytest.raises(ChildUnavailable, match=fault):
            created.warm(time_limit(LONG_SECONDS)())
    finally:
        created.stop()


def column(kind: str, **buffers: bytes) -> ChildResponse:
    """Return a response with one column of two rows."""
    head: dict[str, Any] = {"name": "x", "type": kind, "buffers": {name: len(part) for name, part in buffers.items()}}
    return ChildResponse({"rows": 2, "columns": [head]}, memoryview(b"".join(buffers.values())))


@pytest.mark.parametrize(
    "response",
    [
        column("int64", values=b"1234567"),
        column("int64"),
        column("enum", values=b"1234"),
        column("object", values=b"1234"),
        column("int8", values=b"12", nulls=b"1"),
        column("string", values=b"ab", lengths=b"\x01\x00\x00\x00"),
        column("string", values=b"ab", lengths=b"\x01\x00\x00\x00\x02\x00\x00\x00"),
        column("string", values=b"a", lengths=b"\x02\x00\x00\x00\xff\xff\xff\xff"),
        column("string", values=b"\xff\xff", lengths=b"\x01\x00\x00\x00\x01\x00\x00\x00"),
        column("json.RawMessage", values=b"{}", lengths=b"\x01\x00\x00\x00\x01\x00\x00\x00"),
        column("json.RawMessage", values=b"[" * 500 + b"]" * 500 + b"1", lengths=b"\xe8\x03\x00\x00\x01\x00\x00\x00"),
        ChildResponse({"rows": "x", "columns": []}, memoryview(b"")),
        ChildResponse({"columns": []}, memoryview(b"")),
        ChildResponse({"rows": 1, "columns": [7]}, memoryview(b"")),
    ],
)
def test_an_inconsistent_response_is_refused(response: ChildResponse) -> None:
    """A response is refused if its lengths, types, texts or documents are inconsistent."""
    with pytest.raises(MalformedResult):
        frame_of(response)


def test_a_deadline_is_raised_unchanged() -> None:
    """An error that the wait function raises, such as a deadline, is raised unchanged."""

    def raise_deadline() -> float:
        raise DeadlineExceeded("over")

    created = Sandbox(SandboxSettings(MEMORY, 1), 1)
    with pytest.raises(DeadlineExceeded):
        created.run({"sql": "SELECT 1", "cells": 1, "bytes": 1}, {}, raise_deadline, lambda: raise_deadline)
    created.stop()

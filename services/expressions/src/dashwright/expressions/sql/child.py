"""The program that runs statements, behind a fence: ``python -I child.py``, started by ``sandbox``.

It imports nothing of Dashwright but ``confinement``. What it is told comes through its standard input, tables through memory that it
can only read, and what it answers goes to its standard output: a length of four bytes, as many bytes of JSON, then the buffers that
these describe. Nothing in it is trusted by who started it.

By the time it reads the first statement the kernel refuses it files, network and other processes, and neither the limits of the process nor
the settings of the database can be changed again.
"""

import ctypes
import json
import mmap
import os
import resource
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import duckdb
import nanoarrow
import numpy as np
from nanoarrow._utils import NanoarrowException
from nanoarrow.c_array_stream import CArrayStream
from numpy.typing import NDArray

from dashwright.expressions import confinement

_OWN_DESCRIPTORS = 64
_DAY = 86_400_000_000_000
_FIRST_NANOSECOND, _LAST_NANOSECOND = -(2**63) + 1, 2**63 - 1
_TOLD = 2_000

SETTINGS = (
    "temp_directory = ''",
    "max_temp_directory_size = '0B'",
    "memory_limit = '{bytes}B'",
    "threads = 1",
    "TimeZone = 'UTC'",
    "error_on_division_by_zero = false",
    "python_enable_replacements = false",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "enable_external_access = false",
    "lock_configuration = true",
)
"""The order counts: the folder for temporary files must be named before access to anything outside is shut, and the lock is the last.

Made global: a cursor begins with the global settings and not with those of its connection, and the lock would keep it there.
"""

_READ_BY_DUCKDB = ("/proc/self/cgroup", "/sys/fs/cgroup")
"""The limits of the container. DuckDB does not start if it may not open the first one, though it is told its limits."""

_THREADS: dict[str, str | bool | int | float | list[str]] = {"threads": 1, "async_threads": 1}
"""From the beginning, so that none is started that has nothing to do here."""

_NUMBERS = {
    "int8": nanoarrow.int8(),
    "int16": nanoarrow.int16(),
    "int32": nanoarrow.int32(),
    "int64": nanoarrow.int64(),
    "uint8": nanoarrow.uint8(),
    "uint16": nanoarrow.uint16(),
    "uint32": nanoarrow.uint32(),
    "uint64": nanoarrow.uint64(),
    "float32": nanoarrow.float32(),
    "float64": nanoarrow.float64(),
    "bool": nanoarrow.bool_(),
    "time.Time": nanoarrow.timestamp("ns"),
}
_TEXT = nanoarrow.c_schema(nanoarrow.string())
_JSON = _TEXT.modify(metadata={b"ARROW:extension:name": b"arrow.json", b"ARROW:extension:metadata": b""})

_ANSWERED = {
    "BOOLEAN": "bool",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "HUGEINT": "float64",
    "UHUGEINT": "float64",
    "VARCHAR": "string",
    "JSON": "json.RawMessage",
    "DATE": "time.Time",
    "TIMESTAMP": "time.Time",
    "TIMESTAMP_S": "time.Time",
    "TIMESTAMP_MS": "time.Time",
    "TIMESTAMP_NS": "time.Time",
    "TIMESTAMP WITH TIME ZONE": "time.Time",
}
"""The type of the answered column by that of the statement's. Decimals are float64, too; every other becomes its text."""

_TICKS = {"tdD": _DAY, "tss": 1_000_000_000, "tsm": 1_000_000, "tsu": 1_000, "tsn": 1}
"""Nanoseconds of one tick, by the beginning of the Arrow format."""


class _ArrowArray(ctypes.Structure):
    """The C struct of that name, for its one member that nanoarrow cannot set."""

    _fields_ = (
        ("counts", ctypes.c_int64 * 5),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


class _Tables:
    """The tables of one statement, as the parent laid them out."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._memory = memoryview(mmap.mmap(descriptor, size, prot=mmap.PROT_READ)) if size else memoryview(b"")

    def table(self, told: dict[str, Any]) -> "_Table":
        columns = [self._column(told["rows"], column) for column in told["columns"]]
        types = [column.schema.modify(name=item["name"]) for column, item in zip(columns, told["columns"], strict=True)]
        schema = nanoarrow.c_schema(nanoarrow.struct([], nullable=False)).modify(children=types)
        return _Table(nanoarrow.c_array_from_buffers(schema, told["rows"], [None], children=columns, null_count=0))

    def _column(self, rows: int, told: dict[str, Any]) -> Any:
        valid = self._part(told["valid"]) if "valid" in told else None
        if "dictionary" in told:
            return self._coded(rows, told, valid)
        if "offsets" in told:
            kind = _JSON if told["type"] == "json.RawMessage" else _TEXT
            return nanoarrow.c_array_from_buffers(kind, rows, [valid, self._part(told["offsets"]), self._part(told["values"])])
        return nanoarrow.c_array_from_buffers(nanoarrow.c_schema(_NUMBERS[told["type"]]), rows, [valid, self._part(told["values"])])

    def _coded(self, rows: int, told: dict[str, Any], valid: Any) -> Any:
        kind = nanoarrow.c_schema(nanoarrow.dictionary(_NUMBERS[told["codes"]], nanoarrow.string()))
        codes = nanoarrow.c_array_from_buffers(kind, rows, [valid, self._part(told["values"])])
        texts = self._column(told["dictionary"]["rows"], told["dictionary"] | {"type": "string"})
        # Swapped: either array owns what the other had, and releases it at its own end.
        place, given = _ArrowArray.from_address(codes._addr()).dictionary, texts._addr()
        size = ctypes.sizeof(_ArrowArray)
        empty = ctypes.string_at(place, size)
        ctypes.memmove(place, given, size)
        ctypes.memmove(given, empty, size)
        return codes

    def _part(self, place: Sequence[int]) -> memoryview:
        offset, length = place
        return self._memory[offset : offset + length]


class _Table:
    """What DuckDB reads a table from, as often as it likes."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return CArrayStream.from_c_arrays([self._array], self._array.schema, move=False).__arrow_c_stream__()

    def __arrow_c_schema__(self) -> object:
        return self._array.schema.__arrow_c_schema__()


class _Refused(Exception):
    """The statement or what it answered is not of a kind that is run here."""


def _relation(cursor: duckdb.DuckDBPyConnection, sql: str) -> tuple[duckdb.DuckDBPyRelation, list[str], list[str]]:
    """What answers the statement, the names of its columns and their types."""
    statements = cursor.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise _Refused("only one statement that selects is run")
    relation = cursor.sql(statements[0])
    names, types = relation.columns, [str(kind) for kind in relation.types]
    answered = [_ANSWERED.get(kind, "float64" if kind.startswith("DECIMAL") else "") for kind in types]
    if not all(answered):
        # By position, since two columns may have one name.
        projected = [f"#{number}" if kind else f"cast(#{number} as varchar)" for number, kind in enumerate(answered, 1)]
        relation = relation.project(", ".join(projected))
    return relation, names, [kind or "string" for kind in answered]


class _Column:
    """A column of the answer, part after part."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self._parts: list[bytes] = []
        self._nulls: list[bytes] = []
        self._lengths: list[bytes] = []
        self._has_nulls = False
        self.size = 0

    def add(self, array: Any, rows: int) -> None:
        """The first ``rows`` of an Arrow array."""
        view = array.view()
        span = slice(view.offset, view.offset + rows)
        nulls = _nulls(view, span, rows)
        self._has_nulls = self._has_nulls or bool(nulls.any())
        self._nulls.append(nulls.tobytes())
        if self.kind in {"string", "json.RawMessage"}:
            offsets = np.asarray(view.buffer(1))[view.offset : view.offset + rows + 1]
            text = memoryview(view.buffer(2))[int(offsets[0]) : int(offsets[-1])] if rows else memoryview(b"")
            self._lengths.append(np.diff(offsets).astype(np.int32).tobytes())
            self._append(bytes(text))
        else:
            self._append(_values(view, array.schema.format, span, nulls, self.kind).tobytes())

    def _append(self, part: bytes) -> None:
        self._parts.append(part)
        self.size += len(part)

    def buffers(self) -> dict[str, bytes]:
        found = {"values": b"".join(self._parts)}
        if self.kind in {"string", "json.RawMessage"}:
            found["lengths"] = b"".join(self._lengths)
        if self._has_nulls:
            found["nulls"] = b"".join(self._nulls)
        return found


def _nulls(view: Any, span: slice, rows: int) -> NDArray[np.bool_]:
    if view.null_count == 0 or not view.buffer(0).size_bytes:
        return np.zeros(rows, np.bool_)
    bits = np.frombuffer(view.buffer(0), np.uint8)
    return ~np.unpackbits(bits, bitorder="little")[span].astype(np.bool_)


def _values(view: Any, form: str, span: slice, nulls: NDArray[np.bool_], kind: str) -> NDArray[Any]:
    """As the type of the answered column has them, with 0 in the slots of nulls."""
    raw = view.buffer(1)
    if kind == "bool":
        return np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[span]
    if form.startswith("d:"):
        return _decimals(np.frombuffer(raw, np.dtype([("low", "<u8"), ("high", "<i8")]))[span], int(form[2:].split(",")[1]))
    if kind == "time.Time":
        ticks = np.frombuffer(raw, np.int32 if form == "tdD" else np.int64)[span].astype(np.int64)
        return _instants(np.where(nulls, 0, ticks), _TICKS[form[:3]])
    return np.frombuffer(raw, kind)[span]


def _decimals(digits: NDArray[Any], scale: int) -> NDArray[np.float64]:
    small = digits["high"] == digits["low"].view(np.int64) >> 63
    large = digits["high"].astype(np.float64) * 2.0**64 + digits["low"].astype(np.float64)
    return np.where(small, digits["low"].view(np.int64).astype(np.float64), large) / 10.0**scale


def _instants(ticks: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    if len(ticks) and (int(ticks.min()) < _FIRST_NANOSECOND // length or int(ticks.max()) > _LAST_NANOSECOND // length):
        raise _Refused("the result holds a time outside the years 1678 to 2262")
    return ticks * length


def _answer(cursor: duckdb.DuckDBPyConnection, asked: dict[str, Any]) -> Iterator[bytes]:
    relation, names, kinds = _relation(cursor, asked["sql"])
    columns = [_Column(name, kind) for name, kind in zip(names, kinds, strict=True)]
    most = max(1, asked["cells"] // max(1, len(columns)))
    rows, is_cut = 0, False
    for array in nanoarrow.c_array_stream(relation):
        taken = min(array.length, most - rows)
        for number, column in enumerate(columns):
            column.add(array.child(number), taken)
        rows += taken
        if taken < array.length:
            is_cut = True
            break
        if sum(column.size for column in columns) > asked["bytes"]:
            raise _Refused(f"the result takes more than {asked['bytes']} bytes")
    buffers = [column.buffers() for column in columns]
    told = [
        {"name": column.name, "type": column.kind, "buffers": {key: len(part) for key, part in parts.items()}}
        for column, parts in zip(columns, buffers, strict=True)
    ]
    yield _encoded({"rows": rows, "cut": is_cut, "columns": told, "cpu": _used()})
    for parts in buffers:
        yield from parts.values()


def _used() -> float:
    """Seconds that the processor worked here."""
    times = os.times()
    return times.user + times.system


def _encoded(told: dict[str, Any]) -> bytes:
    text = json.dumps(told).encode()
    return struct.pack(">I", len(text)) + text


def _failure(error: BaseException) -> bytes:
    return _encoded({"error": type(error).__name__, "text": str(error)[:_TOLD], "cpu": _used()})


def _run(cursor: duckdb.DuckDBPyConnection, descriptor: int, asked: dict[str, Any]) -> list[bytes]:
    """The parts of the message to send. Whole before any of it is sent: an error in the middle could not be told any more."""
    try:
        tables = _Tables(descriptor, asked["size"])
        for told in asked["tables"]:
            cursor.register(told["name"], tables.table(told))
        return list(_answer(cursor, asked))
    except (duckdb.Error, NanoarrowException, _Refused, MemoryError, ValueError) as error:
        return [_failure(error)]


class _Fence(NamedTuple):
    """How the child is told to fence itself in; see ``sandbox``."""

    parent: int
    descriptor: int
    bytes: int
    address_space: int
    cpu_seconds: int
    macros: list[str]


def _enclose(fence: _Fence) -> tuple[duckdb.DuckDBPyConnection, confinement.Walls]:
    """Return the locked database, in a process held by the kernel to its limits, and the walls around it."""
    confinement.leave_privileges(fence.parent)
    # Opened first: no file can be opened later.
    statm = os.open("/proc/self/statm", os.O_RDONLY) if sys.platform == "linux" else None
    landlock = confinement.shut_files(_READ_BY_DUCKDB)
    connection = duckdb.connect(":memory:", config=_THREADS)
    for macro in fence.macros:
        connection.execute(macro).fetchall()
    for setting in SETTINGS:
        connection.execute(f"set global {setting.format(bytes=fence.bytes)}").fetchall()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, _OWN_DESCRIPTORS)
    _limit(resource.RLIMIT_CPU, fence.cpu_seconds)
    _limit(resource.RLIMIT_NPROC, 0)
    if statm is not None:
        _limit(resource.RLIMIT_AS, _mapped(statm) + fence.address_space)
        os.close(statm)
    seccomp = confinement.shut_kernel()
    return connection, confinement.Walls(landlock, seccomp)


def _limit(kind: int, value: int) -> None:
    _, most = resource.getrlimit(kind)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(kind, (value, value))


def _mapped(statm: int) -> int:
    """Return the bytes that are mapped already: the libraries, most of all."""
    return int(os.pread(statm, 100, 0).split()[0]) * resource.getpagesize()


def _send(parts: Sequence[bytes]) -> None:
    for part in parts:
        rest = memoryview(part)
        while len(rest):
            rest = rest[os.write(1, rest) :]


def _receive() -> dict[str, Any]:
    """What is asked next; ends the process where nobody asks any more."""
    (length,) = struct.unpack(">I", _read(4))
    asked: dict[str, Any] = json.loads(_read(length))
    return asked


def _read(count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        part = os.read(0, count - len(found))
        if not part:
            os._exit(0)
        found += part
    return bytes(found)


def main() -> None:
    asked = _receive()
    fence = _Fence(**asked)
    try:
        connection, walls = _enclose(fence)
    except (duckdb.Error, OSError, ValueError) as error:
        _send([_failure(error)])
        return
    _send([_encoded({"ready": True, "walls": walls._asdict()})])
    while True:
        # A cursor of its own for each statement, so that nothing of one is there for the next; made while nobody waits for it.
        with connection.cursor() as cursor:
            _send(_run(cursor, fence.descriptor, _receive()))


if __name__ == "__main__":
    main()

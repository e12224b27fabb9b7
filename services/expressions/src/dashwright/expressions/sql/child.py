"""The program that runs statements in a confined process: ``python -I child.py``, started by ``sandbox``.

It imports nothing of Dashwright but ``confinement``. Requests come through its standard input, tables through memory that it can only
read. Responses go to its standard output: a length of four bytes, as many bytes of JSON, then the buffers that the JSON describes.
The parent trusts nothing in a response. By the time it reads the first statement the kernel refuses it files, network and other
processes, and neither the limits of the process nor the settings of the database can be changed any more.
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
_LONGEST_TEXT = 2_000

#: The settings of the database. The order matters: the folder for temporary files must be set before external access is
#: disabled, and the lock comes last. They are global because a cursor starts with the global settings, not with those
#: of its connection, and the lock would keep it there.
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

#: The limits of the container. DuckDB does not start if it cannot open the first one, although its limits are given.
_READ_BY_DUCKDB = ("/proc/self/cgroup", "/sys/fs/cgroup")

#: Set at the start, so that DuckDB starts no threads that have no work here.
_THREADS: dict[str, str | bool | int | float | list[str]] = {"threads": 1, "async_threads": 1}

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

#: The type of a returned column by the type in the statement. Decimals are float64, too; every other type becomes text.
_RESULT_TYPES = {
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

#: Nanoseconds of one tick, by the prefix of the Arrow format.
_TICKS = {"tdD": _DAY, "tss": 1_000_000_000, "tsm": 1_000_000, "tsu": 1_000, "tsn": 1}


class _ArrowArray(ctypes.Structure):
    """The C struct ``ArrowArray``, for its member ``dictionary``, which nanoarrow cannot set."""

    _fields_ = (
        ("counts", ctypes.c_int64 * 5),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


class _Tables:
    """The tables of one statement, as the parent laid them out in memory."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._memory = memoryview(mmap.mmap(descriptor, size, prot=mmap.PROT_READ)) if size else memoryview(b"")

    def table(self, layout: dict[str, Any]) -> "_Table":
        """Return the table that a request describes."""
        columns = [self._column(layout["rows"], column) for column in layout["columns"]]
        types = [column.schema.modify(name=item["name"]) for column, item in zip(columns, layout["columns"], strict=True)]
        schema = nanoarrow.c_schema(nanoarrow.struct([], nullable=False)).modify(children=types)
        return _Table(nanoarrow.c_array_from_buffers(schema, layout["rows"], [None], children=columns, null_count=0))

    def _column(self, rows: int, layout: dict[str, Any]) -> Any:
        valid = self._part(layout["valid"]) if "valid" in layout else None
        if "dictionary" in layout:
            return self._coded(rows, layout, valid)
        if "offsets" in layout:
            kind = _JSON if layout["type"] == "json.RawMessage" else _TEXT
            return nanoarrow.c_array_from_buffers(kind, rows, [valid, self._part(layout["offsets"]), self._part(layout["values"])])
        return nanoarrow.c_array_from_buffers(nanoarrow.c_schema(_NUMBERS[layout["type"]]), rows, [valid, self._part(layout["values"])])

    def _coded(self, rows: int, layout: dict[str, Any], valid: Any) -> Any:
        kind = nanoarrow.c_schema(nanoarrow.dictionary(_NUMBERS[layout["codes"]], nanoarrow.string()))
        codes = nanoarrow.c_array_from_buffers(kind, rows, [valid, self._part(layout["values"])])
        texts = self._column(layout["dictionary"]["rows"], layout["dictionary"] | {"type": "string"})
        # Swapped, not copied: each array then owns the other's former content and releases it exactly once.
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
    """A table that DuckDB may read any number of times."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return CArrayStream.from_c_arrays([self._array], self._array.schema, move=False).__arrow_c_stream__()

    def __arrow_c_schema__(self) -> object:
        return self._array.schema.__arrow_c_schema__()


class _Refused(Exception):
    """The statement or its result is of a type that is not run here."""


def _relation(cursor: duckdb.DuckDBPyConnection, sql: str) -> tuple[duckdb.DuckDBPyRelation, list[str], list[str]]:
    """Return the relation of the statement, and the names and types of its columns."""
    statements = cursor.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise _Refused("only one statement that selects is run")
    relation = cursor.sql(statements[0])
    names, types = relation.columns, [str(kind) for kind in relation.types]
    result_types = [_RESULT_TYPES.get(kind, "float64" if kind.startswith("DECIMAL") else "") for kind in types]
    if not all(result_types):
        # By position, because two columns may have one name.
        projected = [f"#{number}" if kind else f"cast(#{number} as varchar)" for number, kind in enumerate(result_types, 1)]
        relation = relation.project(", ".join(projected))
    return relation, names, [kind or "string" for kind in result_types]


class _Column:
    """A column of the result, collected part by part."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self._parts: list[bytes] = []
        self._nulls: list[bytes] = []
        self._lengths: list[bytes] = []
        self._has_nulls = False
        self.size = 0

    def add(self, array: Any, rows: int) -> None:
        """Add the first ``rows`` of an Arrow array."""
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
        """Return the buffers of the column by name."""
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
    """Return the values in the type of the returned column, with 0 in the slots of nulls."""
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


def _respond(cursor: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> Iterator[bytes]:
    relation, names, kinds = _relation(cursor, request["sql"])
    columns = [_Column(name, kind) for name, kind in zip(names, kinds, strict=True)]
    most = max(1, request["cells"] // max(1, len(columns)))
    rows, is_cut = 0, False
    for array in nanoarrow.c_array_stream(relation):
        taken = min(array.length, most - rows)
        for number, column in enumerate(columns):
            column.add(array.child(number), taken)
        rows += taken
        if taken < array.length:
            is_cut = True
            break
        if sum(column.size for column in columns) > request["bytes"]:
            raise _Refused(f"the result takes more than {request['bytes']} bytes")
    buffers = [column.buffers() for column in columns]
    layout = [
        {"name": column.name, "type": column.kind, "buffers": {key: len(part) for key, part in parts.items()}}
        for column, parts in zip(columns, buffers, strict=True)
    ]
    yield _encoded({"rows": rows, "cut": is_cut, "columns": layout, "cpu": _used()})
    for parts in buffers:
        yield from parts.values()


def _used() -> float:
    """Return the seconds of processor time used so far."""
    times = os.times()
    return times.user + times.system


def _encoded(layout: dict[str, Any]) -> bytes:
    text = json.dumps(layout).encode()
    return struct.pack(">I", len(text)) + text


def _failure(error: BaseException) -> bytes:
    return _encoded({"error": type(error).__name__, "text": str(error)[:_LONGEST_TEXT], "cpu": _used()})


def _run(cursor: duckdb.DuckDBPyConnection, descriptor: int, request: dict[str, Any]) -> list[bytes]:
    """Return the parts of the message to send.

    It is complete before any of it is sent, because an error in the middle could not be reported.
    """
    try:
        tables = _Tables(descriptor, request["size"])
        for layout in request["tables"]:
            cursor.register(layout["name"], tables.table(layout))
        return list(_respond(cursor, request))
    except (duckdb.Error, NanoarrowException, _Refused, MemoryError, ValueError) as error:
        return [_failure(error)]


class _Fence(NamedTuple):
    """The limits and macros of the child; see ``sandbox``."""

    parent: int
    descriptor: int
    bytes: int
    address_space: int
    cpu_seconds: int
    macros: list[str]


def _enclose(fence: _Fence) -> tuple[duckdb.DuckDBPyConnection, confinement.Walls]:
    """Return the locked database and the confinement of this process, which the kernel now enforces."""
    confinement.leave_privileges(fence.parent)
    # Opened before the confinement: no file can be opened after it.
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
    """Return the next request; end the process if the parent is gone."""
    (length,) = struct.unpack(">I", _read(4))
    request: dict[str, Any] = json.loads(_read(length))
    return request


def _read(count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        part = os.read(0, count - len(found))
        if not part:
            os._exit(0)
        found += part
    return bytes(found)


def main() -> None:
    """Serve requests until the parent is gone."""
    request = _receive()
    fence = _Fence(**request)
    try:
        connection, walls = _enclose(fence)
    except (duckdb.Error, OSError, ValueError) as error:
        _send([_failure(error)])
        return
    _send([_encoded({"ready": True, "walls": walls._asdict()})])
    while True:
        # A new cursor for each statement, so that nothing of one remains for the next; created while no caller waits.
        with connection.cursor() as cursor:
            _send(_run(cursor, fence.descriptor, _receive()))


if __name__ == "__main__":
    main()

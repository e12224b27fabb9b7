"""The child process that runs statements: ``python -I child.py``, started by ``sandbox``.

Of Dashwright it imports only ``confinement``. Requests arrive on standard input, and tables in shared memory, which is
read-only for the child. A response on standard output is a length of four bytes, JSON of this length, and the buffers
that the JSON describes. The parent does not trust responses. Before the first statement the kernel denies files, network
and other processes, and the limits of the process and the settings of the database become final.
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

_STANDARD_INPUT, _STANDARD_OUTPUT = 0, 1
_MAX_DESCRIPTORS = 64
_DAY_NANOSECONDS = 86_400_000_000_000
_LAST_NANOSECOND = 2**63 - 1  # The first time of numpy is its negative, because -(2**63) is NaT.
_MAX_ERROR_LENGTH = 2_000

#: The settings of the database. The order matters: the directory of temporary files must be set before external access is
#: disabled, and the lock comes last. The settings are global because cursors do not inherit the settings of a connection.
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

#: Files with the limits of the container. DuckDB does not start if it cannot open the first one.
_FILES_OF_DUCKDB = ("/proc/self/cgroup", "/sys/fs/cgroup")

#: The configuration at the start, which avoids useless threads.
_THREAD_CONFIG: dict[str, str | bool | int | float | list[str]] = {"threads": 1, "async_threads": 1}

_FIXED_WIDTH_TYPES = {
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
_STRING = nanoarrow.c_schema(nanoarrow.string())
_JSON = _STRING.modify(metadata={b"ARROW:extension:name": b"arrow.json", b"ARROW:extension:metadata": b""})

#: The type of a result column by its type in DuckDB. Decimals become float64, and other types strings.
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

#: Nanoseconds of one unit of time, by the first three characters of the Arrow format.
_UNIT_NANOSECONDS = {"tdD": _DAY_NANOSECONDS, "tss": 1_000_000_000, "tsm": 1_000_000, "tsu": 1_000, "tsn": 1}


class _ArrowArray(ctypes.Structure):
    """The C struct ``ArrowArray``, for its member ``dictionary``, which nanoarrow cannot set."""

    _fields_ = (
        ("counts", ctypes.c_int64 * 5),  # length, null_count, offset, n_buffers and n_children
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


class _Tables:
    """The tables of one statement, in the memory shared by the parent."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._memory = memoryview(mmap.mmap(descriptor, size, prot=mmap.PROT_READ)) if size else memoryview(b"")

    def table(self, layout: dict[str, Any]) -> "_Table":
        """Return the table that ``layout`` describes, an item of ``BufferLayout.tables`` in the parent."""
        columns = [self._column(layout["rows"], column) for column in layout["columns"]]
        column_types = [column.schema.modify(name=item["name"]) for column, item in zip(columns, layout["columns"], strict=True)]
        schema = nanoarrow.c_schema(nanoarrow.struct([], nullable=False)).modify(children=column_types)
        return _Table(nanoarrow.c_array_from_buffers(schema, layout["rows"], [None], children=columns, null_count=0))

    def _column(self, rows: int, layout: dict[str, Any]) -> Any:
        validity = self._buffer(layout["valid"]) if "valid" in layout else None
        if "dictionary" in layout:
            return self._dictionary_column(rows, layout, validity)
        if "offsets" in layout:
            arrow_type = _JSON if layout["type"] == "json.RawMessage" else _STRING
            buffers = [validity, self._buffer(layout["offsets"]), self._buffer(layout["values"])]
        else:
            arrow_type = nanoarrow.c_schema(_FIXED_WIDTH_TYPES[layout["type"]])
            buffers = [validity, self._buffer(layout["values"])]
        return nanoarrow.c_array_from_buffers(arrow_type, rows, buffers)

    def _dictionary_column(self, rows: int, layout: dict[str, Any], validity: Any) -> Any:
        arrow_type = nanoarrow.c_schema(nanoarrow.dictionary(_FIXED_WIDTH_TYPES[layout["codes"]], nanoarrow.string()))
        codes = nanoarrow.c_array_from_buffers(arrow_type, rows, [validity, self._buffer(layout["values"])])
        strings = self._column(layout["dictionary"]["rows"], layout["dictionary"] | {"type": "string"})
        # The structs are swapped rather than copied, so that the content of each is released exactly once.
        dictionary_address, size = _ArrowArray.from_address(codes._addr()).dictionary, ctypes.sizeof(_ArrowArray)
        empty = ctypes.string_at(dictionary_address, size)
        ctypes.memmove(dictionary_address, strings._addr(), size)
        ctypes.memmove(strings._addr(), empty, size)
        return codes

    def _buffer(self, extent: Sequence[int]) -> memoryview:
        offset, length = extent
        return self._memory[offset : offset + length]


class _Table:
    """A table that DuckDB can read repeatedly."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return CArrayStream.from_c_arrays([self._array], self._array.schema, move=False).__arrow_c_stream__()

    def __arrow_c_schema__(self) -> object:
        return self._array.schema.__arrow_c_schema__()


class _StatementError(Exception):
    """The statement is not a single SELECT, or its result is not supported."""


def _relation(cursor: duckdb.DuckDBPyConnection, sql: str) -> tuple[duckdb.DuckDBPyRelation, list[str], list[str]]:
    """Return the relation of the statement, and the names and result types of its columns."""
    statements = cursor.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise _StatementError("only a single SELECT statement is run")
    relation = cursor.sql(statements[0])
    names, duckdb_types = relation.columns, [str(duckdb_type) for duckdb_type in relation.types]
    result_types = [_RESULT_TYPES.get(duckdb_type, "float64" if duckdb_type.startswith("DECIMAL") else "") for duckdb_type in duckdb_types]
    if not all(result_types):
        # By position, because two columns may have the same name.
        projections = [f"#{index}" if result_type else f"cast(#{index} as varchar)" for index, result_type in enumerate(result_types, 1)]
        relation = relation.project(", ".join(projections))
    return relation, names, [result_type or "string" for result_type in result_types]


class _Column:
    """A column of the result, collected in chunks."""

    def __init__(self, name: str, type_name: str) -> None:
        self.name = name
        self.type_name = type_name
        self._chunks: list[bytes] = []
        self._nulls: list[bytes] = []
        self._lengths: list[bytes] = []
        self._has_nulls = False
        self.size = 0  #: Bytes of the values, or of the content of the strings.

    def add(self, array: Any, rows: int) -> None:
        """Add the first ``rows`` of an Arrow array."""
        view = array.view()
        span = slice(view.offset, view.offset + rows)
        nulls = _null_mask(view, span, rows)
        self._has_nulls = self._has_nulls or bool(nulls.any())
        self._nulls.append(nulls.tobytes())
        if self.type_name in {"string", "json.RawMessage"}:
            # Arrow's buffers of strings are the validity bits, the offsets and the content.
            offsets = np.asarray(view.buffer(1))[view.offset : view.offset + rows + 1]
            chunk = bytes(memoryview(view.buffer(2))[int(offsets[0]) : int(offsets[-1])]) if rows else b""
            self._lengths.append(np.diff(offsets).astype(np.int32).tobytes())
        else:
            chunk = _values(view, array.schema.format, span, nulls, self.type_name).tobytes()
        self._chunks.append(chunk)
        self.size += len(chunk)

    def buffers(self) -> dict[str, bytes]:
        """Return the buffers of the column by name."""
        buffers = {"values": b"".join(self._chunks)}
        if self.type_name in {"string", "json.RawMessage"}:
            buffers["lengths"] = b"".join(self._lengths)
        if self._has_nulls:
            buffers["nulls"] = b"".join(self._nulls)
        return buffers


def _null_mask(view: Any, span: slice, rows: int) -> NDArray[np.bool_]:
    """Return a mask that is True for nulls, from the validity bits in the first buffer of an Arrow array."""
    if view.null_count == 0 or not view.buffer(0).size_bytes:
        return np.zeros(rows, np.bool_)
    bits = np.frombuffer(view.buffer(0), np.uint8)
    return ~np.unpackbits(bits, bitorder="little")[span].astype(np.bool_)


def _values(view: Any, arrow_format: str, span: slice, nulls: NDArray[np.bool_], type_name: str) -> NDArray[Any]:
    """Return the values in the type of the result column, with 0 in the slots of nulls."""
    raw = view.buffer(1)
    if type_name == "bool":
        return np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[span]
    if arrow_format.startswith("d:"):
        # The format is ``d:precision,scale``.
        return _decimals(np.frombuffer(raw, np.dtype([("low", "<u8"), ("high", "<i8")]))[span], int(arrow_format[2:].split(",")[1]))
    if type_name == "time.Time":
        ticks = np.frombuffer(raw, np.int32 if arrow_format == "tdD" else np.int64)[span].astype(np.int64)
        return _timestamps(np.where(nulls, 0, ticks), _UNIT_NANOSECONDS[arrow_format[:3]])
    return np.frombuffer(raw, type_name)[span]


def _decimals(digits: NDArray[Any], scale: int) -> NDArray[np.float64]:
    """Return decimals as floats. ``digits`` are 128-bit integers, in two halves each; ``scale`` is the number of decimal places."""
    fits_int64 = digits["high"] == digits["low"].view(np.int64) >> 63  # The upper half has only copies of the sign.
    approximation = digits["high"].astype(np.float64) * 2.0**64 + digits["low"].astype(np.float64)
    return np.where(fits_int64, digits["low"].view(np.int64).astype(np.float64), approximation) / 10.0**scale


def _timestamps(values: NDArray[np.int64], unit_nanoseconds: int) -> NDArray[np.int64]:
    last = _LAST_NANOSECOND // unit_nanoseconds
    if len(values) and (int(values.min()) < -last or int(values.max()) > last):
        raise _StatementError("the result holds a time outside the years 1678 to 2262")
    return values * unit_nanoseconds


def _respond(cursor: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> Iterator[bytes]:
    """Yield the chunks of the response: its header, and the buffers of each column."""
    relation, names, type_names = _relation(cursor, request["sql"])
    columns = [_Column(name, type_name) for name, type_name in zip(names, type_names, strict=True)]
    row_limit = max(1, request["cells"] // max(1, len(columns)))
    rows, is_truncated = 0, False
    for array in nanoarrow.c_array_stream(relation):
        row_count = min(array.length, row_limit - rows)
        rows += row_count
        for index, column in enumerate(columns):
            column.add(array.child(index), row_count)
        is_truncated = row_count < array.length
        if is_truncated:
            break
        if sum(column.size for column in columns) > request["bytes"]:
            raise _StatementError(f"the result takes more than {request['bytes']} bytes")
    buffers = [column.buffers() for column in columns]
    layout = [
        {"name": column.name, "type": column.type_name, "buffers": {key: len(buffer) for key, buffer in column_buffers.items()}}
        for column, column_buffers in zip(columns, buffers, strict=True)
    ]
    yield _message({"rows": rows, "cut": is_truncated, "columns": layout, "cpu": _cpu_seconds()})
    for column_buffers in buffers:
        yield from column_buffers.values()


def _cpu_seconds() -> float:
    """Return the processor time used by this process, in seconds."""
    times = os.times()
    return times.user + times.system


def _message(header: dict[str, Any]) -> bytes:
    encoded = json.dumps(header).encode()
    return struct.pack(">I", len(encoded)) + encoded


def _failure(error: BaseException) -> bytes:
    return _message({"error": type(error).__name__, "text": str(error)[:_MAX_ERROR_LENGTH], "cpu": _cpu_seconds()})


def _run(cursor: duckdb.DuckDBPyConnection, descriptor: int, request: dict[str, Any]) -> list[bytes]:
    """Return the complete response, because an error could not be reported after a part of it was sent."""
    try:
        tables = _Tables(descriptor, request["size"])
        for layout in request["tables"]:
            cursor.register(layout["name"], tables.table(layout))
        return list(_respond(cursor, request))
    except (duckdb.Error, NanoarrowException, _StatementError, MemoryError, ValueError) as error:
        return [_failure(error)]


class _Setup(NamedTuple):
    """The first request, with the data for the confinement of the child and its macros."""

    parent: int  #: The process id of the parent.
    descriptor: int  #: The file descriptor of the shared memory.
    bytes: int  #: The memory limit of DuckDB in bytes.
    address_space: int  #: Bytes that the process may map in addition to libraries.
    cpu_seconds: int  #: The limit of processor time.
    macros: list[str]  #: Statements that create the macros.


def _confine(setup: _Setup) -> tuple[duckdb.DuckDBPyConnection, confinement.Restrictions]:
    """Confine this process. Return the database with locked settings, and the confinement that is in effect."""
    confinement.drop_privileges(setup.parent)
    # Opened before the confinement, because no file can be opened after it.
    statm = os.open("/proc/self/statm", os.O_RDONLY) if sys.platform == "linux" else None
    landlock = confinement.restrict_files(_FILES_OF_DUCKDB)
    connection = duckdb.connect(":memory:", config=_THREAD_CONFIG)
    for macro in setup.macros:
        connection.execute(macro).fetchall()
    for setting in SETTINGS:
        connection.execute(f"set global {setting.format(bytes=setup.bytes)}").fetchall()
    for resource_id in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
        _limit(resource_id, 0)
    _limit(resource.RLIMIT_NOFILE, _MAX_DESCRIPTORS)
    _limit(resource.RLIMIT_CPU, setup.cpu_seconds)
    if statm is not None:
        _limit(resource.RLIMIT_AS, _mapped_bytes(statm) + setup.address_space)
        os.close(statm)
    seccomp = confinement.restrict_system_calls()
    return connection, confinement.Restrictions(landlock, seccomp)


def _limit(resource_id: int, limit: int) -> None:
    _, hard_limit = resource.getrlimit(resource_id)
    limit = limit if hard_limit == resource.RLIM_INFINITY else min(limit, hard_limit)
    resource.setrlimit(resource_id, (limit, limit))


def _mapped_bytes(statm: int) -> int:
    """Return the size in bytes of the memory that is mapped already, mainly by libraries."""
    return int(os.pread(statm, 100, 0).split()[0]) * resource.getpagesize()


def _send(chunks: Sequence[bytes]) -> None:
    for chunk in chunks:
        remainder = memoryview(chunk)
        while len(remainder):
            remainder = remainder[os.write(_STANDARD_OUTPUT, remainder) :]


def _receive() -> dict[str, Any]:
    """Return the next request. End the process if the parent has ended."""
    (length,) = struct.unpack(">I", _read_bytes(4))
    request: dict[str, Any] = json.loads(_read_bytes(length))
    return request


def _read_bytes(count: int) -> bytes:
    content = bytearray()
    while len(content) < count:
        chunk = os.read(_STANDARD_INPUT, count - len(content))
        if not chunk:
            os._exit(0)
        content += chunk
    return bytes(content)


def main() -> None:
    """Serve requests until the parent ends."""
    setup = _Setup(**_receive())
    try:
        connection, restrictions = _confine(setup)
    except (duckdb.Error, OSError, ValueError) as error:
        _send([_failure(error)])
        return
    _send([_message({"ready": True, "restrictions": restrictions._asdict()})])
    while True:
        # Each statement has a new cursor, which sees nothing of the previous statement. It is created while no caller waits for it.
        with connection.cursor() as cursor:
            _send(_run(cursor, setup.descriptor, _receive()))


if __name__ == "__main__":
    main()

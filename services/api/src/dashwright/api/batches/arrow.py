"""Results of batches as one Arrow IPC stream, for clients that accept it."""

from array import array
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Final

import nanoarrow
from nanoarrow.ipc import StreamWriter

from dashwright.common.batch_results.lines import Line, parse_line

#: Size of the lines after which a record batch of Arrow ends, in bytes.
_RECORD_BATCH_BYTES: Final = 1 << 20
#: Maximum size of a result, in bytes. Arrow needs each result as a whole in memory, unlike NDJSON.
MAX_RESULT_BYTES: Final = 16 << 20

_SCHEMA: Final = nanoarrow.c_schema(
    nanoarrow.struct(
        {
            "index": nanoarrow.int32(nullable=False),
            "id": nanoarrow.string(nullable=False),
            "state": nanoarrow.string(nullable=False),
            "error": nanoarrow.string(),
            "result": nanoarrow.string(),
        },
        nullable=False,
    )
)


async def arrow_stream(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the IPC stream of the NDJSON lines in ``parts``.

    A line consists of one or more parts, and only its last part ends with a newline. A result over ``MAX_RESULT_BYTES`` is null and has
    an error.
    """
    sink = _Sink()
    writer = StreamWriter.from_writable(sink)
    rows: list[Line] = []
    line = bytearray()
    line_bytes = record_batch_bytes = 0
    async for part in parts:
        line_bytes += len(part)
        # The result is the last member of a line. A result that is too long becomes null, so the end of its line is not needed.
        if len(line) <= MAX_RESULT_BYTES:
            line += part
        if not part.endswith(b"\n"):
            continue
        rows.append(_row(bytes(line), line_bytes))
        record_batch_bytes += len(line)
        line.clear()
        line_bytes = 0
        if record_batch_bytes >= _RECORD_BATCH_BYTES:
            writer.write_array(_record_batch(rows))
            yield sink.take()
            rows.clear()
            record_batch_bytes = 0
    # Also without rows, because the first record batch writes the schema.
    writer.write_array(_record_batch(rows))
    writer.close()
    yield sink.take()


class _Sink:
    """A buffer for the bytes that a stream writer writes."""

    def __init__(self) -> None:
        self._writes: list[bytes] = []

    def write(self, buffer: Any) -> int:
        # The writer reuses its buffer after the call.
        self._writes.append(bytes(buffer))
        return len(self._writes[-1])

    def take(self) -> bytes:
        """Return the bytes that were written since the last call."""
        writes, self._writes = self._writes, []
        return b"".join(writes)


def _row(line: bytes, line_bytes: int) -> Line:
    """Return the parsed line, without a result that is too long. ``line_bytes`` is its size before it was shortened."""
    row = parse_line(line)
    if row.result is None or line_bytes <= MAX_RESULT_BYTES:
        return row
    message = f"the result has about {line_bytes} bytes, which are too many for Arrow (limit {MAX_RESULT_BYTES}); request NDJSON"
    return replace(row, result=None, error=f"{row.error}; {message}" if row.error else message)


def _record_batch(rows: Sequence[Line]) -> Any:
    """Return a record batch of Arrow with these rows. The buffer None means that no value of a column is null."""
    ids = [row.id.encode() for row in rows]
    states = [row.state.encode() for row in rows]
    errors = [None if row.error is None else row.error.encode() for row in rows]
    results = [row.result for row in rows]
    indices = nanoarrow.c_array_from_buffers(nanoarrow.int32(), len(rows), [None, array("i", [row.index for row in rows])], null_count=0)
    columns = [indices, _strings(ids), _strings(states), _strings(errors), _strings(results)]
    return nanoarrow.c_array_from_buffers(_SCHEMA, len(rows), [None], children=columns, null_count=0)


def _strings(values: Sequence[bytes | None]) -> Any:
    """Return a column of strings in the layout of Arrow: a bitmap of the values that are not null, end offsets, and the joined data."""
    offsets = array("i", [0])
    validity = bytearray((len(values) + 7) // 8)
    end = 0
    for index, value in enumerate(values):
        if value is not None:
            end += len(value)
            validity[index >> 3] |= 1 << (index & 7)
        offsets.append(end)
    data = b"".join(value for value in values if value is not None)
    null_count = sum(value is None for value in values)
    return nanoarrow.c_array_from_buffers(nanoarrow.string(), len(values), [bytes(validity), offsets, data], null_count=null_count)

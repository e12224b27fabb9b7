"""Line of an item in the results of a batch: ``{"index", "id", "state", "error"?, "result"?}``.

The result is the last member and is copied unchanged, so that a service neither parses a large result nor holds all of it in memory.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from dashwright.common.models.batch import ItemState
from dashwright.common.models.provisioning import JobStatus
from dashwright.common.stores.batch_results import ItemResult

_RESULT: Final = b',"result":'
_LINE_END: Final = b"}\n"
_ENDED: Final = frozenset({ItemState.SUCCESS, ItemState.ERROR, ItemState.CANCELLED})
_EVALUATION: Final = "Evaluation"


class LineAroundResult(NamedTuple):
    """The parts of a line before and after the result of an evaluation."""

    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Line:
    """Parsed line, except for its result."""

    index: int
    id: str
    state: str
    error: str | None
    result: bytes | None  #: JSON.


def line_around_result(item: ItemResult) -> LineAroundResult:
    """Return the parts of a line around the result of an evaluation. A line without such a result is completely in ``before``."""
    members: dict[str, Any] = {"index": item.index, "id": item.id, "state": item.state}
    result = None
    if item.state in _ENDED:
        if item.state != ItemState.SUCCESS and item.status:
            members["error"] = JobStatus.model_validate_json(item.status).error
        if item.kind != _EVALUATION:
            result = item.status
        elif item.state == ItemState.SUCCESS and item.body_size is None:
            members["error"] = "the result was deleted or has expired"
    # Without the closing brace, which is in the end of the line.
    members_json = orjson.dumps(members)[:-1]
    if item.kind == _EVALUATION and item.body_size is not None:
        return LineAroundResult(members_json + _RESULT, _LINE_END)
    if result is not None:
        members_json += _RESULT + result.encode()
    return LineAroundResult(members_json + _LINE_END, b"")


def parse_line(line: bytes) -> Line:
    """Return the members of a line, which ends with a newline."""
    # Inside a JSON string, the quotes of the separator would be escaped.
    members_json, separator, tail = line.partition(_RESULT)
    members = orjson.loads(members_json + b"}" if separator else members_json)
    result = tail.removesuffix(_LINE_END) if separator else None
    return Line(members["index"], members["id"], members["state"], members.get("error"), result)

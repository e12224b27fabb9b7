"""Bodies in every notation of JSON are read like those of a plain reader of JSON. Damaged bodies are errors of the data source."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import SourceFailed
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.prometheus import response
from dashwright.expressions.sources.prometheus.query import PrometheusQuery
from dashwright.expressions.sources.prometheus.steps import SECOND

QUERY = PrometheusQuery(
    expr="up",
    step=15 * SECOND,
    start=0,
    end=60 * SECOND,
    evaluation_time=60 * SECOND,
    is_instant=False,
    is_range=True,
    legend="",
)

# The parts of random bodies: white space, numbers in every notation, points, labels, and unknown members.
SPACES = st.text(" \t\r\n", max_size=2)
DIGITS = st.integers(1, 400).map(lambda count: "9" * count)
NUMBERS = (
    st.sampled_from(["NaN", "+Inf", "-Inf", "Inf", "0", "-0", "1e400", "-1e400", "1e-400", "4.9e-324", "1.7976931348623157e+308"])
    | st.floats().map(repr)
    | st.integers(-(10**20), 10**20).map(str)
    | st.builds("{}{}.{}".format, st.sampled_from(["", "-"]), DIGITS, DIGITS)
)
TIMES = st.integers(-4_000_000_000, 4_000_000_000) | st.integers(0, 4_000_000_000_000).map(lambda milliseconds: milliseconds / 1000)
POINTS = st.tuples(TIMES, NUMBERS)
LABELS = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), st.text(st.characters(codec="utf-8"), max_size=8), max_size=4)
#: Equal keys are frequent, as in responses of servers.
METRICS = LABELS | st.fixed_dictionaries({"job": st.sampled_from("ab"), "pod": st.text(max_size=3)})
EXTRAS = st.dictionaries(st.sampled_from(["stats", "infos2", "x"]), st.none() | st.lists(st.integers()) | LABELS, max_size=2)


def _escape(text: str) -> str:
    """Return a string of JSON in which each character is an escape of UTF-16 units."""
    units = np.frombuffer(text.encode("utf-16-le"), "<u2").tolist()
    return '"' + "".join(f"\\u{unit:04X}" for unit in units) + '"'


class JsonWriter:
    """A writer of JSON with random white space, order of members and notation of strings."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw
        self._space: Sequence[str] = draw(st.lists(SPACES, min_size=1, max_size=5))
        self._count = 0

    def write(self, value: Any) -> str:
        """Return a value as JSON."""
        if isinstance(value, Mapping):
            names = self._draw(st.permutations(list(value)))
            return self._between("{", [f"{self._string(name)}{self._gap()}:{self._gap()}{self.write(value[name])}" for name in names], "}")
        if isinstance(value, list | tuple):
            return self._between("[", [self.write(item) for item in value], "]")
        return self._string(value) if isinstance(value, str) else json.dumps(value)

    def _string(self, text: str) -> str:
        """Return a string of JSON, in one of three notations unless it is ASCII."""
        # The values of points are ASCII, which servers write without escapes.
        if text.isascii():
            return json.dumps(text)
        notations = [json.dumps(text), json.dumps(text, ensure_ascii=False), _escape(text)]
        index: int = self._draw(st.integers(0, 2))
        return notations[index]

    def _between(self, start: str, members: Sequence[str], end: str) -> str:
        """Return members between brackets, with commas and white space."""
        separator = f"{self._gap()},{self._gap()}"
        return f"{start}{self._gap()}{separator.join(members)}{self._gap()}{end}"

    def _gap(self) -> str:
        """Return the next white space, which may be empty."""
        self._count += 1
        return self._space[self._count % len(self._space)]


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Draw the body of a successful response with a matrix or vector."""
    result_type = draw(st.sampled_from(["matrix", "vector"]))
    points: st.SearchStrategy[dict[str, Any]]
    if result_type == "matrix":
        points = st.fixed_dictionaries({"values": st.lists(POINTS, max_size=6)})
    else:
        points = st.fixed_dictionaries({"value": POINTS})
    item = st.builds(lambda extras, metric, point_member: extras | {"metric": metric} | point_member, EXTRAS, METRICS, points)
    items = draw(st.lists(item, max_size=7))
    data = draw(EXTRAS) | {"resultType": result_type, "result": items}
    document = draw(EXTRAS) | {"status": "success", "data": data}
    return JsonWriter(draw).write(document).encode()


def read_result(body: bytes) -> Sequence[Frame]:
    """Return the frames of a body."""
    return [*response.frames_of(response.parse_response(body), QUERY, Limits())]


@given(bodies(), st.integers(1, 4))
def test_every_notation_is_read_like_plain_json(body: bytes, chunk_items: int) -> None:
    """White space, the order of members, escapes, unknown members and the parts in which items are decoded have no effect on the result."""
    with mock.patch.object(response, "_CHUNK_ITEMS", chunk_items):
        frames = [frame for frame in read_result(body) if frame.fields]
    items = json.loads(body)["data"]["result"]
    assert len(frames) == len(items)
    for frame, item in zip(frames, items, strict=True):
        times, values = frame.fields
        # An item of a vector has one point, as ``value``.
        points = [item["value"]] if "value" in item else item["values"]
        assert values.labels == Labels.of(item["metric"])
        assert times.values.tolist() == [round(seconds * 1000) * 10**6 for seconds, _ in points]
        np.testing.assert_array_equal(values.values, np.array([float(value) for _, value in points], np.float64))


@given(bodies(), st.data())
def test_a_body_that_ends_early_is_an_error_of_the_source(body: bytes, data: st.DataObject) -> None:
    """An incomplete body is an error, wherever it ends."""
    # White space at the end may be missing.
    length = len(body.rstrip())
    with pytest.raises(SourceFailed, match="is not JSON"):
        read_result(body[: data.draw(st.integers(0, length - 1))])


@given(bodies(), st.data())
def test_a_changed_byte_causes_no_internal_error(body: bytes, data: st.DataObject) -> None:
    """A body with any changed byte is read, or is an error of the source."""
    position = data.draw(st.integers(0, len(body) - 1))
    damaged = body[:position] + bytes([data.draw(st.integers(0, 255))]) + body[position + 1 :]
    try:
        frames = read_result(damaged)
    except SourceFailed:
        return
    assert all(math.isfinite(time) for frame in frames for field in frame.fields[:1] for time in field.values.tolist())

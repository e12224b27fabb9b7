"""Random frames as JSON: every shape of frames that expressions read, with all kinds of values, times and labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan
from typing import Any, Final

from hypothesis import strategies as st
from tests.reference_engine.values import Value

Json = Any
Frames = list[Json]

EPOCH: Final = 1_600_000_000_000
"""Start of the time range of a request, in milliseconds."""

# Frequent and special values, and quarters, which floating-point numbers represent exactly. A sum of a few values of 8e307 overflows.
_VALUES: Final = st.one_of(
    st.sampled_from([1.0, 0.0, 2.0, -1.0, None, nan, inf, -inf, 0.5, 3.0, -2.5, 100.0, 8e307]),
    st.integers(-40, 40).map(lambda quarters: quarters / 4),
)
_NAMES: Final = st.sampled_from(["", "v", "w", "cpu load"])
# Times in nanoseconds, in steps of half a second from one second before the range. Some have nanoseconds.
_INSTANTS: Final = st.builds(
    lambda half_seconds, nanos: EPOCH * 10**6 + half_seconds * 500_000_000 + nanos,
    st.integers(-2, 14),
    st.sampled_from([0, 0, 0, 0, 1, 999_999, 1_000_000]),
)
# One to six times with equal distances of whole seconds.
_EVEN_AXES: Final = st.builds(
    lambda start, step, count: [EPOCH * 10**6 + (start + step * number) * 10**9 for number in range(count)],
    st.integers(0, 2),
    st.integers(1, 3),
    st.integers(1, 6),
)
_AXES: Final = st.one_of(_EVEN_AXES, st.lists(_INSTANTS, max_size=7))

#: The times of a series in nanoseconds.
Axis = list[int]


@dataclass(frozen=True)
class Pool:
    """Label sets and axes that the queries of one request share."""

    labels: Sequence[dict[str, str]]
    axes: Sequence[Axis]


def _labels(min_size: int) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(st.sampled_from(["a", "b", "A"]), st.sampled_from(["x", "y", "X", ""]), min_size=min_size, max_size=3)


#: Label sets, which may be empty.
LABELS: Final = _labels(0)
# Label sets of which some contain others, so that unions pair them.
_RELATED_LABELS: Final = st.lists(
    st.sampled_from([{"a": "x"}, {"a": "y"}, {"a": "x", "b": "x"}, {"a": "y", "b": "x"}, {"b": "x"}]), min_size=2, max_size=5
)
POOLS: Final = st.builds(
    Pool,
    st.one_of(st.lists(LABELS, min_size=1, max_size=5), st.lists(_labels(1), min_size=2, max_size=5), _RELATED_LABELS),
    st.lists(_AXES, min_size=1, max_size=3),
)


def time_column(axis: Axis) -> Json:
    """Return a column of times: milliseconds, and the nanoseconds that they lack."""
    nanos = [time % 10**6 for time in axis]
    return {"name": "t", "type": "time"}, [time // 10**6 for time in axis], None, nanos if any(nanos) else None


def number_column(values: Sequence[Value], labels: dict[str, str] | None, name: str = "", **fields: Json) -> Json:
    """Return a column of numbers. NaN and infinities are nulls in the values, and listed in the entities."""
    entities: dict[str, list[int]] = {}
    for row, value in enumerate(values):
        if value is not None and not isfinite(value):
            entities.setdefault("NaN" if isnan(value) else "Inf" if value > 0 else "NegInf", []).append(row)
    field = {"name": name, "type": "number", **({} if labels is None else {"labels": labels}), **fields}
    return field, [value if value is not None and isfinite(value) else None for value in values], entities or None, None


def text_column(texts: Sequence[str | None], name: str) -> Json:
    """Return a column of texts."""
    return {"name": name, "type": "string"}, list(texts), None, None


def frame(columns: Sequence[Json], name: str = "", meta: Json = None) -> Json:
    """Return a frame. Each column is a tuple: its field, and its ``values``, ``entities`` and ``nanos``."""
    members = zip(("values", "entities", "nanos"), ([column[index] for column in columns] for index in (1, 2, 3)), strict=True)
    data = {member: cells for member, cells in members if member == "values" or any(cells)}
    schema = {"fields": [field for field, _, _, _ in columns], **({"name": name} if name else {}), **({"meta": meta} if meta else {})}
    return {"schema": schema, "data": data}


def declared_meta(declared_type: str) -> Json:
    """Return the meta of a frame that declares its type."""
    return {"type": declared_type, "typeVersion": [0, 1]}


@st.composite
def _column(draw: st.DrawFn, pool: Pool, row_count: int) -> Json:
    """Draw a column of numbers with labels of the pool. One in ten has a display name."""
    config = {"config": {"displayName": "shown"}} if draw(st.integers(0, 9)) == 9 else {}
    values = draw(st.lists(_VALUES, min_size=row_count, max_size=row_count))
    return number_column(values, draw(st.sampled_from(pool.labels)), draw(_NAMES), **config)


@st.composite
def _frames_of_series(draw: st.DrawFn, pool: Pool, declared_type: str = "") -> Frames:
    """Draw a frame for each series, on an axis of the pool or on another one."""
    frames = []
    for _ in range(draw(st.integers(1, 4))):
        axis = draw(st.one_of(st.sampled_from(pool.axes), _AXES))
        columns = [time_column(axis), draw(_column(pool, len(axis)))]
        frames.append(frame(columns, draw(_NAMES) if draw(st.booleans()) else "", declared_meta(declared_type) if declared_type else None))
    return frames


@st.composite
def _wide_frame(draw: st.DrawFn, pool: Pool, declared_type: str = "") -> Frames:
    """Draw one frame with several series on one axis."""
    axis = draw(st.sampled_from(pool.axes))
    columns = [draw(_column(pool, len(axis))) for _ in range(draw(st.integers(1, 4)))]
    return [frame([time_column(axis), *columns], "", declared_meta(declared_type) if declared_type else None)]


@st.composite
def _text_columns(draw: st.DrawFn, row_count: int) -> list[Json]:
    """Draw up to two columns of texts, which become labels."""
    names = draw(st.lists(st.sampled_from(["a", "b", "A"]), max_size=2, unique=True))
    texts = st.lists(st.sampled_from(["x", "y", "X", "", None]), min_size=row_count, max_size=row_count)
    return [text_column(draw(texts), name) for name in names]


@st.composite
def _long_frame(draw: st.DrawFn, pool: Pool) -> Frames:
    """Draw a frame of declared type whose texts in each row are the labels of its series."""
    axis = draw(st.sampled_from(pool.axes))
    names = draw(st.lists(st.sampled_from(["v", "w"]), min_size=1, max_size=2, unique=True))
    values = st.lists(_VALUES, min_size=len(axis), max_size=len(axis))
    columns = [number_column(draw(values), None, name) for name in names]
    return [frame([time_column(axis), *columns, *draw(_text_columns(len(axis)))], "", declared_meta("timeseries-long"))]


@st.composite
def _table_frame(draw: st.DrawFn, _pool: Pool, declared_type: str = "") -> Frames:
    """Draw a frame with a number in each row, and texts as its labels."""
    row_count = draw(st.integers(0, 4))
    values = draw(st.lists(_VALUES, min_size=row_count, max_size=row_count))
    return [
        frame(
            [number_column(values, None, draw(_NAMES)), *draw(_text_columns(row_count))],
            "",
            declared_meta(declared_type) if declared_type else None,
        )
    ]


@st.composite
def _single_number_frames(draw: st.DrawFn, pool: Pool, declared_type: str) -> Frames:
    """Draw a frame for each number, which may have no row."""
    return [frame([draw(_column(pool, draw(st.integers(0, 1))))], "", declared_meta(declared_type)) for _ in range(draw(st.integers(1, 4)))]


@st.composite
def _wide_number_frame(draw: st.DrawFn, pool: Pool) -> Frames:
    """Draw one frame with several numbers in a row, or without a row."""
    row_count = draw(st.integers(0, 1))
    return [frame([draw(_column(pool, row_count)) for _ in range(draw(st.integers(1, 4)))], "", declared_meta("numeric-wide"))]


@st.composite
def _vector_frames(draw: st.DrawFn, pool: Pool) -> Frames:
    """Draw frames as Prometheus returns them for an instant query: a time and a number each."""
    meta = {"typeVersion": [0, 0], "custom": {"resultType": "vector"}}
    return [frame([time_column([draw(_INSTANTS)]), draw(_column(pool, 1))], "", meta) for _ in range(draw(st.integers(1, 3)))]


@st.composite
def _frames_without_values(draw: st.DrawFn, pool: Pool) -> Frames:
    """Draw series that have only nulls and NaN."""
    axis = draw(st.sampled_from(pool.axes))
    values = st.lists(st.sampled_from([None, None, nan]), min_size=len(axis), max_size=len(axis))
    labels = st.sampled_from(pool.labels)
    return [frame([time_column(axis), number_column(draw(values), draw(labels))]) for _ in range(draw(st.integers(1, 2)))]


_EMPTY: Final[list[Frames]] = [[], [frame([])], [frame([], "", declared_meta("timeseries-multi"))]]
# A text in frames of series, several rows in a frame of one number, and a declared type without numbers.
_UNREADABLE: Final[list[Frames]] = [
    [frame([time_column([EPOCH * 10**6]), number_column([1.0], None), text_column(["x"], "a")])],
    [frame([number_column([1.0, 2.0], None)], "", declared_meta("numeric-multi"))],
    [frame([number_column([1.0], None)], "", declared_meta("log-lines"))],
]


def queries(pool: Pool) -> st.SearchStrategy[tuple[str, Frames]]:
    """Draw the frames of a query, with the type of its items: ``series``, ``number`` or ``other``."""
    return st.one_of(
        st.tuples(st.just("series"), _frames_of_series(pool)),
        st.tuples(st.just("series"), _wide_frame(pool)),
        st.tuples(st.just("number"), _table_frame(pool)),
        st.tuples(st.just("series"), _frames_of_series(pool, "timeseries-multi")),
        st.tuples(st.just("number"), _single_number_frames(pool, "numeric-multi")),
        st.tuples(st.just("series"), _wide_frame(pool, "timeseries-wide")),
        st.tuples(st.just("number"), _wide_number_frame(pool)),
        st.tuples(st.just("series"), _long_frame(pool)),
        st.tuples(st.just("number"), _table_frame(pool, "numeric-long")),
        st.tuples(st.just("number"), _vector_frames(pool)),
        st.tuples(st.just("series"), _frames_without_values(pool)),
        st.tuples(st.just("other"), st.sampled_from(_EMPTY * 2 + _UNREADABLE)),
    )


def max_item_count(frames: Frames) -> int:
    """Return an upper bound of the number of items that the frames contain."""
    return sum(max(len(frame["data"]["values"]), *map(len, frame["data"]["values"]), 1) for frame in frames if frame["data"]["values"])

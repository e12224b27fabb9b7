"""Generated results of all other queries: series or a table with the columns that a panel reads from a query."""

import math
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tests.dashboards.panel_names import ReadName

from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.timerange import TimeRange

#: The lengths of a series and of a table.
_POINTS: Final = 40
_ROWS: Final = 6
_NANOS: Final = 1_000_000_000
#: Types of panels whose queries return tables unless the query requests another format.
_TABLE_PANELS: Final = frozenset({"table", "barchart", "piechart", "bargauge"})
#: The new name of a column in SQL, such as ``as "name"``.
_ALIAS: Final = re.compile(r"\bas\s+(?:\"([^\"]+)\"|\[([^\]]+)\]|`([^`]+)`|([A-Za-z_]\w*))", re.IGNORECASE)
#: The operator ``summarize`` of the Kusto query language, with its values and its keys.
_SUMMARIZE: Final = re.compile(r"\|\s*summarize\s+(.*?)(?:\bby\b([^|]*))?(?=\||$)", re.DOTALL)
#: A name that Kusto gives to a value, such as ``total`` in ``total = sum(x)``.
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_TIME_NAME: Final = re.compile(r"_?(time|timestamp|date|day|zeit|datum)(generated)?", re.IGNORECASE)
_TEXT_NAME: Final = re.compile(
    r".*(name|host|status|state|label|text|type|category|model|title|metric|path|id|version|level|user)", re.IGNORECASE
)
#: Words after ``as`` that are not names of columns, such as the types in ``cast(x as int)``.
_OTHER_WORDS: Final = frozenset(
    {"date", "int", "integer", "float", "text", "varchar", "numeric", "bigint", "timestamp", "string", "double", "select"}
)


def table_of_query(
    query: SourceQuery, panel_type: str, names: Sequence[ReadName], queries: Sequence[str], time_range: TimeRange
) -> list[Frame]:
    """Return a table for a query in a language that is not parsed, with the columns that query and panel name."""
    members = query.model_extra or {}
    text = "\n".join(_texts(members))
    # A name that only another query of the panel contains is that of a column of the other query.
    own_names = [
        read_name
        for read_name in names
        if _is_named(read_name.name, text) or not any(_is_named(read_name.name, str(other)) for other in queries)
    ]
    columns = {read_name.name: read_name.use for read_name in own_names}
    for name in _columns_of(members, text):
        columns.setdefault(name, "")
    if _returns_series(members, panel_type, columns):
        return list(_series(query, text, columns, time_range))
    return [_table(query.ref_id, columns, text, time_range)]


def _returns_series(members: dict[str, Any], panel_type: str, columns: dict[str, str]) -> bool:
    """Return whether the query returns series rather than a table, by its format, its panel and the use of its columns."""
    result_format = members.get("resultFormat") or members.get("format") or object_of(members.get("azureLogAnalytics")).get("resultFormat")
    if result_format in ("table", "logs", 1):  # 1 is the format table of data sources that number their formats.
        return False
    if result_format == "time_series" or members.get("queryType") == "Azure Monitor":
        return not any(use == "text" for use in columns.values())
    return panel_type not in _TABLE_PANELS and not any(use == "text" for use in columns.values())


def _columns_of(members: dict[str, Any], text: str) -> Iterator[str]:
    """Yield the columns that a query names itself."""
    for column in objects_of(members.get("columns")):
        yield string_of(column.get("text")) or string_of(column.get("selector"))
    if "select" in text.lower():
        for parts in _ALIAS.findall(text):
            name = next(part for part in parts if part)
            if name.lower() not in _OTHER_WORDS:
                yield name
    for values, keys in _SUMMARIZE.findall(text):
        yield from _ASSIGNMENT.findall(values)
        yield from (key.split("=")[0].strip() for key in keys.split(",") if key.split("=")[0].strip().isidentifier())
    if (alias := string_of(members.get("alias"))) and "$" not in alias and "{{" not in alias:
        yield alias


def _is_named(name: str, text: str) -> bool:
    """Return whether a text contains a name as a whole word."""
    return bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def _series(query: SourceQuery, text: str, columns: dict[str, str], time_range: TimeRange) -> Iterator[Frame]:
    """Yield a frame for each column of numbers; without any, three series with labels."""
    times = _times(time_range, _POINTS)
    names = [name for name in columns if not _TIME_NAME.fullmatch(name)]
    time_name = next((name for name in columns if _TIME_NAME.fullmatch(name)), "Time")
    # A query that groups by nothing returns one series.
    groups: list[dict[str, str]] = [{}] if "select" in text.lower() else [{"name": f"series-{number}"} for number in (1, 2, 3)]
    pairs: list[tuple[str, dict[str, str]]] = [(name, {}) for name in names] or [("Value", group) for group in groups]
    for index, (name, labels) in enumerate(pairs):
        values = _numbers(text + name, _POINTS, index)
        field = Field(name, FieldType.FLOAT64, values, labels=Labels.of(labels) if labels else None)
        yield Frame([Field(time_name, FieldType.TIME, times), field], ref_id=query.ref_id)


def _table(ref_id: str, columns: dict[str, str], text: str, time_range: TimeRange) -> Frame:
    """Return a table with the columns; if none of them is a time, text or number, one is added."""
    fields = [_column(name, use, index, text, time_range) for index, (name, use) in enumerate(columns.items())]
    types = {field.type for field in fields}
    if not fields or types == {FieldType.FLOAT64}:
        fields.insert(0, _column("name", "text", 0, text, time_range))
    if FieldType.FLOAT64 not in types:
        fields.append(_column("value", "number", 0, text, time_range))
    return Frame(fields, ref_id=ref_id)


def _column(name: str, use: str, index: int, text: str, time_range: TimeRange) -> Field:
    """Return a column with the type of its use or, if the use is empty, of its name."""
    if use == "time" or (not use and _TIME_NAME.fullmatch(name)):
        return Field(name, FieldType.TIME, _times(time_range, _ROWS))
    if use == "text" or (not use and _TEXT_NAME.fullmatch(name)):
        values = np.empty(_ROWS, dtype=object)
        values[:] = [f"{name}-{row % 4 + 1}" for row in range(_ROWS)]
        return Field(name, FieldType.STRING, values)
    return Field(name, FieldType.FLOAT64, _numbers(text + name, _ROWS, index))


def _times(time_range: TimeRange, count: int) -> NDArray[np.int64]:
    """Return equidistant times in nanoseconds, of whole milliseconds, from the start to the end of the range."""
    start, end = time_range.start.timestamp(), time_range.end.timestamp()
    return (np.linspace(start, end, count) * 1000).astype(np.int64) * (_NANOS // 1000)


def _numbers(seed: str, count: int, index: int) -> NDArray[np.float64]:
    """Return a wave of positive numbers. Its level depends on ``seed``, its phase on the index of the column."""
    level = 5.0 * (1 + zlib.crc32(seed.encode()) % 9)
    return np.array([round(level * (1.2 + math.sin((row + index) / 3)), 2) for row in range(count)], dtype=np.float64)


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON tree."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(item)

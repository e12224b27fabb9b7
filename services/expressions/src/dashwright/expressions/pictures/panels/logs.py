"""Log panels: lines with their times, coloured by level."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Final

import numpy as np

from dashwright.common.json_shapes import object_of
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.plots.time_ticks import local_time
from dashwright.expressions.pictures.svg import CODE_CHARACTER_WIDTH, TextRun, rectangle, rich_text_element, text_element

# Sizes are in pixels, lengths in characters.
_SIZE: Final = 12.0
_ROW_HEIGHT: Final = 18.0
_NOTE_SIZE: Final = 10.0
#: To the left of the lines, where a bar has the colour of the level.
_LEFT: Final = 14.0
_RIGHT: Final = 6.0
_TOP: Final = 4.0
#: From the baseline of a row to its lower end.
_DESCENT: Final = 5
#: The minimum length of a row in a narrow panel.
_MIN_COLUMNS: Final = 8
_MAX_LENGTH: Final = 5_000
#: The limits of the labels of a line.
_MAX_LABELS: Final = 20
_MAX_LABELS_LENGTH: Final = 300
#: Limit on the lines of a panel, which bounds the search for repetitions.
_MAX_LINES: Final = 20_000
#: Names of columns that Grafana's data plane contract defines for logs.
_BODY_NAMES: Final = ("body", "Line", "line", "message")
_LEVEL_NAMES: Final = ("severity", "level", "detected_level", "lvl", "loglevel")
#: The colour of each level, as in Grafana.
_LEVEL_COLOURS: Final = {
    "critical": "#705da0",
    "error": "#e24d42",
    "warning": "#eab839",
    "info": "#7eb26d",
    "debug": "#1f78c1",
    "trace": "#6ed0e0",
    "unknown": "#8e8e8e",
}
#: The level that each word means, as in Grafana.
_LEVELS: Final = {
    **dict.fromkeys(("emerg", "fatal", "alert", "crit", "critical"), "critical"),
    **dict.fromkeys(("err", "error"), "error"),
    **dict.fromkeys(("warn", "warning"), "warning"),
    **dict.fromkeys(("info", "information", "informational", "notice"), "info"),
    **dict.fromkeys(("dbug", "debug"), "debug"),
    "trace": "trace",
}
_LEVEL_WORD: Final = re.compile(rf"\b({'|'.join(_LEVELS)})\b", re.IGNORECASE)
#: The codes with which programs colour their output in terminals.
_TERMINAL_CODE: Final = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_ISO_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")
#: Patterns of the text that is removed from lines before a comparison, by strategy.
_IGNORED: Final = {"exact": _ISO_TIME, "numbers": re.compile(r"\d"), "signature": re.compile(r"\w")}
_MILLISECOND_NS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log."""

    nanoseconds: int  #: Since 1970.
    text: str
    level: str
    labels: str = ""
    count: int = 1  #: The number of equal lines that follow each other.


def draw(props: PanelProps) -> PanelDrawing:
    """Return the newest or oldest lines that fit. Raises NothingToDraw if no frame has times and texts."""
    lines = log_lines(props.frames, is_ascending=props.panel.options.get("sortOrder") == "Ascending")
    elements, shown_count = _rows(props, lines, props.height)
    if shown_count == len(lines):
        return PanelDrawing(elements)
    has_title = bool(props.panel.title.strip())
    if not has_title:
        elements, shown_count = _rows(props, lines, props.height - _ROW_HEIGHT)
    note = f"{shown_count} of {sum(frame.row_count for frame in props.frames)} lines"
    if not has_title:
        # Notes are next to titles. In a panel without a title, the note is in the last row.
        elements.append(
            text_element(note, props.width - _RIGHT, props.height - _DESCENT, size=_NOTE_SIZE, colour=props.theme.muted, anchor="end")
        )
    return PanelDrawing(elements, notes=[note])


def _rows(props: PanelProps, lines: Sequence[LogLine], height: float) -> tuple[list[str], int]:
    """Return the elements of the lines that fit into a height in pixels, and the number of these lines."""
    options = props.panel.options
    has_times, has_labels = options.get("showTime") is True, options.get("showLabels") is True
    is_wrapped = options.get("wrapLogMessage") is True
    column_count = max(int((props.width - _LEFT - _RIGHT) / (_SIZE * CODE_CHARACTER_WIDTH)), _MIN_COLUMNS)
    elements: list[str] = []
    y, shown_count = _TOP, 0
    for line in _deduplicated(lines, str(options.get("dedupStrategy"))):
        text = _pretty(line.text) if options.get("prettifyLogMessage") is True else line.text
        prefix = f"{_time_text(line.nanoseconds, props.zone)} " if has_times else ""
        count = f"{line.count}x " if line.count > 1 else ""
        labels = f"{line.labels} " if has_labels and line.labels else ""
        text_columns = max(column_count - len(prefix + count), _MIN_COLUMNS)
        rows = _wrapped(labels + text, text_columns) if is_wrapped else [_cut(" ".join((labels + text).split()), text_columns)]
        if y + _ROW_HEIGHT > height:
            break
        top = y
        for index, row in enumerate(rows):
            if y + _ROW_HEIGHT > height:
                break
            y += _ROW_HEIGHT
            runs = [
                TextRun(prefix if index == 0 else " " * len(prefix), _SIZE, props.theme.muted, code=True),
                TextRun(count if index == 0 else " " * len(count), _SIZE, props.theme.muted, code=True, bold=True),
                TextRun(row, _SIZE, props.theme.text, code=True),
            ]
            elements.append(rich_text_element([run for run in runs if run.text], _LEFT, y - _DESCENT))
        # The bar of the level, with gaps to those of other lines.
        elements.append(rectangle(6, top + 2, 3, y - top - 4, _LEVEL_COLOURS[line.level], radius=1))
        shown_count += line.count
    return elements, shown_count


def log_lines(frames: Sequence[Frame], *, is_ascending: bool) -> list[LogLine]:
    """Return the lines of frames by time, by default the newest first. Raises NothingToDraw for frames without lines."""
    lines: list[LogLine] = []
    for frame in frames:
        if len(lines) < _MAX_LINES:
            lines += _lines_of(frame, is_ascending=is_ascending)
    if not lines:
        is_empty = not any(frame.row_count for frame in frames)
        raise NothingToDraw("No data" if is_empty else "No lines in the data, which need a column of times and one of texts")
    return sorted(lines, key=lambda line: line.nanoseconds, reverse=not is_ascending)[:_MAX_LINES]


def _lines_of(frame: Frame, *, is_ascending: bool) -> Iterator[LogLine]:
    """Yield the lines of a frame by time; nothing if it lacks a column of times or one of texts."""
    time_field = frame.time_field
    text_fields = [field for field in frame.fields if field.type is FieldType.STRING]
    fields_by_name = {field.name: field for field in text_fields}
    body = next((fields_by_name[name] for name in _BODY_NAMES if name in fields_by_name), text_fields[0] if text_fields else None)
    if time_field is None or body is None:
        return
    level_field = next((fields_by_name[name] for name in _LEVEL_NAMES if name in fields_by_name and fields_by_name[name] is not body), None)
    labels_field = next((field for field in frame.fields if field.name == "labels" and field is not body), None)
    order = np.argsort(time_field.values, kind="stable")
    for row in (order if is_ascending else order[::-1])[:_MAX_LINES].tolist():
        labels = _labels(labels_field, body, row)
        text = _TERMINAL_CODE.sub("", str(body.values[row] or "")[:_MAX_LENGTH])
        level_name = (
            str(level_field.values[row] or "") if level_field else next((str(labels[name]) for name in _LEVEL_NAMES if name in labels), "")
        )
        pairs = ", ".join(f"{name}={value}" for name, value in list(labels.items())[:_MAX_LABELS])
        labels_text = "{" + pairs[:_MAX_LABELS_LENGTH] + "}" if labels else ""
        yield LogLine(int(time_field.values[row]), text, level_of(level_name, text), labels_text)


def _labels(field: Field | None, body: Field, row: int) -> Mapping[str, Any]:
    """Return the labels of a line: the value of the column ``labels``, or else the labels of the column of texts."""
    if field is None:
        return dict(body.labels.pairs) if body.labels else {}
    value = field.values[row]
    if isinstance(value, str | bytes):
        with contextlib.suppress(ValueError, RecursionError):
            return object_of(json.loads(value[:_MAX_LENGTH]))
    return object_of(value)


def level_of(level_name: str, text: str) -> str:
    """Return the level of a line: the level that ``level_name`` means, or else the first word in the text that means a level."""
    if level := _LEVELS.get(level_name.strip().lower()[:20]):
        return level
    match = _LEVEL_WORD.search(text)
    return _LEVELS[match[1].lower()] if match else "unknown"


def _deduplicated(lines: Sequence[LogLine], strategy: str) -> Iterator[LogLine]:
    """Yield the lines. Consecutive lines that a strategy considers equal become one line with their number."""
    ignored = _IGNORED.get(strategy)
    if ignored is None:
        yield from lines
        return
    last, last_key = None, None
    for line in lines:
        key = ignored.sub("", line.text)
        if last is not None and key == last_key:
            last = replace(last, count=last.count + 1)
            continue
        if last is not None:
            yield last
        last, last_key = line, key
    if last is not None:
        yield last


def _pretty(text: str) -> str:
    """Return JSON with indentation, and any other text unchanged."""
    if text.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            # Indentation makes a text longer.
            return json.dumps(json.loads(text), indent=2, ensure_ascii=False)[: 2 * _MAX_LENGTH]
    return text


def _wrapped(text: str, column_count: int) -> list[str]:
    """Return a text in rows of at most ``column_count`` characters."""
    rows = []
    for line in text.expandtabs(4).splitlines() or [""]:
        rows += [line[start : start + column_count] for start in range(0, max(len(line), 1), column_count)]
    return rows


def _cut(text: str, column_count: int) -> str:
    return text if len(text) <= column_count else text[: column_count - 1] + "…"


def _time_text(nanoseconds: int, zone: tzinfo) -> str:
    moment = local_time(nanoseconds / _MILLISECOND_NS, zone)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"

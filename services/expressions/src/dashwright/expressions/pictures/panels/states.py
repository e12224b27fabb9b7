"""States over time: each column of a panel's frames is a row of states, which have a text and a colour."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import object_of, objects_of
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.pictures.display.columns import DisplayColumn, columns_of
from dashwright.expressions.pictures.display.value_mappings import Value
from dashwright.expressions.pictures.panels.columns import is_hidden
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelProps
from dashwright.expressions.pictures.series import MAX_SERIES, float_values
from dashwright.expressions.pictures.style import TRANSPARENT, Style

#: Samples of a row; further ones are omitted.
_MAX_SAMPLES: Final = 50_000


@dataclass(frozen=True, slots=True)
class Sample:
    """A value at a time, as the panel shows it."""

    start: float  #: In milliseconds since 1970.
    end: float  #: When the next value follows, or when the value ends.
    text: str
    colour: str | None  #: None for a gap.


@dataclass(frozen=True, slots=True)
class StateRow:
    """A row of states, from one column."""

    name: str
    style: Style
    samples: Sequence[Sample]


def state_rows(props: PanelProps, *, names_bands: bool) -> list[StateRow]:
    """Return a row for each column that is not a time, at most ``MAX_SERIES``.

    ``names_bands`` gives numbers the text of their threshold's band, such as *< 80*, if thresholds colour them. Raises NothingToDraw if
    no frame has times.
    """
    timed = [(frame, times) for frame in props.frames if (times := _times(frame)) and frame.row_count]
    if not timed:
        raise NothingToDraw("No time in the data" if any(frame.row_count for frame in props.frames) else "No data")
    rows: list[StateRow] = []
    for columns, (_, times) in zip(columns_of([frame for frame, _ in timed], props.field_settings), timed, strict=True):
        for column in columns:
            if column.type != "time" and not is_hidden(column) and len(rows) < MAX_SERIES:
                style = Style(column.config, props.theme)
                rows.append(StateRow(column.name, style, list(_samples(column, style, times, props.end, names_bands=names_bands))))
    return rows


@dataclass(frozen=True, slots=True)
class _Times:
    """The times of a frame in milliseconds."""

    starts: NDArray[np.float64]
    ends: NDArray[np.float64] | None  #: Of a second time column.
    interval: float | None  #: The expected distance of two samples, after which a value ends.


def _times(frame: Frame) -> _Times | None:
    fields = [field for field in frame.fields if field.type is FieldType.TIME][:2]
    if not fields:
        return None
    starts, *others = (float_values(field) / 1e6 for field in fields)
    interval = (fields[0].config or {}).get("interval")
    return _Times(starts, others[0] if others else None, interval if isinstance(interval, int | float) and interval > 0 else None)


def _samples(column: DisplayColumn, style: Style, times: _Times, range_end: float, *, names_bands: bool) -> Iterator[Sample]:
    values = column.values(_MAX_SAMPLES)
    order = np.argsort(times.starts[:_MAX_SAMPLES], kind="stable")
    starts = times.starts[order].tolist()
    ends = None if times.ends is None else times.ends[order].tolist()
    shown = _Appearance(column, style, names_bands=names_bands)
    interval = _number(style.custom.get("insertNulls")) or times.interval
    spans_nulls = style.custom.get("spanNulls") is True
    kept = [index for index in range(len(starts)) if starts[index] == starts[index] and not (spans_nulls and values[order[index]] is None)]
    for position, index in enumerate(kept):
        start = starts[index]
        end = starts[kept[position + 1]] if position + 1 < len(kept) else range_end
        if interval and not spans_nulls:
            # A distance may be longer by rounding.
            end = min(end, start + interval) if end - start > interval * 1.01 else end
        if ends is not None and ends[index] == ends[index]:
            end = min(end, ends[index])
        text, colour = shown.of(values[order[index]])
        yield Sample(start, max(end, start), text, colour)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


class _Appearance:
    """The texts and colours of the values of one column."""

    def __init__(self, column: DisplayColumn, style: Style, *, names_bands: bool) -> None:
        self._processor = column.processor
        self._bands = band_names(style) if names_bands and column.type == "number" else []
        self._known: dict[Any, tuple[str, str | None]] = {}

    def of(self, value: Value) -> tuple[str, str | None]:
        """Return the text and the colour of a value; without a colour it is a gap."""
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        # True is equal to 1, but not shown like it.
        key = (type(value), value)
        if key not in self._known:
            self._known[key] = self._band(value) if self._bands and isinstance(value, float) else self._display(value)
        return self._known[key]

    def _band(self, value: float) -> tuple[str, str | None]:
        reached = [band for band in self._bands if band[0] is None or value >= band[0]]
        return reached[-1][1:] if reached else self._bands[0][1:]

    def _display(self, value: Value) -> tuple[str, str | None]:
        shown = self._processor.display(value)
        # A mapping that colours a value leaves it without a place in the range.
        is_gap = (value is None and shown.share is not None) or shown.colour == TRANSPARENT
        return str(shown), None if is_gap else shown.colour


def band_names(style: Style) -> list[tuple[float | None, str, str | None]]:
    """Return the lower end, the text and the colour of each band between thresholds; no bands if thresholds do not decide the colour."""
    mode = object_of(style.config.get("color")).get("mode")
    if mode != "thresholds" or objects_of(style.config.get("mappings")):
        return []
    steps = style.thresholds(minimum=style.minimum or 0, maximum=100 if style.maximum is None else style.maximum)
    if len(steps) < 2:
        return []
    texts = [f"< {style.format_value(steps[1].value)}", *(f"{style.format_value(step.value)}+" for step in steps[1:])]
    return [
        (None if index == 0 else step.value, text, None if step.colour == TRANSPARENT else step.colour)
        for index, (step, text) in enumerate(zip(steps, texts, strict=True))
    ]


def merged(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples with neighbours of equal text and colour as one."""
    found: list[Sample] = []
    for sample in samples:
        last = found[-1] if found else None
        if last and (last.text, last.colour) == (sample.text, sample.colour) and last.end >= sample.start:
            found[-1] = replace(last, end=sample.end)
        else:
            found.append(sample)
    return found


def legend_states(rows: Sequence[StateRow]) -> list[tuple[str, str]]:
    """Return the distinct texts of states with their colours: the bands of thresholds, else the states that occur."""
    if rows and (bands := band_names(rows[0].style)):
        return [(text, colour) for _, text, colour in bands if colour]
    colours = {sample.text: sample.colour for row in rows for sample in row.samples if sample.text and sample.colour}
    return list(colours.items())

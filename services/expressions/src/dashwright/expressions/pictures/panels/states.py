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
from dashwright.expressions.pictures.display.thresholds import TRANSPARENT
from dashwright.expressions.pictures.display.values import Value, values_of
from dashwright.expressions.pictures.panels.columns import is_hidden
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelProps
from dashwright.expressions.pictures.series import MAX_SERIES, float_values
from dashwright.expressions.pictures.style import Style

_NANOS_PER_MILLISECOND: Final = 1e6


@dataclass(frozen=True, slots=True)
class Sample:
    """A value at a time, as the panel shows it."""

    start: float  #: In milliseconds since 1970.
    end: float  #: The time of the next value, or the time at which this one ends.
    text: str
    colour: str | None  #: None for a gap.


@dataclass(frozen=True, slots=True)
class StateRow:
    """A row of states, from one column."""

    name: str
    style: Style
    samples: Sequence[Sample]


@dataclass(frozen=True, slots=True)
class StateColumn:
    """A column whose values are states, with the times of its frame."""

    column: DisplayColumn
    times: "_Times"


def state_columns(props: PanelProps) -> list[StateColumn]:
    """Return the visible columns that are not times, at most ``MAX_SERIES``. Raises NothingToDraw if no frame has times."""
    timed_frames = [(frame, times) for frame in props.frames if frame.row_count and (times := _times(frame))][:MAX_SERIES]
    if not timed_frames:
        raise NothingToDraw("No time in the data" if any(frame.row_count for frame in props.frames) else "No data")
    columns = columns_of([frame for frame, _ in timed_frames], props.field_settings)
    state_columns = [
        StateColumn(column, times) for (_, times), frame_columns in zip(timed_frames, columns, strict=True) for column in frame_columns
    ]
    visible = [item for item in state_columns if item.column.type != "time" and not is_hidden(item.column)]
    if not visible:
        raise NothingToDraw("No data")
    return visible[:MAX_SERIES]


def state_rows(props: PanelProps, columns: Sequence[StateColumn], *, names_bands: bool) -> list[StateRow]:
    """Return the row of each column. Of several samples that begin in one pixel, a row has only the first.

    ``names_bands`` gives numbers the text of their threshold's band, such as *< 80*, if thresholds colour them.
    """
    return [_row(props, item, names_bands=names_bands) for item in columns]


@dataclass(frozen=True, slots=True)
class _Times:
    """The times of a frame in milliseconds."""

    starts: NDArray[np.float64]
    ends: NDArray[np.float64] | None  #: The times in a second time column, or None without one.
    interval: float | None  #: The expected distance of two samples, after which a value ends.


def _times(frame: Frame) -> _Times | None:
    """Return the times of a frame, or None if it has no column of times."""
    fields = [field for field in frame.fields if field.type is FieldType.TIME][:2]
    if not fields:
        return None
    starts, *further_times = (float_values(field) / _NANOS_PER_MILLISECOND for field in fields)
    interval = (fields[0].config or {}).get("interval")
    return _Times(
        starts, further_times[0] if further_times else None, interval if isinstance(interval, int | float) and interval > 0 else None
    )


def _row(props: PanelProps, item: StateColumn, *, names_bands: bool) -> StateRow:
    style = Style(item.column.config, props.theme)
    return StateRow(item.column.name, style, list(_samples(props, item, _Appearance(item.column, style, names_bands=names_bands))))


def _samples(props: PanelProps, item: StateColumn, appearance: "_Appearance") -> Iterator[Sample]:
    """Yield the samples of a column by time. A sample ends at the earliest of the next sample, its interval, and its stored end."""
    values, custom = values_of(item.column.field), object_of(item.column.config.get("custom"))
    interval = _positive_number(custom.get("insertNulls")) or item.times.interval
    spans_nulls = custom.get("spanNulls") is True
    order = np.argsort(item.times.starts, kind="stable")
    order = order[~np.isnan(item.times.starts[order])]
    if spans_nulls:
        order = order[np.array([values[index] is not None for index in order.tolist()], dtype=bool)]
    starts = item.times.starts[order]
    first_indexes = _first_of_pixels(starts, props)
    next_indexes = np.append(first_indexes[1:], len(order))
    for index, next_index in zip(first_indexes.tolist(), next_indexes.tolist(), strict=True):
        end = float(starts[next_index]) if next_index < len(order) else props.end
        last_start = float(starts[next_index - 1])
        # The tolerance is for rounded times.
        if interval and not spans_nulls and end - last_start > interval * 1.01:
            end = last_start + interval
        # The last sample of the pixel determines when the state ends.
        stored_end = math.nan if item.times.ends is None else float(item.times.ends[order[next_index - 1]])
        if not math.isnan(stored_end):
            end = min(end, stored_end)
        start = float(starts[index])
        text, colour = appearance.of(values[order[index]])
        yield Sample(start, max(end, start), text, colour)


def _first_of_pixels(starts: NDArray[np.float64], props: PanelProps) -> NDArray[np.int64]:
    """Return the indexes of the last time before the range and, for each pixel, of the first time in it. The times ascend."""
    pixels = np.floor((starts - props.start) / ((props.end - props.start) or 1.0) * props.width)
    pixels = np.clip(pixels, -1, props.width)
    # The slice is for an empty column.
    is_first = np.append(True, np.diff(pixels) > 0)[: len(pixels)]
    before = np.flatnonzero(pixels < 0)
    if len(before):
        is_first[before] = False
        is_first[before[-1]] = True
    return np.flatnonzero(is_first)


def _positive_number(value: Any) -> float | None:
    """Return a positive number, or None for any other value."""
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
        """Return the text and the colour of the band of a number: the highest one that it reaches."""
        reached_bands = [band for band in self._bands if band[0] is None or value >= band[0]]
        return reached_bands[-1][1:] if reached_bands else self._bands[0][1:]

    def _display(self, value: Value) -> tuple[str, str | None]:
        """Return the text and the colour of a value; null is a gap unless a mapping colours it."""
        display = self._processor.display(value)
        # A mapping that colours a value leaves it without a place in the range.
        is_gap = (value is None and display.share is not None) or display.colour == TRANSPARENT
        return str(display), None if is_gap else display.colour


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
    merged_samples: list[Sample] = []
    for sample in samples:
        last = merged_samples[-1] if merged_samples else None
        if last and (last.text, last.colour) == (sample.text, sample.colour) and last.end >= sample.start:
            merged_samples[-1] = replace(last, end=sample.end)
        else:
            merged_samples.append(sample)
    return merged_samples


def legend_states(rows: Sequence[StateRow]) -> list[tuple[str, str]]:
    """Return the distinct texts of states with their colours: the bands of thresholds, else the states that occur."""
    if rows and (bands := band_names(rows[0].style)):
        return [(text, colour) for _, text, colour in bands if colour]
    colours = {sample.text: sample.colour for row in rows for sample in row.samples if sample.text and sample.colour}
    return list(colours.items())

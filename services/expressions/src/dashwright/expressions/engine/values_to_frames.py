"""Conversion of values to frames of the data plane contract: ``timeseries-multi`` and ``numeric-multi``, version 0.1."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.expression import Match, Outcome
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import NO_LABELS, Labels
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Cells, Floats, Mask, NoData, Numbers, Scalar, Series, Values

_SERIES_META: dict[str, Any] = {"type": "timeseries-multi", "typeVersion": [0, 1]}
_NUMBER_META: dict[str, Any] = {"type": "numeric-multi", "typeVersion": [0, 1]}


def frames_of(outcome: Outcome, ref_id: str) -> list[Frame]:
    """Return the outcome as frames: one for each item, whose value field is named ``ref_id``.

    A table is one frame. Warnings become notices of the first frame. Classic conditions give one frame, whose value field
    has no name and whose ``meta.custom`` has the matches.
    """
    if outcome.matches is not None:
        return [_classic_frame(outcome.values, outcome.matches, ref_id)]
    frames = _table_frames(outcome.values, ref_id) if isinstance(outcome.values, Table) else list(_frames_of_values(outcome.values, ref_id))
    if frames and outcome.warnings:
        notices = [{"severity": "warning", "text": warning} for warning in outcome.warnings]
        frames[0] = replace(frames[0], meta={**(frames[0].meta or {}), "notices": notices})
    return frames


def _table_frames(table: Table, ref_id: str) -> list[Frame]:
    return [Frame(frame.fields, ref_id, ref_id, frame.meta) for frame in table.frames]


def _frames_of_values(values: Values, ref_id: str) -> Iterator[Frame]:
    match values:
        case NoData():
            yield Frame(name="no data", ref_id=ref_id)
        case Scalar(cells=cells):
            nulls = None if cells.nulls is None else cells.nulls.reshape(1)
            yield Frame([_value_field(cells.values.reshape(1), nulls, ref_id)], ref_id=ref_id, meta=_NUMBER_META)
        case Numbers(cells=cells):
            numbers, masks = _row_views(cells.at((slice(None), None)))
            for labels, number, mask in zip(values.labels, numbers, masks, strict=True):
                yield Frame([_value_field(number, mask, ref_id, labels)], ref_id=ref_id, meta=_NUMBER_META)
        case Series():
            time_fields = [_time_field(block.axis) for block in values.blocks]
            block_rows = [_row_views(block.cells) for block in values.blocks]
            for labels, block, row in zip(values.labels, values.block_of.tolist(), values.row_of.tolist(), strict=True):
                points, masks = block_rows[block]
                yield Frame([time_fields[block], _value_field(points[row], masks[row], ref_id, labels)], ref_id=ref_id, meta=_SERIES_META)


def _classic_frame(values: Values | Table, matches: Iterable[Match], ref_id: str) -> Frame:
    assert isinstance(values, Numbers)
    return Frame(
        [_value_field(values.cells.values, values.cells.nulls, "")],
        ref_id=ref_id,
        meta={**_NUMBER_META, "custom": [_match_json(match) for match in matches]},
    )


def _match_json(match: Match) -> dict[str, Any]:
    return {"value": _format_decimal(match.value), "metric": match.metric, "labels": dict(match.labels.pairs) or None}


def _format_decimal(value: float | None) -> str:
    """Return the shortest decimal that parses to the value, without an exponent; an empty string for None (null)."""
    if value is None:
        return ""
    if math.isfinite(value):
        return np.format_float_positional(value, trim="-")
    # Infinities are +Inf and -Inf, as Go formats them.
    return "NaN" if math.isnan(value) else f"{value:+}".title()


def _time_field(axis: Axis) -> Field:
    return Field("Time", FieldType.TIME, axis.times)


def _row_views(cells: Cells) -> tuple[list[Floats], list[Mask | None]]:
    """Return views of the values of each row, and of the null mask of each row."""
    # ``list`` creates the views far faster than an index for each row would.
    return list(cells.values), [None] * len(cells.values) if cells.nulls is None else list(cells.nulls)


def _value_field(values: Floats, nulls: Mask | None, name: str, labels: Labels = NO_LABELS) -> Field:
    return Field(name, FieldType.FLOAT64, values, nulls, True, labels if labels is not NO_LABELS else None)

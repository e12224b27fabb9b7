"""Conversion of values to frames of the data plane contract: ``timeseries-multi`` and ``numeric-multi``, version 0.1."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dashwright.expressions.engine.expression import Match, Outcome
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_set import FrameSet, first_meta, with_first_meta
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Cells, Floats, Mask, NoData, Numbers, Scalar, Series, Values

_SERIES_META: dict[str, Any] = {"type": "timeseries-multi", "typeVersion": [0, 1]}
_NUMBER_META: dict[str, Any] = {"type": "numeric-multi", "typeVersion": [0, 1]}


def frames_of(outcome: Outcome, ref_id: str) -> Sequence[Frame]:
    """Return the outcome as frames: one for each item, whose value field is named ``ref_id``.

    A table is one frame. Warnings become notices of the first frame. Classic conditions give one frame, whose value field
    has no name and whose ``meta.custom`` has the matches.
    """
    if outcome.matches is not None:
        return [_classic_frame(outcome.values, outcome.matches, ref_id)]
    match outcome.values:
        case Table(frames=tables):
            frames: Sequence[Frame] = [Frame(table.fields, name=ref_id, ref_id=ref_id, meta=table.meta) for table in tables]
        case Series():
            frames = FrameSet(outcome.values, _SERIES_META, ref_id=ref_id, value_name=ref_id)
        case Numbers():
            frames = FrameSet(outcome.values, _NUMBER_META, ref_id=ref_id, value_name=ref_id)
        case Scalar(cells=cells):
            frames = [_scalar_frame(cells, ref_id)]
        case NoData():
            frames = [Frame(name="no data", ref_id=ref_id)]
    if not frames or not outcome.warnings:
        return frames
    notices = [{"severity": "warning", "text": warning} for warning in outcome.warnings]
    return with_first_meta(frames, {**(first_meta(frames) or {}), "notices": notices})


def _scalar_frame(cells: Cells, ref_id: str) -> Frame:
    nulls = None if cells.nulls is None else cells.nulls.reshape(1)
    return Frame([_value_field(cells.values.reshape(1), nulls, ref_id)], ref_id=ref_id, meta=_NUMBER_META)


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


def _value_field(values: Floats, nulls: Mask | None, name: str) -> Field:
    return Field(name, FieldType.FLOAT64, values, nulls, nullable=True)

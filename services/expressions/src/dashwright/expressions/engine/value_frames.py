"""Values as frames, in the shapes of the data plane contract: ``timeseries-multi`` and ``numeric-multi``, version 0.1."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.expression import Match, Outcome
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import NONE, Labels
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Cells, Floats, Mask, NoData, Numbers, Scalar, Series, Values

_SERIES: dict[str, Any] = {"type": "timeseries-multi", "typeVersion": [0, 1]}
_NUMBER: dict[str, Any] = {"type": "numeric-multi", "typeVersion": [0, 1]}


def frames_of(outcome: Outcome, ref_id: str) -> list[Frame]:
    """Return the outcome as frames, one an item, whose value field has the refId as its name.

    A table is one frame. Warnings become notices of the first frame. The number of classic conditions has no name, and
    the matches as ``custom`` in its meta.
    """
    if outcome.matches is not None:
        return [_judgement(outcome.values, outcome.matches, ref_id)]
    frames = _tables(outcome.values, ref_id) if isinstance(outcome.values, Table) else list(_frames(outcome.values, ref_id))
    if frames and outcome.warnings:
        notices = [{"severity": "warning", "text": text} for text in outcome.warnings]
        frames[0] = replace(frames[0], meta={**(frames[0].meta or {}), "notices": notices})
    return frames


def _tables(table: Table, ref_id: str) -> list[Frame]:
    return [Frame(frame.fields, ref_id, ref_id, frame.meta) for frame in table.frames]


def _frames(values: Values, ref_id: str) -> Iterator[Frame]:
    match values:
        case NoData():
            yield Frame(name="no data", ref_id=ref_id)
        case Scalar(cells=cells):
            nulls = None if cells.nulls is None else cells.nulls.reshape(1)
            yield Frame([_value(cells.values.reshape(1), nulls, ref_id)], ref_id=ref_id, meta=_NUMBER)
        case Numbers(labels=labels, cells=cells):
            for item, value, null in zip(labels, *_rows(cells.at((slice(None), None))), strict=True):
                yield Frame([_value(value, null, ref_id, item)], ref_id=ref_id, meta=_NUMBER)
        case Series():
            times = [_time(block.axis) for block in values.blocks]
            rows = [_rows(block.cells) for block in values.blocks]
            for item, block, row in zip(values.labels, values.block_of.tolist(), values.row_of.tolist(), strict=True):
                points, nulls = rows[block]
                yield Frame([times[block], _value(points[row], nulls[row], ref_id, item)], ref_id=ref_id, meta=_SERIES)


def _judgement(values: Values | Table, matches: Iterable[Match], ref_id: str) -> Frame:
    assert isinstance(values, Numbers)
    return Frame(
        [_value(values.cells.values, values.cells.nulls, "")],
        ref_id=ref_id,
        meta={**_NUMBER, "custom": [_match(match) for match in matches]},
    )


def _match(match: Match) -> dict[str, Any]:
    return {"value": _decimal(match.value), "metric": match.metric, "labels": dict(match.labels.pairs) or None}


def _decimal(value: float | None) -> str:
    """Return the shortest decimal that parses to the value, without an exponent."""
    if value is None:
        return ""
    if math.isfinite(value):
        return np.format_float_positional(value, trim="-")
    return "NaN" if math.isnan(value) else f"{value:+}".title()


def _time(axis: Axis) -> Field:
    return Field("Time", FieldType.TIME, axis.times)


def _rows(cells: Cells) -> tuple[list[Floats], list[Mask | None]]:
    """Return views of all rows, created in one step because one view at a time costs far more."""
    return list(cells.values), [None] * len(cells.values) if cells.nulls is None else list(cells.nulls)


def _value(values: Floats, nulls: Mask | None, name: str, labels: Labels = NONE) -> Field:
    return Field(name, FieldType.FLOAT64, values, nulls, True, labels if labels is not NONE else None)

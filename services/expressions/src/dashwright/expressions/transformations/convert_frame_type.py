"""Conversion of series to exemplars."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dashwright.common.json_shapes import object_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import DataFrame, Frames


def convert_frame_type(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the frames as exemplars if that is the ``targetType``, else unchanged."""
    return [_exemplars(frame) for frame in frames] if options.get("targetType") == "exemplar" else frames


def _exemplars(frame: DataFrame) -> DataFrame:
    meta = frame.meta or {}
    custom = {**object_of(meta.get("custom")), "resultType": "exemplar"}
    return replace(frame, name="exemplar", meta={**meta, "dataTopic": "annotations", "custom": custom})

"""Join of frames by a column."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from dashwright.common.json_shapes import string_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Frames, joined_ref_id
from dashwright.expressions.transformations.joins import Joiner, inner_join, join_frames, outer_join, outer_tabular_join
from dashwright.expressions.transformations.matchers.fields import named

_MODES: Final[Mapping[str, Joiner]] = {"outer": outer_join, "inner": inner_join, "outerTabular": outer_tabular_join}


def join_by_field(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return all frames joined by the column ``byField``, by default the first time column. One frame is unchanged."""
    if len(frames) < 2:
        return frames
    name = string_of(options.get("byField"))
    joined_frame = join_frames(frames, context, named(name) if name else None, _MODES.get(string_of(options.get("mode"))))
    return frames if joined_frame is None else [replace(joined_frame, ref_id=joined_ref_id("joinByField", frames))]


def join_series(frames: Frames, context: Context) -> Frames:
    """Return the frames as one if all have a time column of the same name, joined by it; else unchanged."""
    time_columns = [frame.time_column for frame in frames]
    names = {column.name if column else "" for column in time_columns}
    if len(names) != 1 or not all(names):
        return frames
    return join_by_field(frames, {"byField": names.pop()}, context)

"""Filters of columns by name and of frames by query."""

from collections.abc import Callable, Mapping
from typing import Any

from dashwright.common.json_shapes import list_of, object_of, string_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import DataFrame, Frames
from dashwright.expressions.transformations.matchers.fields import MatchedColumn, field_matcher
from dashwright.expressions.transformations.matchers.frames import frame_matcher
from dashwright.expressions.transformations.names import DisplayNames

_Condition = Mapping[str, Any] | None


def filter_fields_by_name(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the columns that ``include`` matches and ``exclude`` does not, by names, a pattern or a variable."""
    by_variable = bool(options.get("byVariable"))
    include, exclude = (_name_condition(options.get(key), by_variable=by_variable) for key in ("include", "exclude"))
    return filtered_columns(frames, include, exclude)


def _name_condition(options: Any, *, by_variable: bool) -> _Condition:
    """Return the condition of fields for names, a pattern or both; None without names and pattern."""
    settings = object_of(options)
    variable = string_of(settings.get("variable"))
    if by_variable and variable:
        text = variable[1:-1] if variable.startswith("{") and variable.endswith("}") else variable
        return {"id": "byNames", "options": {"names": text.split(",")}}
    names, pattern = list_of(settings.get("names")), string_of(settings.get("pattern"))
    if names and pattern:
        return {"id": "byRegexpOrNames", "options": {"names": names, "pattern": pattern}}
    if names:
        return {"id": "byNames", "options": {"names": names}}
    return {"id": "byRegexp", "options": pattern} if pattern else None


def filter_fields(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the columns that the condition ``include`` matches and ``exclude`` does not."""
    return filtered_columns(frames, options.get("include"), options.get("exclude"))


def filtered_columns(frames: Frames, include: _Condition, exclude: _Condition) -> Frames:
    """Return the columns that match ``include`` and not ``exclude``. Frames without such a column are left out."""
    if not include and not exclude:
        return frames
    names = DisplayNames(frames)
    is_kept = _combined(field_matcher(object_of(include)) if include else None, field_matcher(object_of(exclude)) if exclude else None)
    filtered_frames = [
        frame.with_columns([column for column in frame.columns if is_kept(MatchedColumn(column, frame, names))]) for frame in frames
    ]
    return [frame for frame in filtered_frames if frame.columns]


def _combined(include: Callable[[Any], bool] | None, exclude: Callable[[Any], bool] | None) -> Callable[[Any], bool]:
    """Return the condition of items that ``include`` matches (all if None) and ``exclude`` does not match."""
    return lambda item: not (exclude and exclude(item)) and (include is None or include(item))


def filter_frames(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the frames that the condition ``include`` matches and ``exclude`` does not."""
    include, exclude = (frame_matcher(object_of(options[key])) if options.get(key) else None for key in ("include", "exclude"))
    is_kept: Callable[[DataFrame], bool] = _combined(include, exclude)
    return [frame for frame in frames if is_kept(frame)]


def filter_by_ref_id(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the frames of queries: ``include`` and ``exclude`` are a refId, several as in ``A|B``, or a pattern."""
    conditions = {key: {"id": "byRefId", "options": options[key]} for key in ("include", "exclude") if options.get(key)}
    return filter_frames(frames, conditions, context)

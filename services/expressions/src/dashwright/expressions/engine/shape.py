"""The shape of a frame, as the data plane contract names shapes: by its columns, or as the frame itself declares it."""

from enum import StrEnum

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.frame import NUMERIC, Field, FieldType, Frame


class FrameLayout(StrEnum):
    """How the columns of an undeclared frame look: ``wide`` has a time column and numbers, ``long`` also text or booleans."""

    WIDE = "wide"
    LONG = "long"
    NOT = "not"


VALUES = NUMERIC | {FieldType.BOOL}
"""Types of columns that hold what is measured."""

NEWEST_VERSION = (0, 1)
"""Of the data plane's types, as far as they are known here."""

_DIMENSIONS = frozenset({FieldType.STRING, FieldType.BOOL})


def layout_of(frame: Frame) -> FrameLayout:
    kinds = {item.type for item in frame.fields}
    if FieldType.TIME not in kinds or kinds.isdisjoint(NUMERIC):
        return FrameLayout.NOT
    return FrameLayout.WIDE if kinds.isdisjoint(_DIMENSIONS) else FrameLayout.LONG


def time_field(frame: Frame) -> Field | None:
    """The first time column; further ones do not count."""
    for item in frame.fields:
        if item.type is FieldType.TIME:
            return item
    return None


def declared_type(frame: Frame) -> str:
    """The ``type`` of the frame's meta where a ``typeVersion`` other than 0.0 stands beside it, else the empty text."""
    meta = frame.meta or {}
    return str(meta.get("type") or "") if any(meta.get("typeVersion") or ()) else ""


def newer_version(frame: Frame) -> str:
    """The version that the frame declares where it is above those known, such as ``1.0``, else the empty text."""
    version = (frame.meta or {}).get("typeVersion") or NEWEST_VERSION
    return ".".join(map(str, version)) if declared_type(frame) and tuple(version) > NEWEST_VERSION else ""


def is_number_table(frame: Frame) -> bool:
    """One numeric column and otherwise text."""
    kinds = [item.type for item in frame.fields]
    return sum(kind.is_numeric for kind in kinds) == 1 and all(kind.is_numeric or kind is FieldType.STRING for kind in kinds)


def is_instant_vector(frame: Frame) -> bool:
    """One sample with its time, as a Prometheus instant query answers it."""
    if frame.meta is None:
        return False
    custom = frame.meta.get("custom")
    return isinstance(custom, dict) and custom.get("resultType") == "vector" and len(frame.fields) == 2 and frame.rows == 1


def times_of(frame: Frame) -> Field:
    """The time column. Raises BadRequest where it is missing or has nulls."""
    times = time_field(frame)
    if times is None:
        raise BadRequest("a time series needs a time field and this frame has none; add one or declare the frame as numeric")
    if times.nulls is not None and times.nulls.any():
        raise BadRequest("time series with null time stamps are not supported; make sure that no time is null")
    return times

"""Display names of columns and frames, by the rules of Grafana's ``getFieldDisplayName`` and ``getFrameDisplayName``."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import member_at
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels

#: The name of columns that are named by their labels or frame.
_VALUE_NAME: Final = "Value"


class ColumnNames:
    """The display names of the columns of frames that a panel shows together."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        names = {frame.name for frame in frames}
        keys = {key for frame in frames for field in frame.fields if field.labels for key in field.labels.keys}
        self._frame_names_differ = len(names) > 1
        self._only_label = next(iter(keys)) if len(keys) == 1 else None

    def of_field(self, field: Field, frame: Frame, config: Mapping[str, Any]) -> str:
        """Return the name of a column of ``frame`` with a configuration, which may contain a ``displayName``."""
        for setting in ("displayName", "displayNameFromDS"):
            if isinstance(configured := config.get(setting), str) and configured:
                return configured
        if field.type is FieldType.TIME and not field.labels:
            return field.name or "Time"
        name = self._composed_name(field, frame)
        if name == field.name:
            name = _numbered_name(field, frame)
        is_comparison = member_at(frame.meta, "timeCompare", "isTimeShiftQuery") is True
        return f"{name} (comparison)" if is_comparison else name

    def _composed_name(self, field: Field, frame: Frame) -> str:
        label_text = self._label_text(field.labels) if field.labels else ""
        frame_name = frame.name if self._frame_names_differ else ""
        field_name = "" if field.name == _VALUE_NAME else field.name
        if not frame_name and not label_text and field.name == _VALUE_NAME:
            frame_name = frame.name
        return " ".join(part for part in (frame_name, field_name, label_text) if part) or field.name or _VALUE_NAME

    def _label_text(self, labels: Labels) -> str:
        """Return the value of the only label that the columns have, else all labels."""
        return dict(labels.pairs).get(self._only_label, "") if self._only_label else "{" + label_list(labels) + "}"


def frame_display_name(frame: Frame, index: int | None = None) -> str:
    """Return the name of a frame, else that of its only column besides the times, else the refId or the index in words."""
    if frame.name:
        return frame.name
    value_fields = [field for field in frame.fields if field.type is not FieldType.TIME]
    if len(value_fields) == 1:
        return ColumnNames([frame]).of_field(value_fields[0], frame, value_fields[0].config or {})
    return f"Series ({frame.ref_id or ('' if index is None else index)})"


def label_list(labels: Labels | None) -> str:
    """Return the labels as ``key="value"``, joined by commas."""
    return ", ".join(f'{key}="{value}"' for key, value in labels.pairs) if labels else ""


def _numbered_name(field: Field, frame: Frame) -> str:
    """Return the name of a column, with its number if several columns of the frame have the name."""
    namesakes = [other for other in frame.fields if other.name == field.name]
    position = next((number for number, other in enumerate(namesakes, 1) if other is field), None)
    return f"{field.name} {position}" if position and len(namesakes) > 1 else field.name

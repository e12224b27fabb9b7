"""Display names of columns and frames, by the rules of Grafana's ``getFieldDisplayName`` and ``getFrameDisplayName``."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.transformations.names import TIME_NAME, comparison_suffix, composed_name, configured_name


class ColumnNames:
    """The display names of the columns of frames that a panel shows together."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        names = {frame.name for frame in frames}
        keys = {key for frame in frames for field in frame.fields if field.labels for key in field.labels.keys}
        self._frame_names_differ = len(names) > 1
        self._single_label = next(iter(keys)) if len(keys) == 1 else None

    def of_field(self, field: Field, frame: Frame, config: Mapping[str, Any], *, has_times: bool = False) -> str:
        """Return the name of a column of ``frame`` with a configuration, which may contain a ``displayName``.

        ``has_times`` is True for a column of documents whose cells are times.
        """
        suffix = comparison_suffix(frame.meta)
        if configured := configured_name(config):
            return configured + suffix
        labels = None if field.labels is None else dict(field.labels.pairs)
        # Grafana treats an empty set of labels, which a join adds, unlike no labels: it numbers such columns of times.
        if (has_times or field.type is FieldType.TIME) and labels is None:
            return field.name or TIME_NAME
        differ, label = self._frame_names_differ, self._single_label
        name = composed_name(field.name, labels, frame.name, names_differ=differ, single_label=label)
        return (_numbered_name(field, frame) if name == field.name else name) + suffix


def frame_display_name(frame: Frame, index: int | None = None) -> str:
    """Return the name of a frame, or that of its only column of values, or else a text such as ``Series (A)`` with its refId or index."""
    if frame.name:
        return frame.name
    value_fields = [field for field in frame.fields if field.type is not FieldType.TIME]
    if len(value_fields) == 1:
        return ColumnNames([frame]).of_field(value_fields[0], frame, value_fields[0].config or {})
    return f"Series ({frame.ref_id or ('' if index is None else index)})"


def _numbered_name(field: Field, frame: Frame) -> str:
    """Return the name of a column, with its number if several columns of the frame have the name."""
    namesakes = [sibling for sibling in frame.fields if sibling.name == field.name]
    position = next((number for number, sibling in enumerate(namesakes, 1) if sibling is field), None)
    return f"{field.name} {position}" if position and len(namesakes) > 1 else field.name

"""Display names: the names by which users and options of transformations refer to columns, as Grafana computes them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.expressions.javascript.values import is_true, text_of
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, KnownName

VALUE_NAME: Final = "Value"
TIME_NAME: Final = "Time"


class DisplayNames:
    """The display names of the columns of some frames.

    A name depends on the other columns and frames: on whether their names and labels differ. Once computed, it is kept with
    the column and its copies, as in Grafana, so that later options can refer to it.
    """

    def __init__(self, frames: Frames, *, are_related: bool = True) -> None:
        """Create the names. If not ``are_related``, each frame is named as if there were no others."""
        self._frames = frames
        self._has_siblings = are_related and len(frames) > 1
        self._names_differ = self._has_siblings and len({frame.name for frame in frames}) > 1
        self._single_label = single_label_of(frames) if are_related else None
        self._are_related = are_related
        # The columns with each name, by the id of their frame.
        self._columns_by_name: dict[int, dict[str, list[Column]]] = {}

    def of(self, column: Column, frame: DataFrame) -> str:
        """Return the display name of a column of a frame."""
        known_name = column.known_name
        if known_name and known_name.name and known_name.has_siblings is self._has_siblings:
            return known_name.name
        return _remember(column, self._compute(column, frame), has_siblings=self._has_siblings)

    def of_frame(self, frame: DataFrame) -> list[str]:
        """Return the display names of all columns of a frame."""
        return [self.of(column, frame) for column in frame.columns]

    def remember(self) -> None:
        """Compute the names of all columns, so that the columns keep them from now on."""
        for frame in self._frames:
            self.of_frame(frame)

    def _compute(self, column: Column, frame: DataFrame) -> str:
        suffix = comparison_suffix(frame.meta)
        if configured := configured_name(column.config):
            return configured + suffix
        if column.type is CellType.TIME and column.labels is None:
            return column.name or TIME_NAME
        single_label = self._single_label if self._are_related else single_label_of([frame])
        name = composed_name(column.name, column.labels, frame.name, names_differ=self._names_differ, single_label=single_label)
        return (self.unique_name(column, frame) if name == column.name else name) + suffix

    def unique_name(self, column: Column, frame: DataFrame) -> str:
        """Return the name of a column, with its number among the columns of the frame that have the same name."""
        by_name = self._columns_by_name.get(id(frame))
        if by_name is None:
            by_name = {}
            for frame_column in frame.columns:
                by_name.setdefault(frame_column.name, []).append(frame_column)
            self._columns_by_name[id(frame)] = by_name
        namesakes = by_name.get(column.name, [])
        if len(namesakes) <= 1 and column in namesakes:
            return column.name
        # A column that is not in the frame itself gets the number of the last one.
        number = namesakes.index(column) + 1 if column in namesakes else len(namesakes)
        return f"{column.name} {number}" if number else column.name


def _remember(column: Column, name: str, *, has_siblings: bool) -> str:
    """Keep the display name of a column and its copies, and return it."""
    if column.known_name is None:
        column.known_name = KnownName(name, has_siblings)
    else:
        column.known_name.name, column.known_name.has_siblings = name, has_siblings
    return name


def bare_display_name(column: Column) -> str:
    """Return the display name of a column without its frame: the remembered one, or else the configured one, or else its name."""
    known_name = column.known_name
    if known_name and known_name.name and not known_name.has_siblings:
        return known_name.name
    configured = column.config.get("displayName")
    name = configured if isinstance(configured, str) and configured else column.name or VALUE_NAME
    return _remember(column, name, has_siblings=False)


def configured_name(config: Mapping[str, Any]) -> str:
    """Return the display name that the user or the data source has configured for a column; empty without one."""
    names = (config.get(setting) for setting in ("displayName", "displayNameFromDS"))
    return next((name for name in names if isinstance(name, str) and name), "")


def composed_name(name: str, labels: Mapping[str, Any] | None, frame_name: str, *, names_differ: bool, single_label: str | None) -> str:
    """Return the display name of a column without a configured name: the names of its frame and of the column, and its labels.

    ``names_differ`` is True if the names of the frames differ. ``single_label`` is the key of all labels if there is
    only one.
    """
    has_frame_name = names_differ and bool(frame_name)
    parts = [frame_name if has_frame_name else "", "" if name == VALUE_NAME else name]
    if label_text := _label_text(labels, single_label) if labels is not None else "":
        parts.append(label_text)
    elif name == VALUE_NAME and not has_frame_name:
        parts.append(frame_name)
    return " ".join(part for part in parts if part) or name or VALUE_NAME


def label_list(labels: Mapping[str, Any]) -> str:
    """Return labels as ``key="value"``, joined by commas."""
    return ", ".join(f'{key}="{text_of(labels[key])}"' for key in sorted(labels))


def comparison_suffix(meta: Mapping[str, Any] | None) -> str:
    """Return the suffix by which Grafana marks columns of a frame with another time range, or an empty string."""
    comparison = (meta or {}).get("timeCompare")
    return " (comparison)" if isinstance(comparison, dict) and comparison.get("isTimeShiftQuery") else ""


def _label_text(labels: Mapping[str, Any], single_label: str | None) -> str:
    """Return the labels as text: the value of ``single_label`` if all columns have no other label, else ``{key="value"}``."""
    if not single_label:
        return f"{{{label_text}}}" if (label_text := label_list(labels)) else ""
    value: Any = labels.get(single_label)
    return text_of(value) if is_true(value) else ""


def single_label_of(frames: Sequence[DataFrame]) -> str | None:
    """Return the key of the labels of all columns, if there is only one."""
    keys: set[str] = set()
    for frame in frames:
        for column in frame.columns:
            keys.update(column.labels or ())
            if len(keys) > 1:
                return None
    return next(iter(keys), None)


def frame_display_name(frame: DataFrame) -> str:
    """Return the name of a frame, or if it is empty the display names of its value columns."""
    if frame.name:
        return frame.name
    names = DisplayNames([frame], are_related=False)
    return ", ".join(names.of(column, frame) for column in frame.columns if column.type is not CellType.TIME)

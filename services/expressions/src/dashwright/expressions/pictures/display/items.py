"""The items of panels that show single values, by the rules of Grafana's ``getFieldDisplayValues``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from dashwright.common.json_shapes import list_of, number_of, object_of, objects_of, string_of
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.display.colour_modes import mode_of
from dashwright.expressions.pictures.display.columns import DisplayColumn, FieldSettings, columns_of
from dashwright.expressions.pictures.display.processor import ColumnTraits, DisplayProcessor, DisplayValue
from dashwright.expressions.pictures.display.reduction import percent_change, reduced
from dashwright.expressions.pictures.display.values import Value
from dashwright.expressions.pictures.display_names import ColumnNames
from dashwright.expressions.pictures.field_overrides import matcher_of
from dashwright.expressions.pictures.theme import Theme, colour_of

_DEFAULT_LIMIT: Final = 25
#: Further items of a panel are not shown.
_MAX_ITEMS: Final = 500
_NO_DATA: Final = "No data"
#: The colour modes that depend on the position of a column, or of a row.
_MODES_BY_POSITION: Final = frozenset({"palette-classic", "shades"})
_MAX_TITLE_LENGTH: Final = 500
#: References of a title to the calculation, to a cell of the row by its position, and to one by the name of its column.
_CALCULATION: Final = re.compile(r"\$\{__calc\}|\$__calc\b")
_CELL: Final = re.compile(r"\$\{__cell_(\d{1,4})\}|\$__cell_(\d{1,4})\b")
_ROW_FIELD: Final = re.compile(r"\$\{__data\.fields(?:\.([^}\[\]]+)|\[\"?([^}\]\"]+)\"?\])\}")


@dataclass(frozen=True, slots=True)
class DisplayItem:
    """A value that a panel shows, with the title and the column that it comes from."""

    display: DisplayValue
    title: str
    column: DisplayColumn | None  #: None if there is no data.
    processor: DisplayProcessor
    calculation: str = ""  #: Empty if the item is a row.
    row: int | None = None  #: The position in the column; None if the item is a calculation.
    percent_change: float | None = None  #: From the first to the last number of the column; None if the item is a row.


def items_of(frames: Sequence[Frame], options: Mapping[str, Any], settings: FieldSettings) -> list[DisplayItem]:
    """Return the items that ``reduceOptions`` select; without data only the item of ``no_data``."""
    columns = columns_of(frames, settings)
    if options.get("values") is True:
        configured_limit = number_of(options.get("limit"))
        limit = int(max(configured_limit, 1)) if configured_limit else _DEFAULT_LIMIT
        items = list(islice(_rows(columns, options, settings), min(limit, _MAX_ITEMS)))
    else:
        items = list(islice(_calculations(columns, options), _MAX_ITEMS))
    return items or [no_data(settings)]


def no_data(settings: FieldSettings) -> DisplayItem:
    """Return the item of a panel without data."""
    processor = DisplayProcessor(settings.defaults, settings.theme, ColumnTraits(type="other"))
    display = processor.display(None)
    # As in Grafana, the number is 0.
    return DisplayItem(replace(display, text=display.text or _NO_DATA, number=0.0, share=None), "", None, processor)


def _calculations(columns: Sequence[Sequence[DisplayColumn]], options: Mapping[str, Any]) -> Iterator[DisplayItem]:
    """Yield an item for each calculation on each selected column."""
    calculations = [string_of(name) for name in list_of(options.get("calcs"))] or ["last"]
    for column, _ in _selected(columns, options):
        change = percent_change(column)
        for calculation in calculations:
            name = string_of(column.config.get("displayName")) or column.name
            title = _CALCULATION.sub(partial(_constant, calculation), name)
            display = column.processor.display(reduced(column, calculation))
            yield DisplayItem(display, title[:_MAX_TITLE_LENGTH], column, column.processor, calculation, percent_change=change)


def _constant(text: str, _match: re.Match[str]) -> str:
    """Return ``text`` for any match. In a replacement string, its backslashes would be escapes."""
    return text


def _rows(columns: Sequence[Sequence[DisplayColumn]], options: Mapping[str, Any], settings: FieldSettings) -> Iterator[DisplayItem]:
    """Yield an item for each row of each selected column."""
    index = 0
    overridden_colours = _colours_by_name(settings)
    for column, siblings in _selected(columns, options):
        is_by_row = mode_of(column.config) in _MODES_BY_POSITION
        displays: dict[Value, DisplayValue] = {}
        for row, value in enumerate(column.values(_MAX_ITEMS)):
            coloured = column.with_series_index(index, settings.theme) if is_by_row else column
            title = _row_title(column, siblings, row)
            # As in Grafana, equal values of a column have one colour.
            display = displays.setdefault(value, coloured.processor.display(value))
            if colour := overridden_colours.get(title):
                display = replace(display, colour=colour)
            yield DisplayItem(display, title[:_MAX_TITLE_LENGTH], column, coloured.processor, row=row)
            index += 1


def _selected(
    columns: Sequence[Sequence[DisplayColumn]], options: Mapping[str, Any]
) -> Iterator[tuple[DisplayColumn, Sequence[DisplayColumn]]]:
    """Yield each column that ``fields`` (a pattern; empty for all columns of numbers) selects, with all columns of its frame."""
    pattern = string_of(options.get("fields"))
    matches = matcher_of({"id": "byRegexp", "options": pattern} if pattern else {"id": "numeric"})
    for frame_columns in columns:
        yield from ((column, frame_columns) for column in frame_columns if matches(column.source))


def _row_title(column: DisplayColumn, siblings: Sequence[DisplayColumn], row: int) -> str:
    """Return the configured name with its references replaced, or else the texts of the row.

    The name of the column follows if there are no texts, or several columns of numbers. As in Grafana, this name is computed as if
    the panel had no other frame.
    """
    if template := string_of(column.config.get("displayName")):
        return with_row_values(template, siblings, row)
    other_columns = [sibling for sibling in siblings if sibling is not column]
    parts = [text for other_column in other_columns if other_column.type == "string" and (text := _label_at(other_column, row))]
    if not parts or any(other_column.type == "number" for other_column in other_columns):
        parts.append(ColumnNames([column.frame]).of_field(column.field, column.frame, column.config))
    return " ".join(parts)


def with_row_values(template: str, siblings: Sequence[DisplayColumn], row: int) -> str:
    """Return a text with its references to cells of a row replaced by their texts. Unknown references are kept."""

    def text_of_cell(match: re.Match[str]) -> str:
        position = int(match[1] or match[2])
        return _text_at(siblings[position], row) if position < len(siblings) else match[0]

    def text_of_field(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        column = next((sibling for sibling in siblings if name in (sibling.field.name, sibling.name)), None)
        # A number that is not a name is a position.
        if column is None and name.isdecimal() and int(name) < len(siblings):
            column = siblings[int(name)]
        return match[0] if column is None else _text_at(column, row)

    return _ROW_FIELD.sub(text_of_field, _CELL.sub(text_of_cell, template))


def _label_at(column: DisplayColumn, row: int) -> str:
    """Return the text of a cell as a title contains it: without a unit, and with null as an empty text."""
    value = column.values(row + 1)[row]
    return column.processor.display("" if value is None else value).text


def _text_at(column: DisplayColumn, row: int) -> str:
    values = column.values(row + 1)
    return str(column.processor.display(values[row])) if row < len(values) else ""


def _colours_by_name(settings: FieldSettings) -> Mapping[str, str]:
    """Return the fixed colours that override rules set by name. Rows with these titles have the colours, too."""
    colours = {}
    for rule in objects_of(list(settings.overrides)):
        matcher = object_of(rule.get("matcher"))
        for property_ in objects_of(rule.get("properties")):
            is_by_name = matcher.get("id") == "byName" and property_.get("id") == "color"
            if is_by_name and (colour := _fixed_colour(property_.get("value"), settings.theme)):
                colours[string_of(matcher.get("options"))] = colour
    return colours


def _fixed_colour(value: Any, theme: Theme) -> str | None:
    return colour_of(object_of(value).get("fixedColor"), theme)

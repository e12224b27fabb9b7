"""The footer of table panels: calculations on the columns, by the options of the panel or of single columns."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import member_at, object_of
from dashwright.expressions.calculations.table import CALCULATIONS
from dashwright.expressions.pictures.display.reduction import reduced
from dashwright.expressions.pictures.panels.table_columns import TableColumn, named

#: Calculations that apply to columns of any type.
_OF_ANY_TYPE: Final = frozenset({"count", "countAll", "first", "firstNotNull", "last", "lastNotNull", "distinctCount", "allIsNull"})


def footer_texts(columns: Sequence[TableColumn], options: Mapping[str, Any]) -> list[str]:
    """Return the text of each column in the footer; an empty list if there is no footer."""
    footer = object_of(options.get("footer"))
    by_column = [named(member_at(column.custom, "footer", "reducers")) for column in columns]
    if any(by_column):
        return [_texts_of_column(column, calculations) for column, calculations in zip(columns, by_column, strict=True)]
    calculations = named(footer.get("reducer"))[:1]
    if footer.get("show") is not True or not calculations:
        return []
    calculation = calculations[0]
    if footer.get("countRows") is True and not _has_unit(calculation):
        return [f"{_title(calculation)}: {len(columns[0].values)}", *[""] * (len(columns) - 1)]
    names = named(footer.get("fields"))
    texts = [_result(column, calculation) if not names or _is_named(column, names) else "" for column in columns]
    return [texts[0] or _title(calculation), *texts[1:]]


def _texts_of_column(column: TableColumn, calculations: Sequence[str]) -> str:
    results = [(_title(calculation), _result(column, calculation)) for calculation in calculations[:5]]
    return ", ".join(f"{title} {text}" for title, text in results if text)


def _is_named(column: TableColumn, names: Sequence[str]) -> bool:
    return column.source.name in names or column.source.field.name in names


def _result(column: TableColumn, calculation: str) -> str:
    if column.source.type != "number" and calculation not in _OF_ANY_TYPE:
        return ""
    result = reduced(column.source, calculation)
    if not _has_unit(calculation):
        return "" if result is None else f"{result:g}" if isinstance(result, float) else str(result)
    return str(column.source.processor.display(result))


def _title(calculation: str) -> str:
    return CALCULATIONS[calculation].name if calculation in CALCULATIONS else calculation


def _has_unit(calculation: str) -> bool:
    return calculation not in CALCULATIONS or CALCULATIONS[calculation].has_unit

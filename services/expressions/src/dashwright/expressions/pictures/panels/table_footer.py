"""The footer of table panels: calculations on the columns, by the options of the panel or of single columns."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import list_of, member_at, object_of
from dashwright.expressions.calculations.table import Calculation, known_calculations
from dashwright.expressions.pictures.display.reduction import reduced
from dashwright.expressions.pictures.display.values import text_of
from dashwright.expressions.pictures.panels.table_columns import TableColumn, strings_of

#: Calculations that apply to columns of any type.
_OF_ANY_TYPE: Final = frozenset({"count", "countAll", "first", "firstNotNull", "last", "lastNotNull", "distinctCount", "allIsNull"})
#: Further calculations of a column are left out.
_MAX_CALCULATIONS: Final = 5


def footer_texts(columns: Sequence[TableColumn], options: Mapping[str, Any]) -> list[str]:
    """Return the text of each column in the footer; an empty list if there is no footer."""
    by_column = [known_calculations(list_of(member_at(column.custom, "footer", "reducers"))) for column in columns]
    if any(by_column):
        return [_texts_of_column(column, calculations) for column, calculations in zip(columns, by_column, strict=True)]
    footer = object_of(options.get("footer"))
    calculations = known_calculations(list_of(footer.get("reducer")))
    if footer.get("show") is not True or not calculations:
        return []
    calculation = calculations[0]
    if footer.get("countRows") is True and calculation.id == "count":
        return [f"{calculation.name}: {columns[0].row_count}", *[""] * (len(columns) - 1)]
    names = strings_of(footer.get("fields"))
    texts = [_result_text(column, calculation) if not names or _is_named(column, names) else "" for column in columns]
    # A first column without a result names the calculation.
    return [texts[0] or calculation.name, *texts[1:]]


def _texts_of_column(column: TableColumn, calculations: Sequence[Calculation]) -> str:
    """Return the results of several calculations on a column as one text."""
    results = [(calculation.name, _result_text(column, calculation)) for calculation in calculations[:_MAX_CALCULATIONS]]
    return ", ".join(f"{title} {text}" for title, text in results if text)


def _is_named(column: TableColumn, names: Sequence[str]) -> bool:
    return column.source.name in names or column.source.field.name in names


def _result_text(column: TableColumn, calculation: Calculation) -> str:
    """Return the result of a calculation in the unit of the column or calculation; empty if it does not apply to the type."""
    if column.source.type != "number" and calculation.id not in _OF_ANY_TYPE:
        return ""
    result = reduced(column.source, calculation.id)
    if calculation.unit == "none":
        return text_of(result)
    processor = column.source.processor
    return str((processor.with_unit(calculation.unit) if calculation.unit else processor).display(result))

"""Ranges of columns, to which gauges, thresholds in percent and continuous colours are relative, as in Grafana."""

from collections.abc import Sequence

import numpy as np

from dashwright.common.json_shapes import number_of
from dashwright.expressions.calculations.table import CALCULATIONS
from dashwright.expressions.pictures.field_overrides import PanelColumn

#: The lowest and the highest number; None if they are not known.
Range = tuple[float | None, float | None]


class ColumnRanges:
    """The ranges of the columns of a panel."""

    def __init__(self, columns: Sequence[PanelColumn]) -> None:
        self._numbers = [column for column in columns if column.type == "number"]
        self._common: Range | None = None

    def of(self, column: PanelColumn, stored_type: str) -> Range:
        """Return the range of a configured column. ``stored_type`` is its type before ``PanelColumn.guess_type``.

        Columns of numbers share one range. The first call for such a column, or for a column with two configured ends, sets it: to the
        configured ends, or else to the range of all numbers.
        """
        low, high = (number_of(column.config.get(name)) for name in ("min", "max"))
        if low is not None and high is not None:
            self._common = self._common or (low, high)
            return low, high
        # A column has a range of its own if its type was guessed, or if its configuration (``fieldMinMax``) says so.
        if column.type == "number" and (stored_type != "number" or column.config.get("fieldMinMax")):
            return _own_range(column)
        if stored_type != "number":
            return None, None
        self._common = self._common or self._common_range()
        return self._common

    def _common_range(self) -> Range:
        """Return the range of the numbers in all columns."""
        low: float | None = None
        high: float | None = None
        for column in self._numbers:
            if len(column.field):
                lowest, greatest = _own_range(column)
                # A column of nulls has no ends. As in Grafana, they are compared as zeros.
                low = lowest if low is None or (lowest or 0) < low else low
                high = greatest if high is None or (greatest or 0) > high else high
        return (None, None) if low is None and high is None else (low or 0.0, high or 0.0)


def _own_range(column: PanelColumn) -> Range:
    """Return the range of the finite numbers of a column."""
    # Texts and other objects have no ``numbers``. Their ends are the results of the calculations, as in Grafana.
    if column.field.values.dtype == np.object_:
        low, high = (column.reduced(CALCULATIONS[name]) for name in ("min", "max"))
        return number_of(low), number_of(high)
    numbers = column.numbers[np.isfinite(column.numbers)]
    return (float(numbers.min()), float(numbers.max())) if len(numbers) else (None, None)

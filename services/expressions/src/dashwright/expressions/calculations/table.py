"""The table of all calculations by id, as Grafana names them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.expressions.calculations import choices, numbers
from dashwright.expressions.calculations.values import FieldValues
from dashwright.expressions.engine.suggestion import suggestion
from dashwright.expressions.javascript.values import UNDEFINED


@dataclass(frozen=True, slots=True)
class Calculation:
    """A function that reduces the values of a field to one value."""

    id: str
    name: str  #: The title of columns and legends.
    reduce: Callable[[FieldValues], Any]  #: The function, which does not apply ``empty_value``. Call the calculation to apply it.
    empty_value: Any = UNDEFINED  #: The result of a field without values.
    unit: str | None = None  #: The unit of the result; None for the unit of the field.

    def __call__(self, field: FieldValues) -> Any:
        """Return the result for a field."""
        return self.reduce(field) if len(field.values) else self.empty_value


#: The unit of counts and of texts.
_NO_UNIT: Final = "none"


def _ordinal(number: int) -> str:
    suffixes = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if 3 < number < 21 else suffixes.get(number % 10, 'th')}"


_ALL: Final = (
    Calculation("lastNotNull", "Last *", choices.last_not_null),
    Calculation("last", "Last", choices.last),
    Calculation("firstNotNull", "First *", choices.first_not_null),
    Calculation("first", "First", choices.first),
    Calculation("min", "Min", numbers.lowest),
    Calculation("max", "Max", numbers.highest),
    Calculation("mean", "Mean", numbers.mean),
    Calculation("median", "Median", numbers.median),
    Calculation("variance", "Variance", numbers.variance),
    Calculation("stdDev", "StdDev", numbers.standard_deviation),
    Calculation("sum", "Total", numbers.sum_of, empty_value=0),
    Calculation("count", "Count", choices.count, empty_value=0, unit=_NO_UNIT),
    Calculation("countAll", "Count all", choices.count_all, empty_value=0, unit=_NO_UNIT),
    Calculation("range", "Range", numbers.value_range),
    Calculation("delta", "Delta", numbers.delta),
    Calculation("step", "Step", numbers.smallest_step),
    Calculation("diff", "Difference", numbers.difference_of_ends),
    Calculation("logmin", "Min (above zero)", numbers.lowest_positive),
    Calculation("allIsZero", "All Zeros", choices.all_are_zero, empty_value=False),
    Calculation("allIsNull", "All Nulls", choices.all_are_null, empty_value=True, unit=_NO_UNIT),
    Calculation("changeCount", "Change Count", choices.change_count, unit=_NO_UNIT),
    Calculation("distinctCount", "Distinct Count", choices.distinct_count, unit=_NO_UNIT),
    Calculation("diffperc", "Difference percent", numbers.difference_percent, unit="percent"),
    Calculation("allValues", "All values", choices.all_values, unit=_NO_UNIT),
    Calculation("uniqueValues", "All unique values", choices.unique_values, unit=_NO_UNIT),
    *(Calculation(f"p{percent}", f"{_ordinal(percent)} %", numbers.percentile(percent / 100)) for percent in range(1, 100)),
)
_BY_ID: Final = {calculation.id: calculation for calculation in _ALL}

#: All calculations by id and by the older ids that saved panels contain.
CALCULATIONS: Final[Mapping[str, Calculation]] = {
    **_BY_ID,
    "current": _BY_ID["lastNotNull"],
    "avg": _BY_ID["mean"],
    "total": _BY_ID["sum"],
}


def calculation_of(name: object) -> Calculation:
    """Return the calculation of an id. Raises BadRequest for an unknown id."""
    calculation = CALCULATIONS.get(name) if isinstance(name, str) else None
    if calculation is None:
        text = str(name)[:40]
        raise BadRequest(f"unknown calculation {text!r}{suggestion(text, CALCULATIONS) or '; use one such as lastNotNull, mean or p95'}")
    return calculation


def known_calculations(names: Iterable[object]) -> list[Calculation]:
    """Return the calculations of ids. Unknown ids are left out, as Grafana does in transformations."""
    return [CALCULATIONS[name] for name in names if isinstance(name, str) and name in CALCULATIONS]

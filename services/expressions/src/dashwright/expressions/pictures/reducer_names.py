"""Titles of calculations in legends and footers, as Grafana shows them."""

from typing import Final

_TITLES: Final = {
    "lastNotNull": "Last *",
    "last": "Last",
    "firstNotNull": "First *",
    "first": "First",
    "min": "Min",
    "max": "Max",
    "mean": "Mean",
    "sum": "Total",
    "count": "Count",
    "countAll": "Count all",
    "range": "Range",
    "delta": "Delta",
    "step": "Step",
    "diff": "Difference",
    "diffperc": "Difference percent",
    "logmin": "Min (above zero)",
    "allIsZero": "All zeros",
    "allIsNull": "All nulls",
    "changeCount": "Change count",
    "distinctCount": "Distinct count",
    "stdDev": "StdDev",
    "variance": "Variance",
    "median": "Median",
    "allValues": "All values",
    "uniqueValues": "All unique values",
    "current": "Last *",
    "avg": "Mean",
    "total": "Total",
}


def reducer_title(calculation: str) -> str:
    """Return the title of a calculation, such as *Last \\**; its name if it has no title."""
    if calculation[:1] == "p" and calculation[1:].isdecimal():
        return f"{calculation[1:]}th %"
    return _TITLES.get(calculation, calculation)

"""Calculations that choose or count values of any type."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from dashwright.expressions.calculations.values import FieldValues, NullMode
from dashwright.expressions.javascript.comparisons import are_identical
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, is_nan, key_of


def first(field: FieldValues) -> Any:
    """Return the first value, which may be null."""
    return field.values[0] if len(field.values) else UNDEFINED


def last(field: FieldValues) -> Any:
    """Return the last value, which may be null."""
    return field.values[-1] if len(field.values) else UNDEFINED


def first_not_null(field: FieldValues) -> Any:
    """Return the first value that is neither null nor NaN; null without one."""
    return _first_present(field.values)


def last_not_null(field: FieldValues) -> Any:
    """Return the last value that is neither null nor NaN; null without one."""
    return _first_present(reversed(field.values))


def _first_present(values: Iterable[Any]) -> Any:
    return next((value for value in values if not is_missing(value) and not is_nan(value)), None)


def count(field: FieldValues) -> int:
    """Return the number of values, without nulls if they are ignored. NaN counts."""
    if field.nulls is not NullMode.IGNORE:
        return len(field.values)
    return sum(not is_missing(value) for value in field.values)


def count_all(field: FieldValues) -> int:
    """Return the number of all values."""
    return len(field.values)


def change_count(field: FieldValues) -> int:
    """Return how often a value differs from the one before."""
    values = _counted(field)
    return sum(not are_identical(before, after) for before, after in pairwise(values))


def distinct_count(field: FieldValues) -> int:
    """Return the number of different values."""
    return len({key_of(value) for value in _counted(field)})


def _counted(field: FieldValues) -> list[Any]:
    """Return the values with nulls left out, kept or as zeros, by the null mode. Undefined values are kept in any mode."""
    if field.nulls is NullMode.IGNORE:
        return [value for value in field.values if value is not None]
    return [0 if value is None and field.nulls is NullMode.ZERO else value for value in field.values]


def all_values(field: FieldValues) -> list[Any]:
    """Return all values."""
    return list(field.values)


def unique_values(field: FieldValues) -> list[Any]:
    """Return the different values in the order of their first occurrence."""
    values_by_key: dict[Any, Any] = {}
    for value in field.values:
        values_by_key.setdefault(key_of(value), value)
    return list(values_by_key.values())


def all_are_null(field: FieldValues) -> bool:
    """Return whether no value is a number."""
    return not field.numbers()


def all_are_zero(field: FieldValues) -> bool:
    """Return whether all numbers are zero, and there is at least one."""
    numbers = field.numbers()
    return bool(numbers) and not any(numbers)

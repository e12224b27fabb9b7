"""Values that a calculation reads, and how it treats nulls."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dashwright.expressions.javascript.values import is_missing, is_nan


class NullMode(StrEnum):
    """The setting ``nullValueMode`` of a field: how calculations count nulls."""

    IGNORE = "connected"  #: The default: nulls are left out.
    KEEP = "null"  #: Nulls are values like others.
    ZERO = "null as zero"

    @staticmethod
    def of(setting: object) -> "NullMode":
        """Return the mode of a setting, by default ``IGNORE``."""
        return next((mode for mode in NullMode if mode == setting), NullMode.IGNORE)


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The values of one field."""

    values: Sequence[Any]  #: ``None`` for null, ``UNDEFINED`` for undefined, milliseconds for times.
    is_numeric: bool = True  #: True for numbers and times; other values are only counted and chosen.
    nulls: NullMode = NullMode.IGNORE

    def present(self) -> list[Any]:
        """Return the values that are neither null nor undefined nor NaN. Nulls are zeros if the mode says so."""
        present_values: list[Any] = []
        for value in self.values:
            if not is_missing(value) and not is_nan(value):
                present_values.append(value)
            elif is_missing(value) and self.nulls is NullMode.ZERO:
                present_values.append(0)
        return present_values

    def comparable(self) -> list[float]:
        """Return the numbers and booleans among ``present``."""
        return [value for value in self.present() if isinstance(value, int | float)] if self.is_numeric else []

    def numbers(self) -> list[float]:
        """Return the numbers among ``present``; booleans are 0 and 1."""
        # Adding 0 turns a boolean into an integer.
        return [value + 0 for value in self.comparable()]

"""Typed access to the properties of a query: missing ones have defaults, errors name invalid ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.timerange import TimeRange

INTERVAL: Final = 1000
_LONGEST: Final = 10**12
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties of a query or of a part of it."""

    values: Mapping[str, Any]
    ref_id: str = ""
    start: int = 0  #: In milliseconds.
    end: int = 0  #: In milliseconds.
    interval: int = INTERVAL  #: In milliseconds, at least 1.

    @staticmethod
    def of(query: SourceQuery, time_range: TimeRange) -> "Properties":
        """Return the properties of a query."""
        start, end = ((instant - _EPOCH) // timedelta(milliseconds=1) for instant in (time_range.start, time_range.end))
        interval = INTERVAL if query.interval_ms is None else int(min(max(query.interval_ms, 1.0), _LONGEST))
        return Properties(query.model_extra or {}, query.ref_id, start, end, interval)

    def text(self, name: str) -> str:
        """Return a text, or an empty one if it is missing. Raises BadRequest."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise BadRequest(f"{name} must be text")
        return value or ""

    def number(self, name: str, default: float) -> float:
        """Return a finite number, or the default. Raises BadRequest."""
        value = self.values.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or abs(value) > 1e300:
            raise BadRequest(f"{name} must be a number")
        return value

    def part(self, name: str) -> "Properties":
        """Return the properties of an object among them. Raises BadRequest."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, dict):
            raise BadRequest(f"{name} must be an object")
        return Properties(value or {})

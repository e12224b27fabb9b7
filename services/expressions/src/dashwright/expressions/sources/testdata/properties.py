"""Typed access to the properties of a query. Missing properties have defaults; errors name invalid properties."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.timerange import TimeRange

#: The default and the maximum of ``intervalMs``, in milliseconds.
DEFAULT_INTERVAL: Final = 1000
_MAX_INTERVAL: Final = 10**12
#: The maximum absolute value of a number, so that sums and products with small factors are finite.
_MAX_MAGNITUDE: Final = 1e300
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties of a query, or of an object in a query. An object has no refId and times."""

    values: Mapping[str, Any]
    ref_id: str = ""
    start: int = 0  #: In milliseconds since 1970.
    end: int = 0  #: In milliseconds since 1970.
    interval: int = DEFAULT_INTERVAL  #: In milliseconds, at least 1.

    @staticmethod
    def of(query: SourceQuery, time_range: TimeRange) -> "Properties":
        """Return the properties of a query."""
        start, end = ((instant - _EPOCH) // timedelta(milliseconds=1) for instant in (time_range.start, time_range.end))
        interval = DEFAULT_INTERVAL if query.interval_ms is None else int(min(max(query.interval_ms, 1.0), _MAX_INTERVAL))
        return Properties(query.model_extra or {}, query.ref_id, start, end, interval)

    def string(self, name: str) -> str:
        """Return a string property, empty if it is missing. Raises BadRequest for any other type."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise BadRequest(f"{name} must be text")
        return value or ""

    def number(self, name: str, default: float) -> float:
        """Return a property that is a finite number, or the default if it is missing. Raises BadRequest for any other value."""
        value = self.values.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or abs(value) > _MAX_MAGNITUDE:
            raise BadRequest(f"{name} must be a number")
        return value

    def nested(self, name: str) -> "Properties":
        """Return the properties of a property that is an object, none if it is missing. Raises BadRequest for any other type."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, dict):
            raise BadRequest(f"{name} must be an object")
        return Properties(value or {})

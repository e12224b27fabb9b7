"""Variables that every dashboard has, such as ``$__from`` and ``$__dashboard``."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.variables.values import Value


def builtin_values(
    time_range: TimeRange, address_range: tuple[str, str], zone_name: str, dashboard: Mapping[str, Any], org_id: int
) -> dict[str, Value]:
    """Return the values by name. ``address_range`` is the time range as a URL has it, and ``dashboard`` has ``uid`` and ``title``."""
    return {
        **end_values(time_range),
        "__timezone": _value(zone_name),
        "timezone": _value(zone_name),
        "__dashboard": _value(dashboard.get("title", ""), {"uid": dashboard.get("uid", ""), "name": dashboard.get("title", "")}),
        "__org": _value(str(org_id), {"id": org_id}),
        "__url_time_range": _value(f"from={address_range[0]}&to={address_range[1]}"),
    }


def end_values(time_range: TimeRange) -> dict[str, Value]:
    """Return the values of ``$__from`` and ``$__to``."""
    return {"__from": _value(str(milliseconds(time_range.start))), "__to": _value(str(milliseconds(time_range.end)))}


def range_values(time_range: TimeRange, interval: str) -> dict[str, Value]:
    """Return the values of ``$__range``, ``$__interval`` and related macros, which the queries of variables may contain."""
    length = milliseconds(time_range.end) - milliseconds(time_range.start)
    # Half a second is rounded up, as in Grafana.
    seconds = (length + 500) // 1000
    values = {
        "__range": f"{seconds}s",
        "__range_s": str(seconds),
        "__range_ms": str(length),
        "__interval": interval,
        "__rate_interval": interval,
    }
    return {name: _value(text) for name, text in values.items()}


def milliseconds(instant: datetime) -> int:
    """Return the milliseconds since 1970."""
    return round(instant.timestamp() * 1000)


def _value(text: str, document: Any = None) -> Value:
    return Value((text,), (text,), document=document, in_url=False)

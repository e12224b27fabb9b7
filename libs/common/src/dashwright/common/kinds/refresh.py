"""Refresh interval of dashboards."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from dashwright.common.errors import BadRequest

_AMOUNT_WITH_UNIT: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|[smhdwMy])")
_MAX_INTERVAL_LENGTH: Final = 40

#: Seconds of each unit.
_SECONDS: Final = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86_400),
    "w": Decimal(604_800),
    "M": Decimal(2_592_000),
    "y": Decimal(31_536_000),
}


def refresh_of(spec: Mapping[str, Any]) -> Any:
    """Return the refresh interval of a dashboard, classic or with elements and a layout, or None if it is missing."""
    time_settings = spec.get("timeSettings")
    auto_refresh = time_settings.get("autoRefresh") if isinstance(time_settings, dict) else None
    return spec.get("refresh", auto_refresh)


def check_refresh(refresh: Any, *, min_seconds: float) -> None:
    """Raise BadRequest for an invalid interval, or for one below ``min_seconds``.

    An empty string, ``auto``, false and null mean that the dashboard has no interval.
    """
    if refresh is None or refresh is False or refresh in ("", "auto"):
        return
    seconds = _seconds(refresh) if isinstance(refresh, str) else None
    if seconds is None:
        raise BadRequest(
            f"Dashboard refresh interval {str(refresh)[:40]!r} cannot be read; write it as 10s, 1m, 1h or 1d, or leave it empty"
        )
    if seconds < min_seconds:
        raise BadRequest(f"Dashboard refresh interval is too low: {refresh} is below {min_seconds:g}s, the shortest allowed here")


def _seconds(interval: str) -> Decimal | None:
    amounts = _AMOUNT_WITH_UNIT.findall(interval) if len(interval) <= _MAX_INTERVAL_LENGTH else []
    if not amounts or "".join(amount + unit for amount, unit in amounts) != interval:
        return None
    return sum((Decimal(amount) * _SECONDS[unit] for amount, unit in amounts), Decimal(0))

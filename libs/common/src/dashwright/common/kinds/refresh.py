"""Refresh interval of dashboards."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from dashwright.common.errors import BadRequest

_PART: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|[smhdwMy])")
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
    """Return the refresh interval of a spec in either layout; None if it is missing."""
    times = spec.get("timeSettings")
    nested = times.get("autoRefresh") if isinstance(times, dict) else None
    return spec.get("refresh", nested)


def check_refresh(refresh: Any, *, shortest: float) -> None:
    """Raise BadRequest for an interval that cannot be read or is below ``shortest`` seconds.

    An empty text, ``auto``, false and null mean that the dashboard has no interval.
    """
    if refresh is None or refresh is False or refresh in ("", "auto"):
        return
    seconds = _seconds(refresh) if isinstance(refresh, str) else None
    if seconds is None:
        raise BadRequest(
            f"Dashboard refresh interval {str(refresh)[:40]!r} cannot be read; write it as 10s, 1m, 1h or 1d, or leave it empty"
        )
    if seconds < shortest:
        raise BadRequest(f"Dashboard refresh interval is too low: {refresh} is below {shortest:g}s, the shortest allowed here")


def _seconds(text: str) -> Decimal | None:
    parts = _PART.findall(text) if len(text) <= 40 else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum((Decimal(number) * _SECONDS[unit] for number, unit in parts), Decimal(0))

"""The controls of dashboard pages: the time range, the variables, the refresh interval and the links."""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import urlencode

from multidict import MultiMapping

from dashwright.api.pictures.page_grid import Parameters
from dashwright.common.models.dashboard_outline import DashboardOutline, OutlineLink, OutlineVariable

VARIABLE_PREFIX: Final = "var-"
"""Prefix of the names of variables in URLs, as in Grafana's links."""
_KEPT_PARAMETERS: Final = ("from", "to", "refresh", "theme", "tz", "timezone", "rows")
"""Parameters of a page that its links to other pages keep, in addition to variables."""
_KEPT_WITH_OTHER_TIMES: Final = ("panelId", "ref", "refresh", "theme", "tz", "timezone", "rows")
"""Parameters of a page that its links to other time ranges keep, in addition to variables."""
_PICTURE_PARAMETERS: Final = ("from", "to", "tz", "timezone")
"""Parameters of a page that the pictures on it have, too, in addition to variables."""
_HIDDEN_PARAMETERS: Final = ("theme", "tz", "timezone", "rows", "panelId", "ref")
"""Parameters of a page that its form keeps without a control."""
_QUICK_RANGES: Final = {
    ("now-5m", "now"): "Last 5 minutes",
    ("now-15m", "now"): "Last 15 minutes",
    ("now-30m", "now"): "Last 30 minutes",
    ("now-1h", "now"): "Last 1 hour",
    ("now-3h", "now"): "Last 3 hours",
    ("now-6h", "now"): "Last 6 hours",
    ("now-12h", "now"): "Last 12 hours",
    ("now-24h", "now"): "Last 24 hours",
    ("now-2d", "now"): "Last 2 days",
    ("now-7d", "now"): "Last 7 days",
    ("now-30d", "now"): "Last 30 days",
    ("now-90d", "now"): "Last 90 days",
    ("now-6M", "now"): "Last 6 months",
    ("now-1y", "now"): "Last 1 year",
    ("now/d", "now/d"): "Today",
    ("now/d", "now"): "Today so far",
    ("now-1d/d", "now-1d/d"): "Yesterday",
    ("now/w", "now/w"): "This week",
    ("now/w", "now"): "This week so far",
    ("now/M", "now/M"): "This month",
    ("now/M", "now"): "This month so far",
}
_REFRESH_INTERVALS: Final = ("5s", "10s", "30s", "1m", "5m", "15m", "30m", "1h", "2h", "1d")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
"""Seconds of each unit of an interval."""
_INTERVAL: Final = re.compile(r"([0-9]{1,6})([smhd])")
_MIN_REFRESH_SECONDS: Final = 5
"""The shortest refresh interval in seconds, as Grafana's default of ``min_refresh_interval``."""
_SAFE_ADDRESS: Final = re.compile(r"(?:https?://|mailto:|/|\?|#|d/)", re.IGNORECASE)
"""The beginnings of the addresses that a link of a dashboard may have. Others, such as ``javascript:``, are not linked."""
_MAX_MILLISECONDS: Final = 32_503_680_000_000
"""The year 3000."""


class RangeLink(NamedTuple):
    """A link to the same page with another time range."""

    text: str
    address: str
    is_current: bool = False


class TimeControls(NamedTuple):
    """The time range of a page, and links to other ones."""

    text: str
    quick_ranges: Sequence[RangeLink]
    #: An earlier, a later and a longer range.
    moves: Sequence[RangeLink]


class RefreshControls(NamedTuple):
    """The refresh interval of a page, as text and in seconds (0: no refresh), and the choices."""

    text: str
    seconds: int
    choices: Sequence[str]


class PageControls(NamedTuple):
    """The controls of a page. Without an outline of its dashboard, it has no variables and no links to other time ranges."""

    path: str
    from_: str  #: Start of the time range as in the URL, such as ``now-6h``.
    to: str  #: End of the time range.
    timezone: str
    hidden: Parameters  #: Parameters that the form keeps without a control.
    times: TimeControls | None
    variables: Sequence[OutlineVariable]
    refresh: RefreshControls


class PageLink(NamedTuple):
    """A link to another page."""

    text: str
    address: str
    tooltip: str = ""
    opens_tab: bool = False


def kept_parameters(query: MultiMapping[str]) -> Parameters:
    """Return the parameters of a page that its links keep."""
    return [(name, value) for name, value in query.items() if name in _KEPT_PARAMETERS or name.startswith(VARIABLE_PREFIX)]


def picture_parameters(query: MultiMapping[str]) -> Parameters:
    """Return the parameters of a page that the pictures on it have, too."""
    return [(name, value) for name, value in query.items() if name in _PICTURE_PARAMETERS or name.startswith(VARIABLE_PREFIX)]


def page_controls(path: str, query: MultiMapping[str], outline: DashboardOutline | None) -> PageControls:
    """Return the controls of the page at ``path``, with the values in its URL, or else those of the dashboard."""
    return PageControls(
        path=path,
        from_=query.get("from") or (outline.from_ if outline else ""),
        to=query.get("to") or (outline.to if outline else ""),
        timezone=outline.timezone if outline else "",
        hidden=_hidden_parameters(query, outline),
        times=_time_controls(path, query, outline) if outline else None,
        variables=outline.variables if outline else (),
        refresh=_refresh_controls(query, outline),
    )


def _hidden_parameters(query: MultiMapping[str], outline: DashboardOutline | None) -> Parameters:
    """Return the parameters that the form keeps without a control."""
    control_names = {f"{VARIABLE_PREFIX}{variable.name}" for variable in outline.variables} if outline else set()
    return [
        (name, value)
        for name, value in query.items()
        if name in _HIDDEN_PARAMETERS or (name.startswith(VARIABLE_PREFIX) and name not in control_names)
    ]


def _time_controls(path: str, query: MultiMapping[str], outline: DashboardOutline) -> TimeControls:
    """Return the time range of a page at ``path``, with links to other ones.

    The outline has the bounds as in the URL (``from_`` and ``to``), and in milliseconds since 1970 (``start`` and ``end``).
    """
    link_parameters = [(name, value) for name, value in query.items() if name in _KEPT_WITH_OTHER_TIMES or name.startswith(VARIABLE_PREFIX)]

    def link(text: str, start: str, end: str) -> RangeLink:
        address = f"{path}?{urlencode([*link_parameters, ('from', start), ('to', end)])}"
        return RangeLink(text, address, is_current=(start, end) == (outline.from_, outline.to))

    quick_ranges = [link(text, *bounds) for bounds, text in _QUICK_RANGES.items()]
    length = max(outline.end - outline.start, 1000)  # At least a second, so that a move changes the range.
    half = length // 2
    moves = {
        "Earlier": (outline.start - half, outline.end - half),
        "Later": (outline.start + half, outline.end + half),
        "Longer": (outline.start - half, outline.end + half),
    }
    # A bound in milliseconds since 1970 is not readable, whereas one such as ``now-6h`` is.
    bounds = [
        _iso(milliseconds) if text.isdigit() else text for text, milliseconds in ((outline.from_, outline.start), (outline.to, outline.end))
    ]
    current = _QUICK_RANGES.get((outline.from_, outline.to), " to ".join(bounds))
    return TimeControls(current, quick_ranges, [link(text, _iso(start), _iso(end)) for text, (start, end) in moves.items()])


def _refresh_controls(query: MultiMapping[str], outline: DashboardOutline | None) -> RefreshControls:
    """Return the refresh interval of the URL, or else that of the dashboard. An invalid interval is ignored."""
    text = query.get("refresh", outline.refresh if outline else "")
    match = _INTERVAL.fullmatch(text)
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if not seconds:
        return RefreshControls("", 0, _REFRESH_INTERVALS)
    choices = _REFRESH_INTERVALS if text in _REFRESH_INTERVALS else (text, *_REFRESH_INTERVALS)
    return RefreshControls(text, max(seconds, _MIN_REFRESH_SECONDS), choices)


def link_of(
    link: OutlineLink, query: MultiMapping[str], outline: DashboardOutline, *, text: str = "", address: str = ""
) -> PageLink | None:
    """Return a link of a dashboard, with another text and address if given. Returns None for an address that is not safe to open."""
    address = address or link.url.strip()
    # Browsers remove some control characters from addresses, so they would open another address than the checked one.
    if not _SAFE_ADDRESS.match(address) or any(ord(character) < 32 for character in address):
        return None
    # In Grafana, such an address is relative to the root of the server.
    if address.lower().startswith("d/"):
        address = f"/{address}"
    parameters = [("from", outline.from_), ("to", outline.to)] if link.keeps_time else []
    if link.includes_variables:
        parameters += _variable_parameters(query, outline)
    if parameters and not address.lower().startswith("mailto:"):
        address += ("&" if "?" in address else "?") + urlencode(parameters)
    return PageLink(text or link.title or address, address, link.tooltip, link.opens_tab)


def _variable_parameters(query: MultiMapping[str], outline: DashboardOutline) -> Iterable[tuple[str, str]]:
    """Return the values of all variables as parameters of a URL, also of those in the URL that the dashboard does not have."""
    values_by_name = {f"{VARIABLE_PREFIX}{variable.name}": variable.values for variable in outline.variables}
    unknown_variables = [(name, value) for name, value in query.items() if name.startswith(VARIABLE_PREFIX) and name not in values_by_name]
    return [*unknown_variables, *((name, value) for name, values in values_by_name.items() for value in values)]


def _iso(milliseconds: int) -> str:
    """Return a time in ISO 8601. A time before 1970 or after the year 3000 becomes the first or last one."""
    bounded = min(max(milliseconds, 0), _MAX_MILLISECONDS)
    return f"{datetime.fromtimestamp(bounded // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"

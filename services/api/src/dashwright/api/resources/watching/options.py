"""Options of a watch."""

import random
from dataclasses import dataclass
from typing import Final

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest, Cause, Invalid

_FALSE_VALUES: Final = frozenset({"false", "0"})
# Seconds of a watch without a timeout. The duration is random, so that watches that began together do not reconnect together.
_MIN_DEFAULT_SECONDS, _MAX_DEFAULT_SECONDS = 1800.0, 3600.0
_MAX_SECONDS: Final = 86_400
"""Limit on the duration of a watch, in seconds."""
_NOT_OLDER_THAN: Final = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The options of one watch."""

    #: The resource version to continue from; 0 for the newest.
    start_version: int
    #: Send the existing objects first.
    sends_initial_events: bool
    #: Send a bookmark after the existing objects.
    marks_end_of_initial_events: bool
    #: Send bookmarks at intervals.
    sends_bookmarks: bool
    #: Duration of the watch in seconds.
    timeout_seconds: float


def is_watch(call: Call) -> bool:
    """Return whether a GET of a collection requests a watch: it has the parameter ``watch``, which is not false."""
    return _is_enabled(call, "watch")


def watch_options_of(call: Call) -> WatchOptions:
    """Return the options in the query. Raises BadRequest for invalid values, Invalid for options that exclude each other."""
    requests_initial_events = _is_enabled(call, "sendInitialEvents") if "sendInitialEvents" in call.query else None
    _check_match(call, has_send_initial_events=requests_initial_events is not None)
    start_version = _non_negative_integer(call, "resourceVersion")
    timeout_seconds = _non_negative_integer(call, "timeoutSeconds")
    # Without the parameter, a watch without a version begins with the existing objects, as in Kubernetes.
    sends_initial_events = start_version == 0 if requests_initial_events is None else requests_initial_events
    return WatchOptions(
        start_version,
        sends_initial_events=sends_initial_events,
        marks_end_of_initial_events=bool(requests_initial_events),
        sends_bookmarks=_is_enabled(call, "allowWatchBookmarks"),
        timeout_seconds=min(timeout_seconds, _MAX_SECONDS) or random.uniform(_MIN_DEFAULT_SECONDS, _MAX_DEFAULT_SECONDS),
    )


def _check_match(call: Call, *, has_send_initial_events: bool) -> None:
    """Raise Invalid unless the request has both ``sendInitialEvents`` and ``resourceVersionMatch=NotOlderThan``, or neither."""
    match = call.query.get("resourceVersionMatch", "")
    if has_send_initial_events and match != _NOT_OLDER_THAN:
        raise _match_error(f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER_THAN}")
    if match and not has_send_initial_events:
        raise _match_error("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")


def _match_error(reason: str) -> Invalid:
    cause = Cause("resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {reason}")
    return Invalid(f"ListOptions.meta.k8s.io is invalid: {cause.field}: {cause.message}", causes=[cause])


def _is_enabled(call: Call, name: str) -> bool:
    """Return a boolean parameter as Kubernetes parses it: every value except ``false`` and ``0`` is true."""
    return name in call.query and call.query[name].lower() not in _FALSE_VALUES


def _non_negative_integer(call: Call, name: str) -> int:
    """Return a query parameter, or 0 if it is missing or empty. Raises BadRequest unless it is a bigint."""
    value = call.query.get(name, "")
    if not value:
        return 0
    # 2**63 has 19 digits. The conversion of a much longer text would be slow.
    if not value.isascii() or not value.isdigit() or len(value) > 19 or int(value) >= 2**63:
        raise BadRequest(f"{name} {value[:40]!r} is not a whole number; a watch continues from the resourceVersion of a list or an event")
    return int(value)

"""Options of a watch."""

import random
from dataclasses import dataclass
from typing import Final

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest, Cause, Invalid

_FALSE: Final = frozenset({"false", "0"})
# Seconds of a watch without a timeout. The duration is random, so that watches that began together do not reconnect together.
_SHORTEST, _LONGEST = 1800.0, 3600.0
_MOST_SECONDS: Final = 86_400
"""Seconds that a watch lasts at most."""
_NOT_OLDER_THAN: Final = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The options of one watch."""

    #: The version to continue from; 0 is the newest.
    after: int
    #: Send the existing objects first.
    is_initial: bool
    #: Send a bookmark after the existing objects.
    marks_initial: bool
    #: Send bookmarks from time to time.
    bookmarks: bool
    #: Duration of the watch.
    seconds: float


def is_watch(call: Call) -> bool:
    """Return whether a GET of a collection asks for a watch: ``watch`` is given and not false."""
    return _is_set(call, "watch")


def watch_options_of(call: Call) -> WatchOptions:
    """Return the options in the query. Raises BadRequest for unreadable values, Invalid for options that exclude each other."""
    sends_initial = _is_set(call, "sendInitialEvents") if "sendInitialEvents" in call.query else None
    _check_match(call, sends_initial=sends_initial is not None)
    after = _number(call, "resourceVersion")
    is_initial = after == 0 if sends_initial is None else sends_initial
    seconds = _number(call, "timeoutSeconds")
    return WatchOptions(
        after,
        is_initial,
        marks_initial=bool(sends_initial),
        bookmarks=_is_set(call, "allowWatchBookmarks"),
        seconds=min(seconds, _MOST_SECONDS) or random.uniform(_SHORTEST, _LONGEST),
    )


def _check_match(call: Call, *, sends_initial: bool) -> None:
    match = call.query.get("resourceVersionMatch", "")
    if sends_initial and match != _NOT_OLDER_THAN:
        raise _forbidden(f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER_THAN}")
    if match and not sends_initial:
        raise _forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")


def _forbidden(why: str) -> Invalid:
    cause = Cause("resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {why}")
    return Invalid(f"ListOptions.meta.k8s.io is invalid: {cause.field}: {cause.message}", causes=[cause])


def _is_set(call: Call, name: str) -> bool:
    """Return a switch as Kubernetes reads it: every value that is not false counts as true."""
    return name in call.query and call.query[name].lower() not in _FALSE


def _number(call: Call, name: str) -> int:
    text = call.query.get(name, "")
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) >= 2**63:
        raise BadRequest(f"{name} {text[:40]!r} is not a whole number; a watch continues from the resourceVersion of a list or an event")
    return int(text)

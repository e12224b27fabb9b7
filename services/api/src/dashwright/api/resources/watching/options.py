"""What a watch asks for."""

import random
from dataclasses import dataclass
from typing import Final

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest, Cause, Invalid

_FALSE: Final = frozenset({"false", "0"})
_SHORTEST, _LONGEST = 1800.0, 3600.0
"""Seconds that a watch lasts which does not say how long: not the same for all, so that they do not all come back at once."""
_MOST_SECONDS: Final = 86_400
_NOT_OLDER_THAN: Final = "NotOlderThan"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """``after``: the version to go on from; 0 is wherever the feed is.

    ``is_initial``: first comes what is there, then, with ``marks_initial``, a bookmark that says so. ``bookmarks``: now and then the
    client wants to hear how far it is. ``seconds``: how long it lasts.
    """

    after: int
    is_initial: bool
    marks_initial: bool
    bookmarks: bool
    seconds: float


def is_watch(call: Call) -> bool:
    """Whether a GET of a collection is a watch: its ``watch`` is there and is no false."""
    return _is_set(call, "watch")


def watch_options_of(call: Call) -> WatchOptions:
    """Raises BadRequest for what cannot be read, Invalid for options that do not go together."""
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
    """A switch as Kubernetes reads it: all that is there and does not say no."""
    return name in call.query and call.query[name].lower() not in _FALSE


def _number(call: Call, name: str) -> int:
    text = call.query.get(name, "")
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 19 or int(text) >= 2**63:
        raise BadRequest(f"{name} {text[:40]!r} is no whole number; a watch goes on from the resourceVersion of a list or an event")
    return int(text)

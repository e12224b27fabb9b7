"""The meaning of error responses of a git host's API."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from http import HTTPStatus
from typing import Any, Final

import orjson

from dashwright.common.errors import BadRequest, Conflict, DashwrightError, Forbidden, NotFound, SourceFailed, TooManyRequests

_LONGEST_SHOWN: Final = 200
_LIMIT: Final = "rate limit"
"""Secondary limits, which have no header, are recognized by these words."""


@dataclass
class Refused(Exception):
    """An error response of the API."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def is_throttled(refused: Refused) -> bool:
    """Return whether the same request may succeed later: the host limits requests, or is away and says for how long."""
    if refused.status == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    if refused.status == HTTPStatus.SERVICE_UNAVAILABLE:
        return "Retry-After" in refused.headers
    is_spent = refused.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in refused.headers
    return refused.status == HTTPStatus.FORBIDDEN and (is_spent or _LIMIT in _message(refused).lower())


def retry_after(refused: Refused) -> float | None:
    """Return the seconds that the host asks to wait; None if it does not."""
    after = _number(refused.headers.get("Retry-After", ""))
    if after is not None:
        return after
    reset = _number(refused.headers.get("X-RateLimit-Reset", ""))
    is_spent = refused.headers.get("X-RateLimit-Remaining") == "0"
    return max(0.0, reset - time.time()) if reset is not None and is_spent else None


def error_for(refused: Refused, secrets: Sequence[str] = ()) -> DashwrightError:
    """Return the error for a response as one sentence without secrets. Below 500 the owner of the repository can fix it."""
    detail = f" ({_plain(_message(refused), secrets)})" if _message(refused) else ""
    match refused.status:
        case HTTPStatus.UNAUTHORIZED:
            return Forbidden("the git host's API refuses the token: it is wrong, has expired, or the host wants one")
        case HTTPStatus.FORBIDDEN if not is_throttled(refused):
            return Forbidden(f"the git host's API refuses access: the token lacks the right{detail}")
        case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
            return NotFound("the git host's API finds nothing there: it is deleted, or the token may not see it")
        case HTTPStatus.CONFLICT:
            return Conflict(f"the git host's API refuses the change because something else changed first{detail}")
        case _ if is_throttled(refused):
            return TooManyRequests("the git host's API asks for fewer requests", retry_after=retry_after(refused))
        case status if status < HTTPStatus.BAD_REQUEST:
            return BadRequest("the git host's API redirects to another address: give the repository's new one as the url")
        case status if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return BadRequest(f"the git host's API refuses the request with status {status}{detail}")
        case status:
            return SourceFailed(f"the git host's API responds with status {status}")


def _message(refused: Refused) -> str:
    """Return the host's own message with those of each fault; empty if the response has no message."""
    try:
        body: Any = orjson.loads(refused.body)
    except orjson.JSONDecodeError:
        return ""
    if not isinstance(body, dict):
        return ""
    errors = body.get("errors")
    faults = [fault.get("message") for fault in errors if isinstance(fault, dict)] if isinstance(errors, list) else []
    return "; ".join(text for text in (body.get("message"), *faults) if isinstance(text, str))


def _plain(text: str, secrets: Sequence[str]) -> str:
    """Return the text without secrets. Invisible characters are dropped first: one inside a secret would hide it from the search."""
    shown = "".join(character for character in text if character.isprintable())
    return reduce(lambda text, secret: text.replace(secret, "***"), secrets, shown)[:_LONGEST_SHOWN]


def _number(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() else None

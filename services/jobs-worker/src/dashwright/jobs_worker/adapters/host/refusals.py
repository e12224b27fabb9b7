"""What the refusals of a git host's API mean."""

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
"""A limit beside that of an hour is told in words only."""


@dataclass
class Refused(Exception):
    """An answer that is no success."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def is_throttled(refused: Refused) -> bool:
    """Whether the host can be asked the same later: it counts requests, or is away and says for how long."""
    if refused.status == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    if refused.status == HTTPStatus.SERVICE_UNAVAILABLE:
        return "Retry-After" in refused.headers
    is_spent = refused.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in refused.headers
    return refused.status == HTTPStatus.FORBIDDEN and (is_spent or _LIMIT in _message(refused).lower())


def retry_after(refused: Refused) -> float | None:
    """For how many seconds the host wants to be left alone, where it says so."""
    after = _number(refused.headers.get("Retry-After", ""))
    if after is not None:
        return after
    reset = _number(refused.headers.get("X-RateLimit-Reset", ""))
    is_spent = refused.headers.get("X-RateLimit-Remaining") == "0"
    return max(0.0, reset - time.time()) if reset is not None and is_spent else None


def error_for(refused: Refused, secrets: Sequence[str] = ()) -> DashwrightError:
    """As one sentence without secrets: below 500 what whoever keeps the repository can mend."""
    told = f" ({_plain(_message(refused), secrets)})" if _message(refused) else ""
    match refused.status:
        case HTTPStatus.UNAUTHORIZED:
            return Forbidden("the git host's API refuses the token: it is wrong, has expired, or the host wants one")
        case HTTPStatus.FORBIDDEN if not is_throttled(refused):
            return Forbidden(f"the git host's API refuses access: the token lacks the right{told}")
        case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
            return NotFound("the git host's API knows no such thing: it is gone, or the token may not see it")
        case HTTPStatus.CONFLICT:
            return Conflict(f"the git host's API refuses the change, as something else changed meanwhile{told}")
        case _ if is_throttled(refused):
            return TooManyRequests("the git host's API asks for fewer requests", retry_after=retry_after(refused))
        case status if status < HTTPStatus.BAD_REQUEST:
            return BadRequest("the git host's API answers with another address: give the repository's new one as the url")
        case status if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return BadRequest(f"the git host's API refuses what it is asked with {status}{told}")
        case status:
            return SourceFailed(f"the git host's API answers {status}")


def _message(refused: Refused) -> str:
    """In the host's own words, with those on each fault; empty where it says nothing."""
    try:
        said: Any = orjson.loads(refused.body)
    except orjson.JSONDecodeError:
        return ""
    if not isinstance(said, dict):
        return ""
    errors = said.get("errors")
    faults = [fault.get("message") for fault in errors if isinstance(fault, dict)] if isinstance(errors, list) else []
    return "; ".join(text for text in (said.get("message"), *faults) if isinstance(text, str))


def _plain(text: str, secrets: Sequence[str]) -> str:
    """What is no letter is left out first: it would show the secret that it stands in."""
    shown = "".join(character for character in text if character.isprintable())
    return reduce(lambda said, secret: said.replace(secret, "***"), secrets, shown)[:_LONGEST_SHOWN]


def _number(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() else None

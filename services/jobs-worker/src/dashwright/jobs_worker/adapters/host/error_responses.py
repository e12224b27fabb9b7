"""The meaning of error responses of a git host's API."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from http import HTTPStatus
from typing import Any, Final

import orjson

from dashwright.common.errors import BadRequest, Conflict, DashwrightError, Forbidden, NotFound, SourceFailed, TooManyRequests
from dashwright.jobs_worker.adapters.git.trace import retry_after_seconds

_MAX_DETAIL_CHARACTERS: Final = 200
_LIMIT_MESSAGE: Final = "rate limit"
"""Words in a response about a secondary rate limit of GitHub, which may have no header to recognize it by."""


@dataclass
class ErrorResponse(Exception):
    """An error response of the API."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the parsed body, or None if it is not JSON."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return None


def is_throttled(response: ErrorResponse) -> bool:
    """Return whether the host limits requests, or is unavailable and sends a Retry-After header: the request may succeed later."""
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        return True
    if response.status == HTTPStatus.SERVICE_UNAVAILABLE:
        return "Retry-After" in response.headers
    is_limit_reached = response.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in response.headers
    return response.status == HTTPStatus.FORBIDDEN and (is_limit_reached or _LIMIT_MESSAGE in _message(response).lower())


def retry_after(response: ErrorResponse) -> float | None:
    """Return the seconds that the host asks to wait; None if it does not ask."""
    seconds = retry_after_seconds(response.headers.get("Retry-After", ""))
    if seconds is not None:
        return seconds
    reset_at = _seconds(response.headers.get("X-RateLimit-Reset", ""))
    is_limit_reached = response.headers.get("X-RateLimit-Remaining") == "0"
    return max(0.0, reset_at - time.time()) if reset_at is not None and is_limit_reached else None


def error_for(response: ErrorResponse, secrets: Sequence[str] = ()) -> DashwrightError:
    """Return the error for a response as one sentence without secrets.

    The owner of the repository can correct an error with a status below 500, except 429, which ends by itself.
    """
    detail = f" ({_redacted(_message(response), secrets)})" if _message(response) else ""
    match response.status:
        case HTTPStatus.UNAUTHORIZED:
            return Forbidden("the git host's API requires a valid token: it is missing, wrong or expired")
        case HTTPStatus.FORBIDDEN if not is_throttled(response):
            return Forbidden(f"the git host's API refuses access: the token lacks the right{detail}")
        case HTTPStatus.NOT_FOUND | HTTPStatus.GONE:
            return NotFound("the git host's API finds nothing there: it is deleted, or the token may not see it")
        case HTTPStatus.CONFLICT:
            return Conflict(f"the git host's API refuses the change because something else changed first{detail}")
        # Before the ranges of statuses, because a host may request a pause by status 403, 429 or 503.
        case _ if is_throttled(response):
            return TooManyRequests("the git host's API requests a pause; try again later", retry_after=retry_after(response))
        case status if status < HTTPStatus.BAD_REQUEST:
            return BadRequest("the git host's API redirects to another address: give the repository's new one as the url")
        case status if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return BadRequest(f"the git host's API refuses the request with status {status}{detail}")
        case status:
            return SourceFailed(f"the git host's API responds with status {status}")


def _message(response: ErrorResponse) -> str:
    """Return the messages of the response in one string; empty without messages.

    They are texts in ``message`` or ``error``, or in objects there, or in the objects of the list ``errors``.
    """
    body = response.json()
    if not isinstance(body, dict):
        return ""
    errors = body.get("errors")
    faults = [fault.get("message") for fault in errors if isinstance(fault, dict)] if isinstance(errors, list) else []
    return "; ".join([*_texts(body.get("message")), *_texts(body.get("error")), *_texts(faults)])


def _texts(value: Any) -> list[str]:
    """Return the texts in a value: the value itself, or the texts in a list or object, or in the lists in it."""
    if isinstance(value, str):
        return [value]
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [
        text
        for item in inner
        for text in ([item] if isinstance(item, str) else item if isinstance(item, list) else [])
        if isinstance(text, str)
    ]


def _redacted(text: str, secrets: Sequence[str]) -> str:
    """Return the text without secrets. Invisible characters are removed first, because one inside a secret would hide it."""
    printable = "".join(character for character in text if character.isprintable())
    return reduce(lambda value, secret: value.replace(secret, "***"), secrets, printable)[:_MAX_DETAIL_CHARACTERS]


def _seconds(value: str) -> float | None:
    return float(value) if value.isascii() and value.isdigit() else None

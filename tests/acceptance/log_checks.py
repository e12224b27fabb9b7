"""Requirements on every log line of every service, checked when a stack ends."""

from collections.abc import Iterable
from datetime import datetime
from urllib.parse import urlsplit

import aiohttp
from tests.acceptance.processes import Service, Stack

PASSWORD = "admin"
#: Credentials of the first user as an Authorization header has them, in Base64.
_, _, _HEADER = aiohttp.encode_basic_auth("admin", PASSWORD).partition(" ")
_LEVELS = {"debug", "info", "warning", "error", "critical"}


def check_logs(stack: Stack) -> None:
    """Raise AssertionError with the first line of the stack that violates a requirement."""
    secrets = {_HEADER, *(password for url in stack.urls if (password := urlsplit(url).password))}
    for service in stack.services:
        check_lines(service, secrets)


def check_lines(service: Service, secrets: Iterable[str] = (_HEADER,)) -> None:
    """Raise AssertionError with the first line of a process that violates a requirement."""
    for line, event in zip(service.lines, service.events, strict=True):
        _check_line(service, line, event)
        for secret in secrets:
            # A short password may occur as an ordinary word; it counts only in the credentials of a URL.
            forbidden_text = secret if len(secret) > 7 else f":{secret}@"
            assert forbidden_text not in line, f"{service.name} logged a secret: {line}"


def unexpected_failures(service: Service) -> list[str]:
    """Return the log lines of a process that have a traceback."""
    return [line for line, event in zip(service.lines, service.events, strict=True) if "exception" in event]


def _check_line(service: Service, line: str, event: dict[str, object]) -> None:
    """Raise AssertionError unless a line is a JSON object with the fields of every line and without a traceback."""
    assert event.get("event") != "text", f"{service.name} wrote a line that is not JSON: {line}"
    assert isinstance(event.get("event"), str), line
    assert event.get("level") in _LEVELS, line
    assert event.get("service") == service.name, line
    datetime.fromisoformat(str(event.get("timestamp")))
    assert "exception" not in event, f"{service.name} logged an unexpected failure: {line}"

"""The body of a request, opened: its queries and targets with the place of each, and the time range it asks for."""

from dataclasses import dataclass, field
from typing import Any

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.models.query_context import QueryEndpoint
from dashwright.expressions.requests.binding import Fault

FROM, TO = "now-6h", "now"
"""The range of a request that names none."""


@dataclass(slots=True)
class Envelope:
    """``items`` are JSON pointers and what lies there, in the order of the body."""

    items: list[tuple[str, Any]] = field(default_factory=list)
    start: str = FROM
    end: str = TO
    faults: list[Fault] = field(default_factory=list)


def opened(body: bytes, endpoint: QueryEndpoint) -> Envelope:
    """A panel for the strict doors, a list of queries for the other. Raises BadRequest where the body is no JSON."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"bad request data: the body is no JSON: {error}") from error
    envelope = Envelope()
    if not isinstance(document, dict):
        envelope.faults.append(_wrong("", "must be an object with targets and a type, or with queries"))
        return envelope
    if endpoint is not QueryEndpoint.QUERY:
        _open_panel(document, envelope)
    _add_items(document, "queries", envelope)
    envelope.start = _time(document, "from", FROM, envelope)
    envelope.end = _time(document, "to", TO, envelope)
    return envelope


def _open_panel(document: dict[str, Any], envelope: Envelope) -> None:
    for name, kind, told in (("type", str, "text"), ("targets", list, "a list")):
        value = document.get(name)
        if value is None:
            envelope.faults.append(_wrong(f"/{name}", "is required"))
        elif not isinstance(value, kind):
            envelope.faults.append(_wrong(f"/{name}", f"must be {told}"))
    if isinstance(document.get("targets"), list):
        _add_items(document, "targets", envelope)


def _add_items(document: dict[str, Any], name: str, envelope: Envelope) -> None:
    items = document.get(name)
    if isinstance(items, list):
        envelope.items += [(f"/{name}/{number}", item) for number, item in enumerate(items)]
    elif items is not None:
        envelope.faults.append(_wrong(f"/{name}", "must be a list"))


def _time(document: dict[str, Any], name: str, default: str, envelope: Envelope) -> str:
    value = document.get(name)
    if value is None:
        return default
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    envelope.faults.append(_wrong(f"/{name}", "must be text, or epoch milliseconds as an integer"))
    return default


def _wrong(pointer: str, message: str) -> Fault:
    return Fault(pointer, message, "bad-request")

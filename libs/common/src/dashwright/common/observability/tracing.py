"""The trace a piece of work belongs to, carried through HTTP and messages as a W3C ``traceparent`` header.

The header's form is the W3C Trace Context recommendation, version 00. An unreadable header starts a new trace, as that text asks.
"""

import re
from contextvars import ContextVar
from random import getrandbits
from typing import NamedTuple

HEADER = "traceparent"

_PATTERN = re.compile(r"\A[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?\Z")


class Trace(NamedTuple):
    """``trace_id`` names the whole journey (32 hex digits), ``span_id`` this hop of it (16 hex digits)."""

    trace_id: str
    span_id: str
    flags: str = "01"

    @property
    def header(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current() -> Trace | None:
    """The trace of the work that is running now, if any."""
    return _current.get()


def enter(header: str | None) -> Trace:
    """Continues the trace of an incoming header, or starts one, and makes it the current one of this task."""
    match = _PATTERN.match(header) if header else None
    if match and match[1] != "0" * 32 and match[2] != "0" * 16:
        trace = Trace(match[1], f"{getrandbits(64):016x}", match[3])
    else:
        drawn = f"{getrandbits(192):048x}"  # names, not secrets: no call into the system for each request
        trace = Trace(drawn[:32], drawn[32:])
    _current.set(trace)
    return trace

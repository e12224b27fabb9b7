"""Trace of the current work, carried through HTTP and messages as a W3C ``traceparent`` header.

The form of the header is that of the W3C Trace Context recommendation, version 00. As it demands, an invalid header
starts a new trace.
"""

import re
from contextvars import ContextVar
from random import getrandbits
from typing import NamedTuple

HEADER = "traceparent"

_PATTERN = re.compile(r"\A[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?\Z")


class Trace(NamedTuple):
    """Trace and span of the current work."""

    trace_id: str  #: Identifies the whole journey, 32 hexadecimal digits.
    span_id: str  #: Identifies this hop of it, 16 hexadecimal digits.
    flags: str = "01"

    @property
    def header(self) -> str:
        """Value of the ``traceparent`` header."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current() -> Trace | None:
    """Return the trace of the current work, if any."""
    return _current.get()


def enter(header: str | None) -> Trace:
    """Continue the trace of an incoming header, or start one, and make it the current one of this task."""
    match = _PATTERN.match(header) if header else None
    if match and match[1] != "0" * 32 and match[2] != "0" * 16:
        trace = Trace(match[1], f"{getrandbits(64):016x}", match[3])
    else:
        drawn = f"{getrandbits(192):048x}"  # not secret, so a call into the system for each request is avoided
        trace = Trace(drawn[:32], drawn[32:])
    _current.set(trace)
    return trace

"""Trace context of the current task, which HTTP requests and messages carry in the header ``traceparent``.

The format of the header is that of W3C Trace Context, version 00. As it requires, an invalid header starts a new trace.
"""

import re
from contextvars import ContextVar
from random import getrandbits
from typing import NamedTuple

HEADER = "traceparent"

_PATTERN = re.compile(r"\A[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?\Z")


class TraceContext(NamedTuple):
    """Trace and span of a task."""

    trace_id: str  #: Id of the trace, 32 hexadecimal digits.
    span_id: str  #: Id of this span of the trace, 16 hexadecimal digits.
    flags: str = "01"

    @property
    def header(self) -> str:
        """Value of the ``traceparent`` header."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


_current: ContextVar[TraceContext | None] = ContextVar("trace", default=None)


def current() -> TraceContext | None:
    """Return the trace context of the current task, or None."""
    return _current.get()


def enter(header: str | None) -> TraceContext:
    """Continue the trace of a header, or start a new one, and return the context, which becomes that of the current task."""
    match = _PATTERN.match(header) if header else None
    if match and match[1] != "0" * 32 and match[2] != "0" * 16:
        context = TraceContext(match[1], f"{getrandbits(64):016x}", match[3])
    else:
        random_digits = f"{getrandbits(192):048x}"  # not secret, so the slower random numbers of the system are not needed
        context = TraceContext(random_digits[:32], random_digits[32:])
    _current.set(context)
    return context

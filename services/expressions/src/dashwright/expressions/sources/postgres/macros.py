"""Macros of statements, replaced by SQL, such as ``$__timeFilter(created)`` and ``$__interval``.

Inserted values are instants of the requested range, and numbers. Macros in literals are replaced (``'$__interval'``
relies on it), those in comments are not.
"""

import difflib
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from itertools import chain, pairwise

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.duration import nanoseconds
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.postgres.lexing import pieces

MESSAGE_ID = "postgres.macro"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000_000
_MACRO = re.compile(r"\$__([A-Za-z]\w*)(\s*\()?", re.ASCII)
_BY = re.compile(r"\bby\s*$", re.IGNORECASE)
_DEEPEST = 5
_TOLD = 60


class FillMode(Enum):
    """The value of a group without rows."""

    NULL = "NULL"
    PREVIOUS = "previous"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Fill:
    """The filling of empty groups."""

    step: int  #: Nanoseconds between two rows.
    mode: FillMode
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class MacroContext:
    """The values that macros insert in addition to their arguments."""

    time_range: TimeRange
    interval: int  #: In milliseconds.
    buckets: bool = False  #: Group times by TimescaleDB's ``time_bucket``.


@dataclass(slots=True)
class ExpandedStatement:
    """A statement without macros."""

    sql: str = ""
    fill: Fill | None = None  #: From the last macro with a fill argument.


def expand(sql: str, context: MacroContext) -> ExpandedStatement:
    """Return the statement with its macros replaced. Raises BadRequest that names the macro and its fault."""
    try:
        return _Expansion(context).whole(sql)
    except OverflowError as error:
        raise _fault("the time range reaches beyond the years 1 to 9999 in UTC; choose a shorter one") from error


class _Expansion:
    def __init__(self, context: MacroContext) -> None:
        self._given = context
        self._done = ExpandedStatement()
        self._grouped: set[str] = set()

    def whole(self, sql: str) -> ExpandedStatement:
        """Return the expanded statement."""
        self._done.sql = self._expanded(sql, 0)
        return self._done

    def _expanded(self, sql: str, depth: int) -> str:
        if depth > _DEEPEST:
            raise _fault(f"macros nest in the arguments of macros deeper than {_DEEPEST} levels; write the inner ones out")
        edges = list(chain.from_iterable((piece.start, piece.end) for piece in pieces(sql) if piece.kind == "comment"))
        parts: list[str] = []
        done = 0
        while match := _MACRO.search(sql, done):
            parts.append(sql[done : match.start()])
            inside = bisect_right(edges, match.start())
            if inside % 2:
                done = edges[inside]
                parts.append(sql[match.start() : done])
                continue
            text, done = self._replaced(sql, match, depth)
            parts.append(text)
        return "".join([*parts, sql[done:]])

    def _replaced(self, sql: str, match: re.Match[str], depth: int) -> tuple[str, int]:
        """Return the text for a macro, and the position after the macro."""
        name, opened = match.groups()
        if name in _PLAIN:
            return _PLAIN[name](self._given), match.end(1)
        macro = _MACROS.get(name)
        if not opened:
            if macro:
                raise _fault(f"macro $__{name} has no arguments; write $__{name}({macro.signature})")
            return match.group(), match.end()  # perhaps a dollar quote; if not, the server reports the error
        if macro is None:
            raise _unknown(name)
        bounds = _arguments(sql, match.end(), name)
        written = sql[match.start() : bounds[-1] + 1]
        arguments = [sql[start + 1 : end].strip() for start, end in pairwise(bounds)]
        if len(arguments) < macro.needed or not all(arguments[: macro.needed]):
            raise _fault(f"macro {written[:_TOLD]} lacks arguments; write $__{name}({macro.signature})")
        arguments = [self._expanded(argument, depth + 1) for argument in arguments]
        end = bounds[-1] + 1
        return macro.replace(self, arguments, written) + self._alias(name, written, sql, match.start(), end), end

    def _alias(self, name: str, written: str, sql: str, start: int, end: int) -> str:
        """Return the alias ``time`` for the first ``$__timeGroup(…),``, unless it is after ``group by``.

        Older dashboards rely on it.
        """
        if name != "timeGroup" or written in self._grouped:
            return ""
        self._grouped.add(written)
        if sql[end : end + 1] != "," or _BY.search(sql[max(0, start - _TOLD) : start]):
            return ""
        return ' AS "time"'

    def time_filter(self, arguments: Sequence[str], _written: str) -> str:
        """Return a condition that a time column is in the range."""
        return f"{arguments[0]} BETWEEN {_start(self._given)} AND {_end(self._given)}"

    def epoch_filter(self, arguments: Sequence[str], _written: str) -> str:
        """Return a condition that a column of epoch seconds is in the range."""
        start, end = (_nanoseconds(instant) // _SECOND for instant in self._ends)
        return f"{arguments[0]} >= {start} AND {arguments[0]} <= {end}"

    def nano_filter(self, arguments: Sequence[str], _written: str) -> str:
        """Return a condition that a column of epoch nanoseconds is in the range."""
        start, end = (_nanoseconds(instant) for instant in self._ends)
        return f"{arguments[0]} >= {start} AND {arguments[0]} <= {end}"

    def time_group(self, arguments: Sequence[str], written: str) -> str:
        """Return a time column rounded down to the interval."""
        seconds = self._step(arguments, written)
        if self._given.buckets:
            return f"time_bucket('{seconds:.3f}s',{arguments[0]})"
        return f"floor(extract(epoch from {arguments[0]})/{seconds:f})*{seconds:f}"

    def epoch_group(self, arguments: Sequence[str], written: str) -> str:
        """Return a column of epoch seconds rounded down to the interval."""
        seconds = self._step(arguments, written)
        return f"floor(({arguments[0]})/{seconds:f})*{seconds:f}"

    @property
    def _ends(self) -> tuple[datetime, datetime]:
        return self._given.time_range.start, self._given.time_range.end

    def _step(self, arguments: Sequence[str], written: str) -> Decimal:
        """Return the interval in seconds, and store the fill of the third argument."""
        try:
            step = nanoseconds(arguments[1].strip("'"))
        except BadRequest as error:
            raise _fault(f"the interval of {written[:_TOLD]} cannot be read: {error.message}") from error
        if step <= 0:
            raise _fault(f"the interval of {written[:_TOLD]} must be above zero; write it like '5m'")
        if len(arguments) > 3:
            raise _fault(f"macro {written[:_TOLD]} has more than a column, an interval and a fill value; leave the others out")
        if len(arguments) == 3:
            self._done.fill = _fill(step, arguments[2], written)
        return Decimal(step).scaleb(-9).normalize() + 0  # adding nothing turns 3E+2 to 300


def _fill(step: int, text: str, written: str) -> Fill:
    for mode in (FillMode.NULL, FillMode.PREVIOUS):
        if text.lower() == mode.value.lower():
            return Fill(step, mode)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _fault(f"the fill value of {written[:_TOLD]} is invalid; write NULL, previous or a number")
    return Fill(step, FillMode.VALUE, value)


def _arguments(sql: str, opened: int, name: str) -> list[int]:
    """Return the positions that bound the arguments: opening parenthesis, commas and closing parenthesis.

    ``opened`` is the position after the opening parenthesis.
    """
    cuts, depth = [opened - 1], 0
    for piece in pieces(sql, opened):
        if piece.kind != "sign":
            continue
        sign = sql[piece.start]
        if sign == "(":
            depth += 1
        elif sign == ")" and depth:
            depth -= 1
        elif sign == ")":
            return [*cuts, piece.start]
        elif sign == "," and not depth:
            cuts.append(piece.start)
    raise _fault(f"macro $__{name}( has no closing parenthesis; write $__{name}({_MACROS[name].signature})")


def _unknown(name: str) -> BadRequest:
    known = [*_PLAIN, *_MACROS]
    alike = difflib.get_close_matches(name, known, n=1)
    advice = f"perhaps $__{alike[0]} is meant" if alike else "use one of " + ", ".join(f"$__{macro}" for macro in known)
    return _fault(f"macro $__{name[:_TOLD]} is unknown; {advice}")


def _fault(text: str) -> BadRequest:
    return BadRequest(text, message_id=MESSAGE_ID)


def _nanoseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1) * 1000


def _quoted(instant: datetime) -> str:
    """Return the instant as RFC 3339 in UTC, the fraction without trailing zeros."""
    whole, _, fraction = instant.astimezone(UTC).replace(tzinfo=None).isoformat().partition(".")
    fraction = fraction.rstrip("0")
    return f"'{whole}.{fraction}Z'" if fraction else f"'{whole}Z'"


def _start(given: MacroContext) -> str:
    return _quoted(given.time_range.start)


def _end(given: MacroContext) -> str:
    return _quoted(given.time_range.end)


_UNITS = (("y", 31_536_000_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000))


def _interval(given: MacroContext) -> str:
    """Return the interval as a number of the largest unit that fits, rounded down, as clients write intervals."""
    for unit, length in _UNITS:
        if given.interval >= length:
            return f"{given.interval // length}{unit}"
    return f"{max(given.interval, 1)}ms"


#: Macros without parentheses.
_PLAIN: dict[str, Callable[[MacroContext], str]] = {"interval_ms": lambda given: str(given.interval), "interval": _interval}


@dataclass(frozen=True, slots=True)
class _Macro:
    """A macro with parentheses."""

    signature: str
    needed: int  #: Required arguments. Surplus arguments are ignored, except in groups.
    replace: Callable[[_Expansion, Sequence[str], str], str]


def _constant(text: Callable[[MacroContext], object]) -> _Macro:
    return _Macro("", 0, lambda expansion, _arguments, _written: str(text(expansion._given)))


def _aliased(replace: Callable[[_Expansion, Sequence[str], str], str]) -> Callable[[_Expansion, Sequence[str], str], str]:
    return lambda expansion, arguments, written: replace(expansion, arguments, written) + ' AS "time"'


_GROUP = "column, '5m'[, NULL | previous | number]"
_MACROS = {
    "time": _Macro("column", 1, lambda _expansion, arguments, _written: f'{arguments[0]} AS "time"'),
    "timeEpoch": _Macro("column", 1, lambda _expansion, arguments, _written: f'extract(epoch from {arguments[0]}) as "time"'),
    "timeFilter": _Macro("column", 1, _Expansion.time_filter),
    "timeFrom": _constant(_start),
    "timeTo": _constant(_end),
    "timeGroup": _Macro(_GROUP, 2, _Expansion.time_group),
    "timeGroupAlias": _Macro(_GROUP, 2, _aliased(_Expansion.time_group)),
    "unixEpochFilter": _Macro("column", 1, _Expansion.epoch_filter),
    "unixEpochFrom": _constant(lambda given: _nanoseconds(given.time_range.start) // _SECOND),
    "unixEpochTo": _constant(lambda given: _nanoseconds(given.time_range.end) // _SECOND),
    "unixEpochNanoFilter": _Macro("column", 1, _Expansion.nano_filter),
    "unixEpochNanoFrom": _constant(lambda given: _nanoseconds(given.time_range.start)),
    "unixEpochNanoTo": _constant(lambda given: _nanoseconds(given.time_range.end)),
    "unixEpochGroup": _Macro(_GROUP, 2, _Expansion.epoch_group),
    "unixEpochGroupAlias": _Macro(_GROUP, 2, _aliased(_Expansion.epoch_group)),
}

"""Macros of statements, replaced by SQL, such as ``$__timeFilter(created)`` and ``$__interval``.

Macros insert times of the requested range, and numbers. Macros in string literals are replaced too, such as
``'$__interval'``; macros in comments are not.
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
from dashwright.expressions.sources.postgres.lexing import sql_tokens

MESSAGE_ID = "postgres.macro"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The nanoseconds of a second.
_SECOND = 1_000_000_000
_MACRO = re.compile(r"\$__([A-Za-z]\w*)(\s*\()?", re.ASCII)
_GROUP_BY_END = re.compile(r"\bby\s*$", re.IGNORECASE)
#: The number of characters before a macro in which ``group by`` is searched.
_GROUP_BY_LOOKBEHIND = 60
#: Levels of macros in the arguments of macros.
_MAX_DEPTH = 5
#: The maximum number of characters that an error quotes.
_MAX_QUOTED_LENGTH = 60
#: The arguments of a macro that groups: a column, an interval and a fill value.
_MAX_GROUP_ARGUMENTS = 3


class FillMode(Enum):
    """The value that a group without rows gets."""

    NULL = "NULL"
    PREVIOUS = "previous"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Fill:
    """The filling of empty groups."""

    step: int  #: The distance of two rows in nanoseconds.
    mode: FillMode
    value: float = 0.0  #: For the mode VALUE only.


@dataclass(frozen=True, slots=True)
class MacroContext:
    """The values that macros insert, in addition to their arguments."""

    time_range: TimeRange
    interval: int  #: In milliseconds.
    has_time_bucket: bool = False  #: Whether the server has TimescaleDB's function ``time_bucket``.


@dataclass(slots=True)
class ExpandedStatement:
    """A statement without macros."""

    sql: str = ""
    fill: Fill | None = None  #: The fill argument of the last macro that has one.


def expand(sql: str, context: MacroContext) -> ExpandedStatement:
    """Return the statement with its macros replaced. Raises BadRequest that names the macro and its fault."""
    try:
        return _Expansion(context).expand(sql)
    except OverflowError as error:
        raise _fault("the time range reaches beyond the years 1 to 9999 in UTC; choose a shorter one") from error


class _Expansion:
    """The expansion of one statement.

    The public methods from ``time_filter`` on return the replacement of a macro, from its arguments and its source.
    """

    def __init__(self, context: MacroContext) -> None:
        self.context = context
        self._statement = ExpandedStatement()
        self._time_groups: set[str] = set()  # The sources of the macros ``$__timeGroup(…)`` so far.

    def expand(self, sql: str) -> ExpandedStatement:
        """Return the expanded statement."""
        self._statement.sql = self._replace_macros(sql, 0)
        return self._statement

    def _replace_macros(self, sql: str, depth: int) -> str:
        """Return the SQL with its macros replaced. ``depth`` is the number of macros whose arguments contain it."""
        if depth > _MAX_DEPTH:
            raise _fault(f"macros nest in the arguments of macros deeper than {_MAX_DEPTH} levels; write the inner ones out")
        comment_bounds = list(chain.from_iterable((token.start, token.end) for token in sql_tokens(sql) if token.type == "comment"))
        parts: list[str] = []
        position = 0
        while match := _MACRO.search(sql, position):
            parts.append(sql[position : match.start()])
            # Starts and ends of comments alternate, so the number of bounds before a position is odd within a comment.
            bounds_before = bisect_right(comment_bounds, match.start())
            if bounds_before % 2:
                position = comment_bounds[bounds_before]
                parts.append(sql[match.start() : position])
                continue
            replacement, position = self._replace_macro(sql, match, depth)
            parts.append(replacement)
        return "".join([*parts, sql[position:]])

    def _replace_macro(self, sql: str, match: re.Match[str], depth: int) -> tuple[str, int]:
        """Return the replacement of a macro, and the position after the macro."""
        name, parenthesis = match.groups()
        if name in _CONSTANTS:
            return _CONSTANTS[name](self.context), match.end(1)
        macro = _MACROS.get(name)
        if not parenthesis:
            if macro:
                raise _fault(f"macro $__{name} has no arguments; write $__{name}({macro.signature})")
            # This may be the start of a dollar-quoted string. If not, the server reports an error.
            return match.group(), match.end()
        if macro is None:
            raise _unknown_macro(name)
        delimiters = _argument_delimiters(sql, match.end(), name)
        end = delimiters[-1] + 1
        source = sql[match.start() : end]
        arguments = [sql[start + 1 : stop].strip() for start, stop in pairwise(delimiters)]
        if len(arguments) < macro.min_arguments or not all(arguments[: macro.min_arguments]):
            raise _fault(f"macro {source[:_MAX_QUOTED_LENGTH]} lacks arguments; write $__{name}({macro.signature})")
        arguments = [self._replace_macros(argument, depth + 1) for argument in arguments]
        return macro.replace(self, arguments, source) + self._alias(name, source, sql, match.start(), end), end

    def _alias(self, name: str, source: str, sql: str, start: int, end: int) -> str:
        """Return the alias ``time`` for the first of equal macros ``$__timeGroup(…)``, else an empty string.

        Older dashboards need the alias in the list of columns: before a comma, and not after ``group by``.
        """
        if name != "timeGroup" or source in self._time_groups:
            return ""
        self._time_groups.add(source)
        if sql[end : end + 1] != "," or _GROUP_BY_END.search(sql[max(0, start - _GROUP_BY_LOOKBEHIND) : start]):
            return ""
        return ' AS "time"'

    def time_filter(self, arguments: Sequence[str], _source: str) -> str:
        """Return a condition that a time column is in the range."""
        return f"{arguments[0]} BETWEEN {_start_literal(self.context)} AND {_end_literal(self.context)}"

    def epoch_filter(self, arguments: Sequence[str], _source: str) -> str:
        """Return a condition that a column of epoch seconds is in the range."""
        start, end = (_nanoseconds(instant) // _SECOND for instant in self._range_ends)
        return f"{arguments[0]} >= {start} AND {arguments[0]} <= {end}"

    def nano_filter(self, arguments: Sequence[str], _source: str) -> str:
        """Return a condition that a column of epoch nanoseconds is in the range."""
        start, end = (_nanoseconds(instant) for instant in self._range_ends)
        return f"{arguments[0]} >= {start} AND {arguments[0]} <= {end}"

    def time_group(self, arguments: Sequence[str], source: str) -> str:
        """Return a time column rounded down to the interval."""
        seconds = self._read_group_arguments(arguments, source)
        if self.context.has_time_bucket:
            return f"time_bucket('{seconds:.3f}s',{arguments[0]})"
        return f"floor(extract(epoch from {arguments[0]})/{seconds:f})*{seconds:f}"

    def epoch_group(self, arguments: Sequence[str], source: str) -> str:
        """Return a column of epoch seconds rounded down to the interval."""
        seconds = self._read_group_arguments(arguments, source)
        return f"floor(({arguments[0]})/{seconds:f})*{seconds:f}"

    @property
    def _range_ends(self) -> tuple[datetime, datetime]:
        return self.context.time_range.start, self.context.time_range.end

    def _read_group_arguments(self, arguments: Sequence[str], source: str) -> Decimal:
        """Return the interval (the second argument) in seconds, and store the fill of the third argument in the statement."""
        try:
            step = nanoseconds(arguments[1].strip("'"))
        except BadRequest as error:
            raise _fault(f"the interval of {source[:_MAX_QUOTED_LENGTH]} cannot be read: {error.message}") from error
        if step <= 0:
            raise _fault(f"the interval of {source[:_MAX_QUOTED_LENGTH]} must be above zero; write it like '5m'")
        if len(arguments) > _MAX_GROUP_ARGUMENTS:
            raise _fault(f"macro {source[:_MAX_QUOTED_LENGTH]} has more than a column, an interval and a fill value; leave the others out")
        if len(arguments) == _MAX_GROUP_ARGUMENTS:
            self._statement.fill = _fill(step, arguments[2], source)
        seconds = Decimal(step).scaleb(-9)
        return seconds.normalize() + 0  # Adding 0 turns 3E+2 into 300.


def _fill(step: int, fill_value: str, source: str) -> Fill:
    """Return the fill of a macro that groups by ``step`` nanoseconds. Raises BadRequest if the fill value is invalid."""
    for mode in (FillMode.NULL, FillMode.PREVIOUS):
        if fill_value.lower() == mode.value.lower():
            return Fill(step, mode)
    try:
        value = float(fill_value)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _fault(f"the fill value of {source[:_MAX_QUOTED_LENGTH]} is invalid; write NULL, previous or a number")
    return Fill(step, FillMode.VALUE, value)


def _argument_delimiters(sql: str, start: int, name: str) -> list[int]:
    """Return the positions of the parentheses and commas around the arguments of a macro.

    ``start`` is the position after the opening parenthesis.
    """
    delimiters, depth = [start - 1], 0
    for token in sql_tokens(sql, start):
        if token.type != "sign":
            continue
        sign = sql[token.start]
        if sign == "(":
            depth += 1
        elif sign == ")" and depth:
            depth -= 1
        elif sign == ")":
            return [*delimiters, token.start]
        elif sign == "," and not depth:
            delimiters.append(token.start)
    raise _fault(f"macro $__{name}( has no closing parenthesis; write $__{name}({_MACROS[name].signature})")


def _unknown_macro(name: str) -> BadRequest:
    names = [*_CONSTANTS, *_MACROS]
    matches = difflib.get_close_matches(name, names, n=1)
    advice = f"perhaps $__{matches[0]} is meant" if matches else "use one of " + ", ".join(f"$__{macro}" for macro in names)
    return _fault(f"macro $__{name[:_MAX_QUOTED_LENGTH]} is unknown; {advice}")


def _fault(message: str) -> BadRequest:
    return BadRequest(message, message_id=MESSAGE_ID)


def _nanoseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1) * 1000


def _time_literal(instant: datetime) -> str:
    """Return a SQL literal of the time, RFC 3339 in UTC. The fraction has no trailing zeros."""
    seconds, _, fraction = instant.astimezone(UTC).replace(tzinfo=None).isoformat().partition(".")
    fraction = fraction.rstrip("0")
    return f"'{seconds}.{fraction}Z'" if fraction else f"'{seconds}Z'"


def _start_literal(context: MacroContext) -> str:
    return _time_literal(context.time_range.start)


def _end_literal(context: MacroContext) -> str:
    return _time_literal(context.time_range.end)


#: The units of intervals with their milliseconds, the largest first.
_UNIT_MILLISECONDS = (("y", 31_536_000_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000))


def _interval(context: MacroContext) -> str:
    """Return the interval rounded down to its largest unit, as clients write intervals."""
    for unit, length in _UNIT_MILLISECONDS:
        if context.interval >= length:
            return f"{context.interval // length}{unit}"
    return f"{max(context.interval, 1)}ms"


#: Macros without arguments and parentheses.
_CONSTANTS: dict[str, Callable[[MacroContext], str]] = {"interval_ms": lambda context: str(context.interval), "interval": _interval}


@dataclass(frozen=True, slots=True)
class _Macro:
    """A macro with parentheses. ``replace`` takes the expansion, the arguments and the source of the macro."""

    signature: str  #: The arguments as errors show them.
    min_arguments: int  #: Additional arguments are ignored, except by macros that group.
    replace: Callable[[_Expansion, Sequence[str], str], str]


def _constant(value: Callable[[MacroContext], object]) -> _Macro:
    """Return a macro without arguments, such as ``$__timeFrom()``, whose replacement is ``value``."""
    return _Macro("", 0, lambda expansion, _arguments, _source: str(value(expansion.context)))


def _aliased(replace: Callable[[_Expansion, Sequence[str], str], str]) -> Callable[[_Expansion, Sequence[str], str], str]:
    """Return a function that appends the alias ``time`` to the replacement that ``replace`` returns."""
    return lambda expansion, arguments, source: replace(expansion, arguments, source) + ' AS "time"'


_GROUP_SIGNATURE = "column, '5m'[, NULL | previous | number]"
_MACROS = {
    "time": _Macro("column", 1, lambda _expansion, arguments, _source: f'{arguments[0]} AS "time"'),
    "timeEpoch": _Macro("column", 1, lambda _expansion, arguments, _source: f'extract(epoch from {arguments[0]}) as "time"'),
    "timeFilter": _Macro("column", 1, _Expansion.time_filter),
    "timeFrom": _constant(_start_literal),
    "timeTo": _constant(_end_literal),
    "timeGroup": _Macro(_GROUP_SIGNATURE, 2, _Expansion.time_group),
    "timeGroupAlias": _Macro(_GROUP_SIGNATURE, 2, _aliased(_Expansion.time_group)),
    "unixEpochFilter": _Macro("column", 1, _Expansion.epoch_filter),
    "unixEpochFrom": _constant(lambda context: _nanoseconds(context.time_range.start) // _SECOND),
    "unixEpochTo": _constant(lambda context: _nanoseconds(context.time_range.end) // _SECOND),
    "unixEpochNanoFilter": _Macro("column", 1, _Expansion.nano_filter),
    "unixEpochNanoFrom": _constant(lambda context: _nanoseconds(context.time_range.start)),
    "unixEpochNanoTo": _constant(lambda context: _nanoseconds(context.time_range.end)),
    "unixEpochGroup": _Macro(_GROUP_SIGNATURE, 2, _Expansion.epoch_group),
    "unixEpochGroupAlias": _Macro(_GROUP_SIGNATURE, 2, _aliased(_Expansion.epoch_group)),
}

"""MySQL's silent conversions between types of values.

The types of columns are unknown here, so the macros use DuckDB's ``typeof``, which is resolved before the statement
runs. They name their argument more than once: harmless for a column; any other expression goes through the twin
``…_of``, which evaluates it once.
"""

from collections.abc import Mapping
from decimal import Decimal

from sqlglot import exp

from dashwright.expressions.sql.duckdb_sql import call, cast, let, macro, text
from dashwright.expressions.sql.sql_type import SqlType, marked, type_of

_IS_FLOAT = "typeof(x) in ('DOUBLE', 'FLOAT')"
IS_TEXT = "typeof(x) in ('VARCHAR', 'JSON')"
IS_NUMBER = "(typeof(x) in ('DOUBLE', 'FLOAT', 'BOOLEAN') or typeof(x) like '%INT%' or typeof(x) like 'DECIMAL%')"
_SMALL = 1 << 31

#: Patterns of times, each rewritten to a form closer to the one that DuckDB reads.
_SPELLINGS = (
    (r"^\s*(\d{4})(\d\d)(\d\d)T?(\d\d)(\d\d)(\d\d)", r"\1-\2-\3 \4:\5:\6"),
    (r"^\s*(\d{4})(\d\d)(\d\d)\s*$", r"\1-\2-\3"),
    (r"^\s*(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\s*$", r"\1-\2-\3 \4:\5:\6"),
    (r"^\s*(\d\d)(\d\d)(\d\d)\s*$", r"\1-\2-\3"),
    (r"^\s*([0-6]\d)[^\w\s](\d{1,2})[^\w\s](\d{1,2})", r"20\1-\2-\3"),
    (r"^\s*([7-9]\d)[^\w\s](\d{1,2})[^\w\s](\d{1,2})", r"19\1-\2-\3"),
    (r"^\s*(\d{4})[^\w\s](\d{1,2})[^\w\s](\d{1,2})", r"\1-\2-\3"),
    (r"^\s*(\S+)[T ](\d{1,2})\s*$", r"\1 \2:00:00"),
)


def _spelled(text: str) -> str:
    for pattern, spelling in _SPELLINGS:
        text = f"regexp_replace({text}, '{pattern}', '{spelling}')"
    return text


_CLOCK = r"^\s*(-?)(?:(\d+) )?(\d+):(\d+)(?::(\d+))?(\.\d+)?"


def _clock_part(group: int) -> str:
    return f"cast('0' || regexp_extract(v, '{_CLOCK}', {group}) as bigint)"


_MACROS: Mapping[str, tuple[str, str]] = {
    "text_number": (
        "x",
        r"try_cast(regexp_replace(x, '^\s*([-+]?)(\d*\.?\d*(?:[eE][-+]?\d+)?).*$', '\10\2', 's') as double)",
    ),
    "as_number": (
        "x",
        (
            # For a numeric column DuckDB removes the other branches before it runs, which is thirty times as fast.
            f"case when {IS_NUMBER} then try_cast(x as double) else"
            f" coalesce(try_cast(x as double), case when {IS_TEXT} then mysql_text_number(cast(x as varchar))"
            r" else try_cast(regexp_replace(split_part(cast(x as varchar), '.', 1), '\D', '', 'g') as double) end) end"
        ),
    ),
    "whole": ("x", "try_cast(round(x) as bigint)"),
    "as_text": (
        "x",
        (
            f"case when {_IS_FLOAT} then regexp_replace(replace(cast(x as varchar), 'e+', 'e'), '\\.0$', '')"
            " when typeof(x) = 'BOOLEAN' then cast(try_cast(x as integer) as varchar) else cast(x as varchar) end"
        ),
    ),
    "text_time": ("x", f"try_cast({_spelled('x')} as timestamp)"),
    "number_time": ("x", "mysql_text_time(cast(try_cast(x as bigint) as varchar))"),
    "as_time": (
        "x",
        (
            f"coalesce(try_cast(x as timestamp), case when {IS_TEXT} then mysql_text_time(cast(x as varchar))"
            f" when {IS_NUMBER} then mysql_number_time(try_cast(x as double)) end)"
        ),
    ),
    "number_clock": (
        "x",
        let(
            "case when abs(v) // 100 % 100 < 60 and abs(v) % 100 < 60 then"
            " sign(v) * (abs(v) // 10000 * 3600 + abs(v) // 100 % 100 * 60 + abs(v) % 100) * 1000000 end",
            x="try_cast(trunc(x) as bigint)",
        ),
    ),
    "text_clock": (
        "x",
        let(
            r"case when regexp_matches(v, '^\s*\d+-\d+-\d+') then epoch_us(cast(mysql_text_time(v) as time))"
            rf" when regexp_matches(v, '{_CLOCK}') and {_clock_part(4)} < 60 and {_clock_part(5)} < 60 then"
            rf" (case when regexp_extract(v, '{_CLOCK}', 1) = '-' then -1 else 1 end)"
            rf" * ((({_clock_part(2)} * 24 + {_clock_part(3)}) * 60 + {_clock_part(4)}) * 60 + {_clock_part(5)}) * 1000000"
            rf" + cast(round(cast('0' || regexp_extract(v, '{_CLOCK}', 6) as double) * 1000000) as bigint)"
            r" when regexp_matches(v, '^\s*-?\d+(\.\d*)?\s*$') then mysql_number_clock(mysql_text_number(v)) end",
            x="x",
        ),
    ),
    "as_clock": (
        "x",
        (
            f"case when {IS_TEXT} then mysql_text_clock(cast(x as varchar)) when {IS_NUMBER}"
            " then mysql_number_clock(try_cast(x as double)) else epoch_us(cast(try_cast(x as timestamp) as time)) end"
        ),
    ),
    "clock_text": (
        "us",
        let(
            "(case when v < 0 then '-' else '' end) || printf('%02d:%02d:%02d', abs(v) // 3600000000, abs(v) // 60000000 % 60,"
            " abs(v) // 1000000 % 60) || (case when v % 1000000 <> 0 then rtrim(printf('.%06d', abs(v) % 1000000), '0') else '' end)",
            us=let("case when v > 3020399000000 then 3020399000000 when v < -3020399000000 then -3020399000000 else v end", us="us"),
        ),
    ),
}


def macros() -> list[str]:
    """Return the statements that create the macros and their twins."""
    plain = [macro(f"{name}({x})", body) for name, (x, body) in _MACROS.items()]
    return plain + [macro(f"{name}_of(x)", f"mysql_{name}(v)", x="x") for name in ("as_number", "as_text", "as_time", "as_clock")]


def coerced(node: exp.Expr, want: SqlType) -> exp.Expr:
    """Return the node, converted if its type is not the wanted one."""
    have = type_of(node)
    if want in {SqlType.NUMBER, SqlType.INTEGER} and _is_small(node):
        # DuckDB would calculate with 32 bits and overflow, where MySQL uses 64.
        return marked(cast(node, "bigint"), SqlType.INTEGER)
    if have is want or want is SqlType.ANY or (want is SqlType.DATE and have is SqlType.TIME):
        return node
    return marked(_WAYS[want](node, have), want)


def _is_small(node: exp.Expr) -> bool:
    digits = node.this if isinstance(node, exp.Neg) else node
    return isinstance(digits, exp.Literal) and digits.is_int and int(digits.name) < _SMALL


def _chosen_later(name: str, node: exp.Expr) -> exp.Expr:
    return call("mysql_" + name if isinstance(node, exp.Column) else f"mysql_{name}_of", node)


def _number(node: exp.Expr, have: SqlType) -> exp.Expr:
    match have:
        case SqlType.INTEGER | SqlType.NUMBER:
            return node
        case SqlType.BOOLEAN:
            return cast(node, "bigint")
        case SqlType.NULL:
            return cast(node, "double")
        case SqlType.TEXT:
            return call("mysql_text_number", node)
    return _chosen_later("as_number", node)


def _integer(node: exp.Expr, have: SqlType) -> exp.Expr:
    return cast(node, "bigint") if have in {SqlType.BOOLEAN, SqlType.NULL} else call("mysql_whole", _number(node, have))


def _text(node: exp.Expr, have: SqlType) -> exp.Expr:
    if isinstance(node, exp.Literal):
        return text(_shown(node.name))
    return cast(node, "varchar") if have in {SqlType.NULL, SqlType.JSON, SqlType.DATE, SqlType.INTEGER} else _chosen_later("as_text", node)


def _shown(number: str) -> str:
    """Return a literal number as MySQL prints it."""
    if "e" in number.lower():
        return repr(float(number)).removesuffix(".0").replace("e+", "e")
    return format(Decimal(number), "f")


def _time(node: exp.Expr, have: SqlType) -> exp.Expr:
    match have:
        case SqlType.DATE | SqlType.NULL:
            return cast(node, "timestamp")
        case SqlType.TEXT:
            return call("mysql_text_time", node)
        case SqlType.INTEGER | SqlType.NUMBER:
            return call("mysql_number_time", node)
    return _chosen_later("as_time", node)


def _boolean(node: exp.Expr, have: SqlType) -> exp.Expr:
    if have is SqlType.NULL:
        return cast(node, "boolean")
    return exp.NEQ(this=exp.paren(_number(node, have), copy=False), expression=exp.Literal.number(0))


def _json(node: exp.Expr, _have: SqlType) -> exp.Expr:
    return cast(node, "json")


def _value(node: exp.Expr, have: SqlType) -> exp.Expr:
    if have is SqlType.JSON:
        return node
    if have is SqlType.NULL:
        return cast(text("null"), "json")
    return call("to_json", _text(node, have) if have in {SqlType.TIME, SqlType.DATE} else node)


def _clock(node: exp.Expr, have: SqlType) -> exp.Expr:
    match have:
        case SqlType.NULL:
            return cast(node, "bigint")
        case SqlType.TEXT:
            return call("mysql_text_clock", node)
        case SqlType.INTEGER | SqlType.NUMBER:
            return call("mysql_number_clock", node)
        case SqlType.TIME:
            return call("epoch_us", cast(node, "time"))
    return _chosen_later("as_clock", node)


_WAYS = {
    SqlType.NUMBER: _number,
    SqlType.INTEGER: _integer,
    SqlType.TEXT: _text,
    SqlType.TIME: _time,
    SqlType.DATE: _time,
    SqlType.BOOLEAN: _boolean,
    SqlType.JSON: _json,
    SqlType.VALUE: _value,
    SqlType.CLOCK: _clock,
}


def agreed(nodes: list[exp.Expr], kind: SqlType) -> list[exp.Expr]:
    """Return the values of a choice, converted to its type if DuckDB would not convert them as MySQL does."""
    if kind in {SqlType.TEXT, SqlType.NUMBER, SqlType.INTEGER}:
        wanted = SqlType.TEXT if kind is SqlType.TEXT else SqlType.NUMBER
        return [node if type_of(node) is SqlType.NULL else coerced(node, wanted) for node in nodes]
    return nodes

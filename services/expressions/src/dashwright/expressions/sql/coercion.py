"""MySQL's implicit conversions between types.

The types of columns are unknown here, so macros such as ``to_number`` use DuckDB's ``typeof``, which is resolved before
the statement runs. They evaluate their argument several times, which is cheap for a column. For any other expression,
variants such as ``to_number_once`` evaluate it once.
"""

from collections.abc import Mapping
from decimal import Decimal

from sqlglot import exp

from dashwright.expressions.sql.duckdb_sql import call, cast, let, macro, string_literal
from dashwright.expressions.sql.sql_type import SqlType, type_of, with_type

_IS_FLOAT = "typeof(x) in ('DOUBLE', 'FLOAT')"
IS_STRING = "typeof(x) in ('VARCHAR', 'JSON')"
IS_NUMBER = "(typeof(x) in ('DOUBLE', 'FLOAT', 'BOOLEAN') or typeof(x) like '%INT%' or typeof(x) like 'DECIMAL%')"
#: Integer literals below this are 32-bit integers in DuckDB.
_INT32_LIMIT = 1 << 31

#: Patterns of times with their replacements, which turn MySQL's notations into the one that DuckDB parses. As in MySQL,
#: two-digit years from 70 are in the 20th century.
_TIME_NOTATIONS = (
    (r"^\s*(\d{4})(\d\d)(\d\d)T?(\d\d)(\d\d)(\d\d)", r"\1-\2-\3 \4:\5:\6"),
    (r"^\s*(\d{4})(\d\d)(\d\d)\s*$", r"\1-\2-\3"),
    (r"^\s*(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\s*$", r"\1-\2-\3 \4:\5:\6"),
    (r"^\s*(\d\d)(\d\d)(\d\d)\s*$", r"\1-\2-\3"),
    (r"^\s*([0-6]\d)[^\w\s](\d{1,2})[^\w\s](\d{1,2})", r"20\1-\2-\3"),
    (r"^\s*([7-9]\d)[^\w\s](\d{1,2})[^\w\s](\d{1,2})", r"19\1-\2-\3"),
    (r"^\s*(\d{4})[^\w\s](\d{1,2})[^\w\s](\d{1,2})", r"\1-\2-\3"),
    (r"^\s*(\S+)[T ](\d{1,2})\s*$", r"\1 \2:00:00"),
)


def _normalized_time(expression: str) -> str:
    """Return SQL that converts a time in one of MySQL's notations to DuckDB's notation."""
    for pattern, replacement in _TIME_NOTATIONS:
        expression = f"regexp_replace({expression}, '{pattern}', '{replacement}')"
    return expression


#: The groups are sign, days, hours, minutes, seconds and the fraction of a second.
_TIME_OF_DAY_PATTERN = r"^\s*(-?)(?:(\d+) )?(\d+):(\d+)(?::(\d+))?(\.\d+)?"


def _time_of_day_group(group: int) -> str:
    """Return SQL for the number in a group of ``_TIME_OF_DAY_PATTERN``; 0 if the group is empty."""
    return f"cast('0' || regexp_extract($x, '{_TIME_OF_DAY_PATTERN}', {group}) as bigint)"


#: MySQL's limit of a TIME, 838:59:59, in microseconds.
_MAX_TIME_OF_DAY = 3_020_399_000_000

#: The parameter and the body of each macro.
_MACROS: Mapping[str, tuple[str, str]] = {
    "string_to_number": (
        "x",
        # The result is the sign, a 0 and the leading number, so that a string without a number is 0.
        r"try_cast(regexp_replace(x, '^\s*([-+]?)(\d*\.?\d*(?:[eE][-+]?\d+)?).*$', '\10\2', 's') as double)",
    ),
    "to_number": (
        "x",
        (
            # For a numeric column DuckDB removes the other branches before it runs, which is thirty times as fast.
            f"case when {IS_NUMBER} then try_cast(x as double) else"
            f" coalesce(try_cast(x as double), case when {IS_STRING} then mysql_string_to_number(cast(x as varchar))"
            # Any other value is a timestamp. Its number consists of its digits, such as 20240131120000.
            r" else try_cast(regexp_replace(split_part(cast(x as varchar), '.', 1), '\D', '', 'g') as double) end) end"
        ),
    ),
    "round_to_integer": ("x", "try_cast(round(x) as bigint)"),
    "to_string": (
        "x",
        (
            f"case when {_IS_FLOAT} then regexp_replace(replace(cast(x as varchar), 'e+', 'e'), '\\.0$', '')"
            " when typeof(x) = 'BOOLEAN' then cast(try_cast(x as integer) as varchar) else cast(x as varchar) end"
        ),
    ),
    "string_to_timestamp": ("x", f"try_cast({_normalized_time('x')} as timestamp)"),
    "number_to_timestamp": ("x", "mysql_string_to_timestamp(cast(try_cast(x as bigint) as varchar))"),
    "to_timestamp": (
        "x",
        (
            f"coalesce(try_cast(x as timestamp), case when {IS_STRING} then mysql_string_to_timestamp(cast(x as varchar))"
            f" when {IS_NUMBER} then mysql_number_to_timestamp(try_cast(x as double)) end)"
        ),
    ),
    "number_to_time_of_day": (
        "x",
        let(
            # The digits of the number are HHMMSS.
            "case when abs($x) // 100 % 100 < 60 and abs($x) % 100 < 60 then"
            " sign($x) * (abs($x) // 10000 * 3600 + abs($x) // 100 % 100 * 60 + abs($x) % 100) * 1000000 end",
            x="try_cast(trunc(x) as bigint)",
        ),
    ),
    "string_to_time_of_day": (
        "x",
        let(
            r"case when regexp_matches($x, '^\s*\d+-\d+-\d+') then epoch_us(cast(mysql_string_to_timestamp($x) as time))"
            rf" when regexp_matches($x, '{_TIME_OF_DAY_PATTERN}') and {_time_of_day_group(4)} < 60 and {_time_of_day_group(5)} < 60 then"
            rf" (case when regexp_extract($x, '{_TIME_OF_DAY_PATTERN}', 1) = '-' then -1 else 1 end)"
            rf" * ((({_time_of_day_group(2)} * 24 + {_time_of_day_group(3)}) * 60 + {_time_of_day_group(4)}) * 60"
            rf" + {_time_of_day_group(5)}) * 1000000"
            rf" + cast(round(cast('0' || regexp_extract($x, '{_TIME_OF_DAY_PATTERN}', 6) as double) * 1000000) as bigint)"
            r" when regexp_matches($x, '^\s*-?\d+(\.\d*)?\s*$') then mysql_number_to_time_of_day(mysql_string_to_number($x)) end",
            x="x",
        ),
    ),
    "to_time_of_day": (
        "x",
        (
            f"case when {IS_STRING} then mysql_string_to_time_of_day(cast(x as varchar)) when {IS_NUMBER}"
            " then mysql_number_to_time_of_day(try_cast(x as double)) else epoch_us(cast(try_cast(x as timestamp) as time)) end"
        ),
    ),
    "time_of_day_to_string": (
        "us",
        let(
            "(case when $us < 0 then '-' else '' end) || printf('%02d:%02d:%02d', abs($us) // 3600000000, abs($us) // 60000000 % 60,"
            " abs($us) // 1000000 % 60) || (case when $us % 1000000 <> 0 then rtrim(printf('.%06d', abs($us) % 1000000), '0') else '' end)",
            us=let(
                f"case when $us > {_MAX_TIME_OF_DAY} then {_MAX_TIME_OF_DAY} when $us < -{_MAX_TIME_OF_DAY} then -{_MAX_TIME_OF_DAY}"
                " else $us end",
                us="us",
            ),
        ),
    ),
}


def macros() -> list[str]:
    """Return the statements that create the macros, including the variants that evaluate their argument once."""
    statements = [macro(f"{name}({parameter})", body) for name, (parameter, body) in _MACROS.items()]
    runtime_conversions = ("to_number", "to_string", "to_timestamp", "to_time_of_day")
    return statements + [macro(f"{name}_once(x)", f"mysql_{name}($x)", x="x") for name in runtime_conversions]


def coerce(node: exp.Expr, target: SqlType) -> exp.Expr:
    """Return the node, converted to ``target`` if it has another type."""
    source = type_of(node)
    if target in {SqlType.NUMBER, SqlType.INTEGER} and _is_int32(node):
        # DuckDB would calculate with 32 bits and overflow, where MySQL uses 64.
        return with_type(cast(node, "bigint"), SqlType.INTEGER)
    if source is target or target is SqlType.ANY or (target is SqlType.DATE and source is SqlType.TIMESTAMP):
        return node
    return with_type(_CONVERTERS[target](node, source), target)


def _is_int32(node: exp.Expr) -> bool:
    """Return whether the node is a literal that is a 32-bit integer in DuckDB."""
    literal = node.this if isinstance(node, exp.Neg) else node
    return isinstance(literal, exp.Literal) and literal.is_int and int(literal.name) < _INT32_LIMIT


def _convert_at_runtime(name: str, node: exp.Expr) -> exp.Expr:
    """Return a call of the macro ``name``, which chooses the conversion by the type that DuckDB determines."""
    return call("mysql_" + name if isinstance(node, exp.Column) else f"mysql_{name}_once", node)


def _to_number(node: exp.Expr, source: SqlType) -> exp.Expr:
    match source:
        case SqlType.INTEGER | SqlType.NUMBER:
            return node
        case SqlType.BOOLEAN:
            return cast(node, "bigint")
        case SqlType.NULL:
            return cast(node, "double")
        case SqlType.STRING:
            return call("mysql_string_to_number", node)
    return _convert_at_runtime("to_number", node)


def _to_integer(node: exp.Expr, source: SqlType) -> exp.Expr:
    return cast(node, "bigint") if source in {SqlType.BOOLEAN, SqlType.NULL} else call("mysql_round_to_integer", _to_number(node, source))


def _to_string(node: exp.Expr, source: SqlType) -> exp.Expr:
    if isinstance(node, exp.Literal):
        return string_literal(_literal_string(node.name))
    return (
        cast(node, "varchar")
        if source in {SqlType.NULL, SqlType.JSON, SqlType.DATE, SqlType.INTEGER}
        else _convert_at_runtime("to_string", node)
    )


def _literal_string(literal: str) -> str:
    """Return a number literal as MySQL prints it, such as ``1000`` for ``1e3``."""
    if "e" in literal.lower():
        return repr(float(literal)).removesuffix(".0").replace("e+", "e")
    return format(Decimal(literal), "f")


def _to_timestamp(node: exp.Expr, source: SqlType) -> exp.Expr:
    match source:
        case SqlType.DATE | SqlType.NULL:
            return cast(node, "timestamp")
        case SqlType.STRING:
            return call("mysql_string_to_timestamp", node)
        case SqlType.INTEGER | SqlType.NUMBER:
            return call("mysql_number_to_timestamp", node)
    return _convert_at_runtime("to_timestamp", node)


def _to_boolean(node: exp.Expr, source: SqlType) -> exp.Expr:
    if source is SqlType.NULL:
        return cast(node, "boolean")
    return exp.NEQ(this=exp.paren(_to_number(node, source), copy=False), expression=exp.Literal.number(0))


def _to_json(node: exp.Expr, _source: SqlType) -> exp.Expr:
    return cast(node, "json")


def _to_json_value(node: exp.Expr, source: SqlType) -> exp.Expr:
    """Return the value as JSON: a string becomes a JSON string, whereas ``_to_json`` parses it as a document."""
    if source is SqlType.JSON:
        return node
    if source is SqlType.NULL:
        return cast(string_literal("null"), "json")
    return call("to_json", _to_string(node, source) if source in {SqlType.TIMESTAMP, SqlType.DATE} else node)


def _to_time_of_day(node: exp.Expr, source: SqlType) -> exp.Expr:
    match source:
        case SqlType.NULL:
            return cast(node, "bigint")
        case SqlType.STRING:
            return call("mysql_string_to_time_of_day", node)
        case SqlType.INTEGER | SqlType.NUMBER:
            return call("mysql_number_to_time_of_day", node)
        case SqlType.TIMESTAMP:
            return call("epoch_us", cast(node, "time"))
    return _convert_at_runtime("to_time_of_day", node)


#: The function that converts a node to each type. Its second argument is the type of the node.
_CONVERTERS = {
    SqlType.NUMBER: _to_number,
    SqlType.INTEGER: _to_integer,
    SqlType.STRING: _to_string,
    SqlType.TIMESTAMP: _to_timestamp,
    SqlType.DATE: _to_timestamp,
    SqlType.BOOLEAN: _to_boolean,
    SqlType.JSON: _to_json,
    SqlType.JSON_VALUE: _to_json_value,
    SqlType.TIME_OF_DAY: _to_time_of_day,
}


def coerce_all(nodes: list[exp.Expr], result_type: SqlType) -> list[exp.Expr]:
    """Return the alternatives of a choice, such as the arguments of COALESCE, converted to the type of its result.

    The alternatives are unchanged if DuckDB converts them like MySQL.
    """
    if result_type in {SqlType.STRING, SqlType.NUMBER, SqlType.INTEGER}:
        # A conversion to NUMBER leaves integers unchanged.
        target = SqlType.STRING if result_type is SqlType.STRING else SqlType.NUMBER
        return [node if type_of(node) is SqlType.NULL else coerce(node, target) for node in nodes]
    return nodes

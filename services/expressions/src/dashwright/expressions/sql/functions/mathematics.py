"""Functions of numbers. Outside its domain a function is NULL."""

from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerced
from dashwright.expressions.sql.duckdb_sql import call, cast, let, macro
from dashwright.expressions.sql.functions.function import SqlFunction, alias, form, scalar, written
from dashwright.expressions.sql.sql_type import SqlType

_N = SqlType.NUMBER


def _positive(body: str, argument: str = "x") -> str:
    return let(f"case when v > 0 then {body} end", x=argument)


def _to_digits(name: str, duckdb: str, doc: str) -> SqlFunction:
    """Return a function that rounds to a number of digits."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        number = coerced(arguments[0], _N)
        if len(arguments) == 1:
            return call(duckdb, number, kind=_N)
        digits = coerced(arguments[1], SqlType.INTEGER)
        constant = isinstance(arguments[1], exp.Literal) or (
            isinstance(arguments[1], exp.Neg) and isinstance(arguments[1].this, exp.Literal)
        )
        if constant:
            return call(duckdb, number, cast(digits, "integer"), kind=_N)
        return call("mysql_" + name, number, digits, kind=_N)

    by_column = macro(
        f"{name}(x, d)",
        f"case when $d is not null then {duckdb}(cast($x as double), cast(greatest(least($d, 30), -30) as integer)) end",
        x="x",
        d="d",
    )
    usage = f"{name}(x, d)" if name == "truncate" else f"{name}(x[, d])"
    return written(name, usage, doc, build, 2 if name == "truncate" else 1, 2, by_column)


_ALPHABET = "'0123456789abcdefghijklmnopqrstuvwxyz'"
_WRAP = "18446744073709551616::hugeint"

_VALUE = (  # of the digits of $t before the first that base $f does not have
    "list_reduce(list_prepend({'n': 0::hugeint, 'good': true}, list_transform(regexp_extract_all(ltrim($t, '-'), '.'),"
    f" lambda c: {{'n': (instr({_ALPHABET}, c) - 1)::hugeint, 'good': true}})),"
    " lambda sum, digit: case when sum['good'] and digit['n'] between 0 and $f - 1"
    " then {'n': least(sum['n'] * $f + digit['n'], 18446744073709551615::hugeint), 'good': true}"
    " else {'n': sum['n'], 'good': false} end)['n']"
)

_WRITTEN = (  # $n in base $b
    "upper(coalesce(nullif(ltrim(list_reduce(list_prepend({'n': abs($n), 't': ''},"
    " list_transform(range(64), lambda i: {'n': 0::hugeint, 't': ''})),"
    f" lambda rest, i: {{'n': rest['n'] // $b, 't': {_ALPHABET}[(rest['n'] % $b)::int + 1] || rest['t']}})['t'], '0'), ''), '0'))"
)

_CONV = let(
    f"case when $n is not null and $f between 2 and 36 and $b between 2 and 36 then"
    f" (case when $n < 0 then '-' else '' end) || {_WRITTEN} end",
    n=let(
        f"case when coalesce($t, '') = '' then null when $t not like '-%' then {_VALUE} when $signed then - {_VALUE}"
        f" when {_VALUE} = 0 then 0 else {_WRAP} - {_VALUE} end",
        t="lower(trim(x))",
        f="abs(f)::hugeint",
        signed="t < 0",
    ),
    f="abs(f)",
    b="abs(t)::hugeint",
)

_RANDOM = let(
    "((v * 65537 + 55555555) % 4294967296 % 1073741823 * 3 + (v * 268435457) % 4294967296 % 1073741823) % 1073741823 / 1073741823::double",
    seed="coalesce(seed, 0)::hugeint & 4294967295",
)

MATHEMATICS = [
    scalar("abs", _N, "the absolute value", form("x: number", "abs(x)")),
    _to_digits("round", "round", "`x` rounded to `d` digits (default 0), half away from zero; a negative `d` rounds before the point"),
    _to_digits("truncate", "trunc", "`x` truncated after `d` digits"),
    scalar("floor", _N, "the largest integer not greater than `x`", form("x: number", "floor(x)")),
    ceiling := scalar("ceiling", _N, "the smallest integer not less than `x`", form("x: number", "ceil(x)")),
    alias(ceiling, "ceil"),
    scalar("sqrt", _N, "the square root; NULL if `x` is negative", form("x: number", let("case when v >= 0 then sqrt(v) end", x="x"))),
    power := scalar("pow", _N, "`x` to the power of `y`", form("x: number, y: number", "pow(x, y)")),
    alias(power, "power"),
    scalar("mod", _N, "the remainder of `x / y`, with the sign of `x`; NULL if `y` is 0", form("x: number, y: number", "x % y")),
    scalar(
        "log",
        _N,
        "the natural logarithm of `x`, or the logarithm of `y` to the base `x`",
        form("x: number", _positive("ln(v)")),
        form("x: number, y: number", let("case when $x > 0 and $x <> 1 and $y > 0 then ln($y) / ln($x) end", x="x", y="y")),
    ),
    scalar("ln", _N, "the natural logarithm", form("x: number", _positive("ln(v)"))),
    scalar("log2", _N, "the logarithm to the base 2", form("x: number", _positive("log2(v)"))),
    scalar("log10", _N, "the logarithm to the base 10", form("x: number", _positive("log10(v)"))),
    scalar("exp", _N, "e to the power of `x`", form("x: number", "exp(x)")),
    scalar("sign", SqlType.INTEGER, "-1, 0 or 1, for a negative, zero or positive `x`", form("x: number", "cast(sign(x) as bigint)")),
    scalar("sin", _N, "the sine of an angle in radians", form("x: number", "sin(x)")),
    scalar("cos", _N, "the cosine of an angle in radians", form("x: number", "cos(x)")),
    scalar("tan", _N, "the tangent of an angle in radians", form("x: number", "tan(x)")),
    scalar("cot", _N, "the cotangent of an angle in radians", form("x: number", "1 / tan(x)")),
    scalar("asin", _N, "the arc sine, in radians", form("x: number", let("case when v between -1 and 1 then asin(v) end", x="x"))),
    scalar("acos", _N, "the arc cosine, in radians", form("x: number", let("case when v between -1 and 1 then acos(v) end", x="x"))),
    scalar(
        "atan",
        _N,
        "the arc tangent of `x`, or of `x / y` with the quadrant from both signs",
        form("x: number", "atan(x)"),
        form("x: number, y: number", "atan2(x, y)"),
    ),
    scalar("atan2", _N, "the arc tangent of `x / y`, with the quadrant from both signs", form("x: number, y: number", "atan2(x, y)")),
    scalar("degrees", _N, "`x` radians in degrees", form("x: number", "degrees(x)")),
    scalar("radians", _N, "`x` degrees in radians", form("x: number", "radians(x)")),
    scalar("pi", _N, "3.141592653589793", form("", "pi()")),
    scalar(
        "rand",
        _N,
        "a random number from 0 to below 1, different in each row; with a seed, always the same number",
        form("", "random()"),
        form(
            "seed: integer",
            _RANDOM,
        ),
    ),
    scalar(
        "conv",
        SqlType.TEXT,
        "the number `x`, converted from base `f` to base `t` (2 to 36; negative for signed numbers)",
        form("x: text, f: integer, t: integer", _CONV),
    ),
]

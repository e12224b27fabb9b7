"""Functions of numbers. A function returns NULL for arguments outside of its domain."""

from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.duckdb_sql import call, cast, let, macro
from dashwright.expressions.sql.functions.function import SqlFunction, alias, custom, overload, scalar
from dashwright.expressions.sql.sql_type import SqlType

_NUMBER = SqlType.NUMBER


def _null_unless_positive(body: str) -> str:
    """Return SQL for ``body``, which refers to the argument as ``$x``, or NULL if the argument is not above 0."""
    return let(f"case when $x > 0 then {body} end", x="x")


def _rounding_function(name: str, duckdb_name: str, doc: str) -> SqlFunction:
    """Return a function that rounds to a number of digits, which may be a column."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        value = coerce(arguments[0], _NUMBER)
        if len(arguments) == 1:
            return call(duckdb_name, value, result_type=_NUMBER)
        digits = coerce(arguments[1], SqlType.INTEGER)
        is_constant = isinstance(arguments[1], exp.Literal) or (
            isinstance(arguments[1], exp.Neg) and isinstance(arguments[1].this, exp.Literal)
        )
        if is_constant:
            return call(duckdb_name, value, cast(digits, "integer"), result_type=_NUMBER)
        return call("mysql_" + name, value, digits, result_type=_NUMBER)

    # As in MySQL, digits beyond 30 are ignored.
    column_macro = macro(
        f"{name}(x, d)",
        f"case when $d is not null then {duckdb_name}(cast($x as double), cast(greatest(least($d, 30), -30) as integer)) end",
        x="x",
        d="d",
    )
    usage = f"{name}(x, d)" if name == "truncate" else f"{name}(x[, d])"
    return custom(name, usage, doc, build, column_macro, min_arguments=2 if name == "truncate" else 1, max_arguments=2)


_ALPHABET = "'0123456789abcdefghijklmnopqrstuvwxyz'"
#: 2**64, which turns a negative number into an unsigned one.
_UNSIGNED_RANGE = "18446744073709551616::hugeint"

#: The number that the leading digits of ``$string`` are in base ``$base``. Characters after the first one that is not a digit
#: of the base are ignored. The sum is limited to 64 bits.
_PARSED_NUMBER = (
    "list_reduce(list_prepend({'n': 0::hugeint, 'is_valid': true}, list_transform(regexp_extract_all(ltrim($string, '-'), '.'),"
    f" lambda c: {{'n': (instr({_ALPHABET}, c) - 1)::hugeint, 'is_valid': true}})),"
    " lambda sum, digit: case when sum['is_valid'] and digit['n'] between 0 and $base - 1"
    " then {'n': least(sum['n'] * $base + digit['n'], 18446744073709551615::hugeint), 'is_valid': true}"
    " else {'n': sum['n'], 'is_valid': false} end)['n']"
)

#: The digits of the absolute value of ``$n`` in base ``$to_base``: 64 divisions, whose remainders are the digits.
_DIGITS = (
    "upper(coalesce(nullif(ltrim(list_reduce(list_prepend({'n': abs($n), 'digits': ''},"
    " list_transform(range(64), lambda i: {'n': 0::hugeint, 'digits': ''})),"
    f" lambda state, i: {{'n': state['n'] // $to_base, 'digits': {_ALPHABET}[(state['n'] % $to_base)::int + 1] || state['digits']}})"
    "['digits'], '0'), ''), '0'))"
)

#: The string ``x`` converted from base ``f`` to base ``t``, the parameters of CONV. A negative base means signed numbers.
_CONVERTED_BASE = let(
    f"case when $n is not null and $from_base between 2 and 36 and $to_base between 2 and 36 then"
    f" (case when $n < 0 then '-' else '' end) || {_DIGITS} end",
    n=let(
        f"case when coalesce($string, '') = '' then null when $string not like '-%' then {_PARSED_NUMBER}"
        f" when $is_signed then - {_PARSED_NUMBER}"
        f" when {_PARSED_NUMBER} = 0 then 0 else {_UNSIGNED_RANGE} - {_PARSED_NUMBER} end",
        string="lower(trim(x))",
        base="abs(f)::hugeint",
        is_signed="t < 0",
    ),
    from_base="abs(f)",
    to_base="abs(t)::hugeint",
)

#: The first number that MySQL's generator returns for a seed.
_RANDOM = let(
    "(($seed * 65537 + 55555555) % 4294967296 % 1073741823 * 3 + ($seed * 268435457) % 4294967296 % 1073741823)"
    " % 1073741823 / 1073741823::double",
    seed="coalesce(seed, 0)::hugeint & 4294967295",
)

MATHEMATICS = [
    scalar("abs", _NUMBER, "the absolute value", overload("x: number", "abs(x)")),
    _rounding_function(
        "round", "round", "`x` rounded to `d` digits (default 0), half away from zero; a negative `d` rounds before the point"
    ),
    _rounding_function("truncate", "trunc", "`x` truncated after `d` digits"),
    scalar("floor", _NUMBER, "the largest integer not greater than `x`", overload("x: number", "floor(x)")),
    ceiling := scalar("ceiling", _NUMBER, "the smallest integer not less than `x`", overload("x: number", "ceil(x)")),
    alias(ceiling, "ceil"),
    scalar(
        "sqrt",
        _NUMBER,
        "the square root; NULL if `x` is negative",
        overload("x: number", let("case when $x >= 0 then sqrt($x) end", x="x")),
    ),
    power := scalar("pow", _NUMBER, "`x` to the power of `y`", overload("x: number, y: number", "pow(x, y)")),
    alias(power, "power"),
    scalar("mod", _NUMBER, "the remainder of `x / y`, with the sign of `x`; NULL if `y` is 0", overload("x: number, y: number", "x % y")),
    scalar(
        "log",
        _NUMBER,
        "the natural logarithm of `x`, or the logarithm of `y` to the base `x`",
        overload("x: number", _null_unless_positive("ln($x)")),
        overload("x: number, y: number", let("case when $x > 0 and $x <> 1 and $y > 0 then ln($y) / ln($x) end", x="x", y="y")),
    ),
    scalar("ln", _NUMBER, "the natural logarithm", overload("x: number", _null_unless_positive("ln($x)"))),
    scalar("log2", _NUMBER, "the logarithm to the base 2", overload("x: number", _null_unless_positive("log2($x)"))),
    scalar("log10", _NUMBER, "the logarithm to the base 10", overload("x: number", _null_unless_positive("log10($x)"))),
    scalar("exp", _NUMBER, "e to the power of `x`", overload("x: number", "exp(x)")),
    scalar("sign", SqlType.INTEGER, "-1, 0 or 1, for a negative, zero or positive `x`", overload("x: number", "cast(sign(x) as bigint)")),
    scalar("sin", _NUMBER, "the sine of an angle in radians", overload("x: number", "sin(x)")),
    scalar("cos", _NUMBER, "the cosine of an angle in radians", overload("x: number", "cos(x)")),
    scalar("tan", _NUMBER, "the tangent of an angle in radians", overload("x: number", "tan(x)")),
    scalar("cot", _NUMBER, "the cotangent of an angle in radians", overload("x: number", "1 / tan(x)")),
    scalar(
        "asin", _NUMBER, "the arc sine, in radians", overload("x: number", let("case when $x between -1 and 1 then asin($x) end", x="x"))
    ),
    scalar(
        "acos", _NUMBER, "the arc cosine, in radians", overload("x: number", let("case when $x between -1 and 1 then acos($x) end", x="x"))
    ),
    scalar(
        "atan",
        _NUMBER,
        "the arc tangent of `x`, or of `x / y` with the quadrant from both signs",
        overload("x: number", "atan(x)"),
        overload("x: number, y: number", "atan2(x, y)"),
    ),
    scalar(
        "atan2", _NUMBER, "the arc tangent of `x / y`, with the quadrant from both signs", overload("x: number, y: number", "atan2(x, y)")
    ),
    scalar("degrees", _NUMBER, "`x` radians in degrees", overload("x: number", "degrees(x)")),
    scalar("radians", _NUMBER, "`x` degrees in radians", overload("x: number", "radians(x)")),
    scalar("pi", _NUMBER, "3.141592653589793", overload("", "pi()")),
    scalar(
        "rand",
        _NUMBER,
        "a random number from 0 to below 1, different in each row; with a seed, always the same number",
        overload("", "random()"),
        overload(
            "seed: integer",
            _RANDOM,
        ),
    ),
    scalar(
        "conv",
        SqlType.STRING,
        "the number `x`, converted from base `f` to base `t`; a base is 2 to 36, or negative for signed numbers",
        overload("x: string, f: integer, t: integer", _CONVERTED_BASE),
    ),
]

"""Functions of strings. Positions count characters from 1, and comparisons are case-sensitive."""

from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.duckdb_sql import call, let, macro
from dashwright.expressions.sql.functions.function import SqlFunction, alias, custom, overload, scalar
from dashwright.expressions.sql.sql_type import SqlType

_STRING, _INTEGER = SqlType.STRING, SqlType.INTEGER


def concatenate(arguments: Sequence[exp.Expr]) -> exp.Expr:
    """Return the concatenation of the arguments as strings; NULL if one of them is NULL."""
    strings = [coerce(argument, _STRING) for argument in arguments]
    return call("mysql_concat", exp.Array(expressions=strings), result_type=_STRING) if len(strings) > 1 else strings[0]


def _list_function(name: str, first_type: SqlType, result_type: SqlType, usage: str, doc: str, body: str) -> SqlFunction:
    """Return a function of a value ``$x`` of the type ``first_type`` and of any number of strings, the list ``$l`` in ``body``."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        strings = exp.Array(expressions=[coerce(argument, _STRING) for argument in arguments[1:]])
        return call("mysql_" + name, coerce(arguments[0], first_type), strings, result_type=result_type)

    return custom(name, usage, doc, build, macro(f"{name}(x, l)", body, x="x", l="l"), min_arguments=2)


def _char(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return call("mysql_char", exp.Array(expressions=[coerce(argument, _INTEGER) for argument in arguments]), result_type=_STRING)


#: SQL of SUBSTRING. Its placeholders are a condition for an empty result, and the length.
_SUBSTRING_TEMPLATE = (
    "case when $x is null or $p is null then null when $p = 0 or $p < -length($x) {extra}then '' else substring($x, $p{length}) end"
)
# The length is limited to 32 bits, because DuckDB's ``substring`` rejects longer ones.
_SUBSTRING = (
    overload("x: string, p: integer", let(_SUBSTRING_TEMPLATE.format(extra="", length=""), x="x", p="p")),
    overload(
        "x: string, p: integer, n: integer",
        let(_SUBSTRING_TEMPLATE.format(extra="or $n < 1 ", length=", $n"), x="x", p="p", n="least(n, 2147483647)"),
    ),
)

# The bytes of a character in UTF-8, computed from its code point.
_FIRST_BYTE = (
    "case when $code < 128 then $code when $code < 2048 then 192 + $code // 64 when $code < 65536 then 224 + $code // 4096"
    " else 240 + $code // 262144 end"
)
_ALL_BYTES = (
    "case when $code < 128 then $code when $code < 2048 then (192 + $code // 64) * 256 + 128 + $code % 64"
    " when $code < 65536 then ((224 + $code // 4096) * 256 + 128 + $code // 64 % 64) * 256 + 128 + $code % 64"
    " else (((240 + $code // 262144) * 256 + 128 + $code // 4096 % 64) * 256 + 128 + $code // 64 % 64) * 256 + 128 + $code % 64 end"
)
#: The code point of the first character; 0 for an empty string.
_CODE_POINT = "case when x = '' then 0 else unicode(x) end::bigint"

#: RE2's inline options for the match type ``{m}``. Of the flags ``c`` and ``i``, the last one applies.
_INLINE_OPTIONS = (
    "(case when regexp_matches({m}, 'i[^c]*$') then '(?i)' else '' end"
    " || case when contains({m}, 'm') then '(?m)' else '' end || case when contains({m}, 'n') then '(?s)' else '' end)"
)

# SQL for a string $x, a pattern $r, a position $p, an occurrence $o and a replacement $w. Matches are searched from the position,
# that is, in the remainder of the string. The splits are the strings before, between and after the matches.
_REMAINDER = "substring($x, $p)"
_SPLITS = f"string_split_regex({_REMAINDER}, $r)"
_MATCHES = f"regexp_extract_all({_REMAINDER}, $r)"
#: The replacement with RE2's references to groups (``\1``) for MySQL's (``$1``).
_REPLACEMENT = r"regexp_replace($w, '\$(\d)', '\\\1', 'g')"
#: The string before the position, followed by each split and the match after it, of which the occurrence is replaced.
_REPLACE = (
    f"left($x, $p - 1) || case when $o = 0 then regexp_replace({_REMAINDER}, $r, {_REPLACEMENT}, 'g')"
    f" else array_to_string(list_transform(list_zip({_SPLITS}, {_MATCHES}), lambda pair, i: pair[1] || case when pair[2] is null then ''"
    f" when i = $o then regexp_replace(pair[2], $r, {_REPLACEMENT}) else pair[2] end), '') end"
)
#: The position, plus the lengths of the splits and matches before the occurrence; if $e is 1, plus the length of the occurrence itself.
_MATCH_POSITION = (
    f"case when $o > len({_MATCHES}) then 0 else $p + list_sum(list_transform({_SPLITS}[1:$o], lambda w: length(w)))"
    f" + coalesce(list_sum(list_transform({_MATCHES}[1:$o - case when $e = 1 then 0 else 1 end], lambda w: length(w))), 0) end"
)


def _regexp_function(
    name: str, result_type: SqlType, doc: str, usage: str, parameters: str, defaults: Sequence[str], body: str
) -> SqlFunction:
    """Return a function of ``parameters`` and a match type ``m``, which ``body`` uses as inline options of the pattern ``r``.

    The match type is optional. ``defaults`` is the SQL of the default values of the last of ``parameters``.
    """
    declarations = parameters.split(", ")
    names = [declaration.split(":")[0] for declaration in declarations]
    required_count = len(declarations) - len(defaults)
    overloads = []
    for count in range(required_count, len(declarations) + 1):
        bindings = dict(zip(names, [*names[:count], *defaults[count - required_count :]], strict=True))
        overloads.append(overload(", ".join(declarations[:count]), let(body, **bindings)))
    bindings_with_options = {name: name for name in names} | {"r": f"{_INLINE_OPTIONS.format(m='m')} || r"}
    overloads.append(overload(f"{parameters}, m: string", let(body, **bindings_with_options)))
    return scalar(name, result_type, doc, *overloads, usage=usage)


#: The parameter ``n``, or 0 if it is negative. DuckDB's ``greatest`` ignores NULL, so that ``greatest(n, 0)`` would not be NULL.
_NOT_NEGATIVE = "greatest(n, case when n is null then null else 0 end)"

_CONCATENATE = let("case when len($l) = len(list_filter($l, lambda w: w is not null)) then array_to_string($l, '') end", l="l")

STRINGS = [
    custom(
        "concat",
        "concat(x, …)",
        "the arguments as one string; NULL if any is NULL",
        concatenate,
        macro("concat(l)", _CONCATENATE),
        min_arguments=1,
    ),
    _list_function(
        "concat_ws",
        _STRING,
        _STRING,
        "concat_ws(separator, x, …)",
        "the arguments that are not NULL, joined by the separator",
        "case when $x is null then null when len(list_filter($l, lambda w: w is not null)) = 0 then ''"
        " else list_reduce(list_filter($l, lambda w: w is not null), lambda a, w: a || $x || w) end",
    ),
    scalar("length", _INTEGER, "the number of bytes", overload("x: string", "strlen(x)::integer")),
    characters := scalar("char_length", _INTEGER, "the number of characters", overload("x: string", "length(x)::integer")),
    alias(characters, "character_length"),
    lower := scalar("lower", _STRING, "`x` in lower case", overload("x: string", "lower(x)")),
    alias(lower, "lcase"),
    upper := scalar("upper", _STRING, "`x` in upper case", overload("x: string", "upper(x)")),
    alias(upper, "ucase"),
    substring := scalar(
        "substring",
        _STRING,
        "at most `n` characters of `x` from position `p`; a negative `p` counts from the end; also `substring(x FROM p FOR n)`",
        *_SUBSTRING,
    ),
    alias(substring, "substr"),
    alias(substring, "mid"),
    scalar(
        "substring_index",
        _STRING,
        "the part of `x` before the `n`-th delimiter `d`; if `n` is negative, the part after the `n`-th delimiter from the end",
        overload(
            "x: string, d: string, n: integer",
            let(
                "case when $n = 0 or $d = '' then '' when $n > 0"
                " then list_reduce(string_split($x, $d)[1:$n], lambda a, w: a || $d || w)"
                " when $n < 0 then list_reduce(list_reverse(list_reverse(string_split($x, $d))[1:-$n]), lambda a, w: a || $d || w) end",
                x="x",
                d="d",
                n="n",
            ),
        ),
    ),
    scalar(
        "left",
        _STRING,
        "the first `n` characters",
        overload("x: string, n: integer", f"left(x, {_NOT_NEGATIVE})"),
    ),
    scalar(
        "right",
        _STRING,
        "the last `n` characters",
        overload("x: string, n: integer", f"right(x, {_NOT_NEGATIVE})"),
    ),
    scalar("ltrim", _STRING, "`x` without leading spaces", overload("x: string", "ltrim(x, ' ')")),
    scalar("rtrim", _STRING, "`x` without trailing spaces", overload("x: string", "rtrim(x, ' ')")),
    scalar(
        "trim",
        _STRING,
        "`x` without the strings `d` (default: spaces) at both ends, or at one end",
        overload("x: string", "trim(x, ' ')"),
        usage="trim([[BOTH | LEADING | TRAILING] [d] FROM] x)",
    ),
    scalar("replace", _STRING, "`x` with every `a` replaced by `b`", overload("x: string, a: string, b: string", "replace(x, a, b)")),
    scalar("reverse", _STRING, "the characters in reverse order", overload("x: string", "reverse(x)")),
    scalar("repeat", _STRING, "`x` repeated `n` times", overload("x: string, n: integer", "repeat(x, n)")),
    scalar("space", _STRING, "`n` spaces", overload("n: integer", "repeat(' ', n)")),
    scalar("instr", _INTEGER, "the position of `y` in `x`, or 0", overload("x: string, y: string", "instr(x, y)")),
    scalar(
        "locate",
        _INTEGER,
        "the position of `y` in `x`, searched from position `p`, or 0",
        overload("y: string, x: string", "instr(x, y)"),
        overload(
            "y: string, x: string, p: integer",
            let(
                "case when $p < 1 or $p > length($x) + 1 then 0 when instr(substring($x, $p), $y) = 0 then 0"
                " else instr(substring($x, $p), $y) + $p - 1 end",
                y="y",
                x="x",
                p="p",
            ),
        ),
    ),
    scalar(
        "position", _INTEGER, "the position of `y` in `x`, or 0", overload("y: string, x: string", "instr(x, y)"), usage="position(y IN x)"
    ),
    scalar("ascii", _INTEGER, "the value of the first byte", overload("x: string", let(_FIRST_BYTE, code=_CODE_POINT))),
    scalar("ord", _INTEGER, "the bytes of the first character as one number", overload("x: string", let(_ALL_BYTES, code=_CODE_POINT))),
    custom(
        "char",
        "char(n, …)",
        "the characters with these code points; NULL is omitted",
        _char,
        macro("char(l)", "array_to_string(list_transform(list_filter(l, lambda w: w is not null), lambda w: chr(w::int)), '')"),
        min_arguments=1,
    ),
    _list_function(
        "elt",
        _INTEGER,
        _STRING,
        "elt(n, x, …)",
        "the `n`-th of the strings `x, …`; NULL if it does not exist",
        "case when $x > 0 then $l[$x] end",
    ),
    _list_function(
        "field",
        _STRING,
        _INTEGER,
        "field(x, y, …)",
        "the position of `x` among the strings `y, …`, or 0",
        "coalesce(list_position($l, $x), 0)",
    ),
    scalar(
        "find_in_set",
        _INTEGER,
        "the position of `x` in the comma-separated list `y`, or 0",
        overload(
            "x: string, y: string",
            let(
                "case when $x is null or $y is null then null when $y = '' then 0"
                " else coalesce(list_position(string_split($y, ','), $x), 0) end",
                x="x",
                y="y",
            ),
        ),
    ),
    scalar(
        "lpad",
        _STRING,
        "`x` padded on the left with `p` to `n` characters, or truncated to `n`",
        overload("x: string, n: integer, p: string", let("case when $n >= 0 then lpad($x, $n::int, $p) end", x="x", n="n", p="p")),
    ),
    scalar(
        "rpad",
        _STRING,
        "`x` padded on the right with `p` to `n` characters, or truncated to `n`",
        overload("x: string, n: integer, p: string", let("case when $n >= 0 then rpad($x, $n::int, $p) end", x="x", n="n", p="p")),
    ),
    scalar(
        "quote",
        _STRING,
        "`x` as a quoted SQL literal",
        overload("x: string", r"coalesce('''' || replace(replace(replace(x, '\', '\\'), '''', '\'''), chr(26), '\Z') || '''', 'NULL')"),
    ),
    scalar(
        "from_base64",
        _STRING,
        "the string decoded from base64; NULL if it is invalid",
        overload("x: string", let("try(decode(from_base64($x)))", x="x")),
    ),
    scalar("to_base64", _STRING, "`x` encoded as base64", overload("x: string", "to_base64(encode(x))")),
    scalar(
        "format",
        _STRING,
        "`x` rounded to `d` digits, with commas as thousands separators",
        # As in MySQL, there are at most 30 decimals.
        overload(
            "x: number, d: integer", let("format('{:,.' || $d || 'f}', round($x, $d::int))", x="x::double", d="greatest(least(d, 30), 0)")
        ),
    ),
    scalar(
        "regexp_like",
        SqlType.BOOLEAN,
        "whether `x` has a match of the pattern `r` (RE2); `m` has the flags `i`, `c`, `m`, `n`",
        overload("x: string, r: string", "regexp_matches(x, r)"),
        overload("x: string, r: string, m: string", f"regexp_matches(x, {_INLINE_OPTIONS.format(m='m')} || r)"),
    ),
    _regexp_function(
        "regexp_substr",
        _STRING,
        "the `o`-th match, searched from position `p`; NULL if it does not exist",
        "regexp_substr(x, r[, p[, o[, m]]])",
        "x: string, r: string, p: integer, o: integer",
        ["1", "1"],
        "regexp_extract_all(substring($x, $p), $r)[greatest($o, 1)]",
    ),
    _regexp_function(
        "regexp_replace",
        _STRING,
        "`x` with every match (`o` = 0) or the `o`-th match from position `p` replaced by `w`; `$1` in `w` is the first group",
        "regexp_replace(x, r, w[, p[, o[, m]]])",
        "x: string, r: string, w: string, p: integer, o: integer",
        ["1", "0"],
        _REPLACE,
    ),
    _regexp_function(
        "regexp_instr",
        _INTEGER,
        "the position of the `o`-th match from position `p`, or 0; if `e` is 1, the position after the match",
        "regexp_instr(x, r[, p[, o[, e[, m]]]])",
        "x: string, r: string, p: integer, o: integer, e: integer",
        ["1", "1", "0"],
        _MATCH_POSITION,
    ),
]

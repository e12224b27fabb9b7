"""Functions of texts. Positions count characters from 1; texts compare and are found by their exact letters."""

from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerced
from dashwright.expressions.sql.duckdb_sql import call, let, macro
from dashwright.expressions.sql.functions.function import SqlFunction, alias, form, scalar, written
from dashwright.expressions.sql.sql_type import SqlType

_T, _I = SqlType.TEXT, SqlType.INTEGER


def concatenated(arguments: Sequence[exp.Expr]) -> exp.Expr:
    """Return the texts of the arguments, one after another; NULL if one is NULL."""
    texts = [coerced(argument, _T) for argument in arguments]
    return call("mysql_concat", exp.Array(expressions=texts), kind=_T) if len(texts) > 1 else texts[0]


def _listed(name: str, first: SqlType, gives: SqlType, usage: str, doc: str, body: str) -> SqlFunction:
    """Return a function of ``x`` and of a list ``l`` of texts."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        texts = exp.Array(expressions=[coerced(argument, _T) for argument in arguments[1:]])
        return call("mysql_" + name, coerced(arguments[0], first), texts, kind=gives)

    return written(name, usage, doc, build, 2, None, macro(f"{name}(x, l)", body, x="x", l="l"))


def _char(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return call("mysql_char", exp.Array(expressions=[coerced(argument, _I) for argument in arguments]), kind=_T)


_PART = "case when $x is null or $p is null then null when $p = 0 or $p < -length($x) {extra}then '' else substring($x, $p{length}) end"
_SUBSTRING = (
    form("x: text, p: integer", let(_PART.format(extra="", length=""), x="x", p="p")),
    form(
        "x: text, p: integer, n: integer",
        let(_PART.format(extra="or $n < 1 ", length=", $n"), x="x", p="p", n="least(n, 2147483647)"),
    ),
)

_BYTE = "case when v < 128 then v when v < 2048 then 192 + v // 64 when v < 65536 then 224 + v // 4096 else 240 + v // 262144 end"
_BYTES = (
    "case when v < 128 then v when v < 2048 then (192 + v // 64) * 256 + 128 + v % 64"
    " when v < 65536 then ((224 + v // 4096) * 256 + 128 + v // 64 % 64) * 256 + 128 + v % 64"
    " else (((240 + v // 262144) * 256 + 128 + v // 4096 % 64) * 256 + 128 + v // 64 % 64) * 256 + 128 + v % 64 end"
)
_POINT = "case when x = '' then 0 else unicode(x) end::bigint"

_MODE = (
    "(case when regexp_matches({m}, 'i[^c]*$') then '(?i)' else '' end"
    " || case when contains({m}, 'm') then '(?m)' else '' end || case when contains({m}, 'n') then '(?s)' else '' end)"
)
"""RE2's inline options for a match type, of whose ``c`` and ``i`` the last counts."""

_REST = "substring($x, $p)"
_PIECES = f"string_split_regex({_REST}, $r)"
_MATCHES = f"regexp_extract_all({_REST}, $r)"
_WRITTEN = r"regexp_replace($w, '\$(\d)', '\\\1', 'g')"
_REPLACED = (
    f"left($x, $p - 1) || case when $o = 0 then regexp_replace({_REST}, $r, {_WRITTEN}, 'g')"
    f" else array_to_string(list_transform(list_zip({_PIECES}, {_MATCHES}), lambda pair, i: pair[1] || case when pair[2] is null then ''"
    f" when i = $o then regexp_replace(pair[2], $r, {_WRITTEN}) else pair[2] end), '') end"
)
_PLACE = (
    f"case when $o > len({_MATCHES}) then 0 else $p + list_sum(list_transform({_PIECES}[1:$o], lambda w: length(w)))"
    f" + coalesce(list_sum(list_transform({_MATCHES}[1:$o - case when $e = 1 then 0 else 1 end], lambda w: length(w))), 0) end"
)


def _regexp(name: str, gives: SqlType, doc: str, usage: str, parameters: str, defaults: Sequence[str], body: str) -> SqlFunction:
    """Return a function of ``x``, ``r`` and further parameters with defaults, which ``body`` names as fields of ``v``."""
    whole = f"{parameters}, m: text"
    pairs = whole.split(", ")
    values = [*defaults, "'c'"]
    needed = len(pairs) - len(values)
    forms = []
    for count in range(needed, len(pairs) + 1):
        names = [pair.split(":")[0] for pair in pairs]
        bound = dict(zip(names, [*names[:count], *values[count - needed :]], strict=True))
        bound["r"] = f"{_MODE.format(m=bound.pop('m'))} || r" if count == len(pairs) else bound["r"]
        bound.pop("m", None)
        forms.append(form(", ".join(pairs[:count]), let(body, **bound)))
    return scalar(name, gives, doc, *forms, usage=usage)


_JOINED = let("case when len(v) = len(list_filter(v, lambda w: w is not null)) then array_to_string(v, '') end", l="l")

STRINGS = [
    written(
        "concat",
        "concat(x, …)",
        "the arguments as one string; NULL if any is NULL",
        concatenated,
        1,
        None,
        macro("concat(l)", _JOINED),
    ),
    _listed(
        "concat_ws",
        _T,
        _T,
        "concat_ws(separator, x, …)",
        "the arguments that are not NULL, joined by the separator",
        "case when $x is null then null when len(list_filter($l, lambda w: w is not null)) = 0 then ''"
        " else list_reduce(list_filter($l, lambda w: w is not null), lambda a, w: a || $x || w) end",
    ),
    scalar("length", _I, "the number of bytes", form("x: text", "strlen(x)::integer")),
    characters := scalar("char_length", _I, "the number of characters", form("x: text", "length(x)::integer")),
    alias(characters, "character_length"),
    lower := scalar("lower", _T, "`x` in lower case", form("x: text", "lower(x)")),
    alias(lower, "lcase"),
    upper := scalar("upper", _T, "`x` in upper case", form("x: text", "upper(x)")),
    alias(upper, "ucase"),
    substring := scalar(
        "substring",
        _T,
        "at most `n` characters of `x` from position `p`; a negative `p` counts from the end; also `substring(x FROM p FOR n)`",
        *_SUBSTRING,
    ),
    alias(substring, "substr"),
    alias(substring, "mid"),
    scalar(
        "substring_index",
        _T,
        "the part of `x` before the `n`-th delimiter `d`, or after the `n`-th from the end if `n` is negative",
        form(
            "x: text, d: text, n: integer",
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
        _T,
        "the first `n` characters",
        form("x: text, n: integer", "left(x, greatest(n, case when n is null then null else 0 end))"),
    ),
    scalar(
        "right",
        _T,
        "the last `n` characters",
        form("x: text, n: integer", "right(x, greatest(n, case when n is null then null else 0 end))"),
    ),
    scalar("ltrim", _T, "`x` without leading spaces", form("x: text", "ltrim(x, ' ')")),
    scalar("rtrim", _T, "`x` without trailing spaces", form("x: text", "rtrim(x, ' ')")),
    scalar(
        "trim",
        _T,
        "`x` without spaces, or occurrences of the string `d`, at both ends or one end",
        form("x: text", "trim(x, ' ')"),
        usage="trim([[BOTH | LEADING | TRAILING] [d] FROM] x)",
    ),
    scalar("replace", _T, "`x` with every `a` replaced by `b`", form("x: text, a: text, b: text", "replace(x, a, b)")),
    scalar("reverse", _T, "the characters in reverse order", form("x: text", "reverse(x)")),
    scalar("repeat", _T, "`x` repeated `n` times", form("x: text, n: integer", "repeat(x, n)")),
    scalar("space", _T, "`n` spaces", form("n: integer", "repeat(' ', n)")),
    scalar("instr", _I, "the position of `y` in `x`, or 0", form("x: text, y: text", "instr(x, y)")),
    scalar(
        "locate",
        _I,
        "the position of `y` in `x`, searched from position `p`, or 0",
        form("y: text, x: text", "instr(x, y)"),
        form(
            "y: text, x: text, p: integer",
            let(
                "case when $p < 1 or $p > length($x) + 1 then 0 when instr(substring($x, $p), $y) = 0 then 0"
                " else instr(substring($x, $p), $y) + $p - 1 end",
                y="y",
                x="x",
                p="p",
            ),
        ),
    ),
    scalar("position", _I, "the position of `y` in `x`, or 0", form("y: text, x: text", "instr(x, y)"), usage="position(y IN x)"),
    scalar("ascii", _I, "the value of the first byte", form("x: text", let(_BYTE, x=_POINT))),
    scalar("ord", _I, "the bytes of the first character as one number", form("x: text", let(_BYTES, x=_POINT))),
    written(
        "char",
        "char(n, …)",
        "the characters with these code points; NULL is omitted",
        _char,
        1,
        None,
        macro("char(l)", "array_to_string(list_transform(list_filter(l, lambda w: w is not null), lambda w: chr(w::int)), '')"),
    ),
    _listed(
        "elt", _I, _T, "elt(n, x, …)", "the `n`-th of the strings `x, …`; NULL if it does not exist", "case when $x > 0 then $l[$x] end"
    ),
    _listed(
        "field",
        _T,
        _I,
        "field(x, y, …)",
        "the position of `x` among the strings `y, …`, or 0",
        "coalesce(list_position($l, $x), 0)",
    ),
    scalar(
        "find_in_set",
        _I,
        "the position of `x` in the comma-separated list `y`, or 0",
        form(
            "x: text, y: text",
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
        _T,
        "`x` padded on the left with `p` to `n` characters, or truncated to `n`",
        form("x: text, n: integer, p: text", let("case when $n >= 0 then lpad($x, $n::int, $p) end", x="x", n="n", p="p")),
    ),
    scalar(
        "rpad",
        _T,
        "`x` padded on the right with `p` to `n` characters, or truncated to `n`",
        form("x: text, n: integer, p: text", let("case when $n >= 0 then rpad($x, $n::int, $p) end", x="x", n="n", p="p")),
    ),
    scalar(
        "quote",
        _T,
        "`x` as a quoted SQL literal",
        form("x: text", r"coalesce('''' || replace(replace(replace(x, '\', '\\'), '''', '\'''), chr(26), '\Z') || '''', 'NULL')"),
    ),
    scalar(
        "from_base64",
        _T,
        "the string decoded from base64; NULL if it is invalid",
        form("x: text", let("try(decode(from_base64(v)))", x="x")),
    ),
    scalar("to_base64", _T, "`x` encoded as base64", form("x: text", "to_base64(encode(x))")),
    scalar(
        "format",
        _T,
        "`x` rounded to `d` digits, with commas as thousands separators",
        form(
            "x: number, d: integer", let("format('{:,.' || $d || 'f}', round($x, $d::int))", x="x::double", d="greatest(least(d, 30), 0)")
        ),
    ),
    scalar(
        "regexp_like",
        SqlType.BOOLEAN,
        "whether `x` has a match of the pattern `r` (RE2); `m` has the flags `i`, `c`, `m`, `n`",
        form("x: text, r: text", "regexp_matches(x, r)"),
        form("x: text, r: text, m: text", f"regexp_matches(x, {_MODE.format(m='m')} || r)"),
    ),
    _regexp(
        "regexp_substr",
        _T,
        "the `o`-th match, searched from position `p`; NULL if it does not exist",
        "regexp_substr(x, r[, p[, o[, m]]])",
        "x: text, r: text, p: integer, o: integer",
        ["1", "1"],
        "regexp_extract_all(substring($x, $p), $r)[greatest($o, 1)]",
    ),
    _regexp(
        "regexp_replace",
        _T,
        "`x` with every match (`o` = 0) or the `o`-th match from position `p` replaced by `w`; `$1` in `w` is the first group",
        "regexp_replace(x, r, w[, p[, o[, m]]])",
        "x: text, r: text, w: text, p: integer, o: integer",
        ["1", "0"],
        _REPLACED,
    ),
    _regexp(
        "regexp_instr",
        _I,
        "the position of the `o`-th match from position `p`, or the position after it if `e` is 1; 0 if it does not exist",
        "regexp_instr(x, r[, p[, o[, e[, m]]]])",
        "x: text, r: text, p: integer, o: integer, e: integer",
        ["1", "1", "0"],
        _PLACE,
    ),
]

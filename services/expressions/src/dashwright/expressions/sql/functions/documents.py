"""Functions of JSON documents."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from dashwright.expressions.sql.bounds import copies
from dashwright.expressions.sql.coercion import coerced
from dashwright.expressions.sql.duckdb_sql import call, let, macro, text
from dashwright.expressions.sql.functions.function import Build, SqlFunction, alias, form, scalar, written
from dashwright.expressions.sql.json_path import JsonPath, read_path
from dashwright.expressions.sql.refusals import InvalidStatement
from dashwright.expressions.sql.sql_type import SqlType, marked, type_of

_J, _I, _T = SqlType.JSON, SqlType.INTEGER, SqlType.TEXT
_DEPTH = 3
"""How deep json_contains and json_merge_preserve look into documents."""


def _items(document: str) -> str:
    return f"from_json({document}, '[\"JSON\"]')"


def _same_or_items(document: str) -> str:
    """Return SQL for the items of an array; anything else is its own only item."""
    return f"case when json_type({document}) = 'ARRAY' then {_items(document)} else [{document}] end"


def path_of(node: exp.Expr) -> JsonPath:
    """Return the path in a literal text. Raises InvalidStatement."""
    path = read_path(node.name) if isinstance(node, exp.Literal) and node.is_string else None
    if path is None:
        raise InvalidStatement("a JSON path is a text like '$.a[0]', without a range such as [0 to 2]")
    return path


def extracted(document: exp.Expr, path: exp.Expr) -> exp.Expr:
    """Return the value at a path; of a path to many places an array of the values."""
    found = path_of(path)
    part = call("json_extract", coerced(document, _J), text(found.text), kind=_J)
    return call("mysql_json_found", part, kind=_J) if found.many else part


def unquoted(node: exp.Expr) -> exp.Expr:
    """Return the text of a JSON string, and of anything else as it is written."""
    return (
        call("json_extract_string", node, text("$"), kind=_T)
        if type_of(node) is _J
        else call("mysql_json_unquote", coerced(node, _T), kind=_T)
    )


def _extract(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document, *paths = arguments
    if len(paths) == 1:
        return extracted(document, paths[0])
    parts = [extracted(one, path) for one, path in zip(copies(document, len(paths)), paths, strict=True)]
    return call("mysql_json_found", call("mysql_known", exp.Array(expressions=parts)), kind=_J)


def _at(document: exp.Expr, path: exp.Expr | None) -> exp.Expr:
    return coerced(document, _J) if path is None else extracted(document, path)


def _looked_at(name: str, gives: SqlType, doc: str, body: str, usage: str = "") -> SqlFunction:
    """Return a function of a document, or of its value at a path."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call("mysql_" + name, _at(arguments[0], arguments[1] if len(arguments) > 1 else None), kind=gives)

    return written(name, usage or f"{name}(j[, path])", doc, build, 1, 2, macro(f"{name}(j)", body))


def _pairs(name: str, doc: str, change: Callable[[exp.Expr, JsonPath, exp.Expr], exp.Expr]) -> SqlFunction:
    """Return a function that writes values at paths."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        if len(arguments) % 2 == 0:
            raise InvalidStatement(f"{name} takes a document, and a path and a value for each change")
        document = coerced(arguments[0], _J)
        for path, value in zip(arguments[1::2], arguments[2::2], strict=True):
            where = path_of(path)
            if where.many:
                raise InvalidStatement(f"{name} takes paths to one place")
            document = marked(
                change(document, where, call("coalesce", coerced(value, SqlType.VALUE), coerced(exp.null(), SqlType.VALUE))), _J
            )
        return document

    return written(name, f"{name}(j, path, x, …)", doc, build, 3, None)


def _change(macro: str) -> Callable[[exp.Expr, JsonPath, exp.Expr], exp.Expr]:
    def change(document: exp.Expr, path: JsonPath, value: exp.Expr) -> exp.Expr:
        if path.parent is None:
            return value if macro != "json_insert" else document
        place = exp.Boolean(this=path.index)
        return call("mysql_" + macro, document, text(path.text), text(path.parent), place, value, kind=_J)

    return change


def _append(document: exp.Expr, path: JsonPath, value: exp.Expr) -> exp.Expr:
    return call("mysql_json_append", document, text(path.text), value)


def _array_insert(document: exp.Expr, path: JsonPath, value: exp.Expr) -> exp.Expr:
    if path.parent is None or not path.index or "#" in path.text.removeprefix(path.parent):
        raise InvalidStatement("json_array_insert takes a path that ends with a place in an array, like '$.a[0]'")
    place = int(path.text.removeprefix(path.parent).strip("[]"))
    return call("mysql_json_array_insert", document, text(path.parent), exp.Literal.number(place), value)


def _remove(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document = coerced(arguments[0], _J)
    for path in arguments[1:]:
        document = call("json_remove", document, text(path_of(path).text), kind=_J)
    return document


def _contains(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document, candidate = arguments[:2]
    return call(
        "mysql_json_contains", _at(document, arguments[2] if len(arguments) > 2 else None), coerced(candidate, _J), kind=SqlType.BOOLEAN
    )


def _contains_path(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document, how, *paths = arguments
    if how.name.lower() not in {"one", "all"}:
        raise InvalidStatement("json_contains_path takes 'one' or 'all' as its second argument")
    found = [_exists(coerced(one, _J), path_of(path)) for one, path in zip(copies(document, len(paths)), paths, strict=True)]
    return marked(exp.paren((exp.or_ if how.name.lower() == "one" else exp.and_)(*found, copy=False), copy=False), SqlType.BOOLEAN)


def _exists(document: exp.Expr, path: JsonPath) -> exp.Expr:
    found = call("json_exists", document, text(path.text))
    return call("list_contains", found, exp.true()) if path.many else found


def _object(arguments: Sequence[exp.Expr]) -> exp.Expr:
    if len(arguments) % 2:
        raise InvalidStatement("json_object takes a key and a value for each member")
    members = [coerced(argument, SqlType.VALUE if place % 2 else _T) for place, argument in enumerate(arguments)]
    return call("json_object", *members, kind=_J)


def _array(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return call("json_array", *(coerced(argument, SqlType.VALUE) for argument in arguments), kind=_J)


def _merge(macro: str) -> Build:
    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        merged, *others = (coerced(argument, _J) for argument in arguments)
        for other in others:
            merged = call(macro, merged, other, kind=_J)
        return merged

    return build


def _search(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document, how, sought = arguments[:3]
    if how.name.lower() not in {"one", "all"}:
        raise InvalidStatement("json_search takes 'one' or 'all' as its second argument")
    return call(f"mysql_json_search_{how.name.lower()}", coerced(document, _J), coerced(sought, _T), kind=_J)


def _value(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return call("mysql_json_scalar", extracted(*arguments), kind=_T)


def _contains_macros() -> list[str]:
    """json_contains, which looks one level deeper in each: DuckDB's macros cannot call themselves.

    Each item or member of the candidate must be in one of the target's items, or in its member of that key.
    """
    macros = [macro("json_contains_0(t, c)", "mysql_json_same(t, c)")]
    entries = (
        "case when json_type($t) = 'OBJECT' then list_transform(json_keys($c), lambda k: {'k': k, 'x': "
        f"mysql_json_member($c, k)"
        "})"
        f" else list_transform({_same_or_items('$c')}, lambda x: {{'k': null::varchar, 'x': x}}) end"
    )
    places = f"case when e['k'] is null then {_items('$t')} else [mysql_json_member($t, e['k'])] end"
    for level in range(1, _DEPTH + 1):
        body = (
            "case when json_type($t) = 'ARRAY' or (json_type($t) = 'OBJECT' and json_type($c) = 'OBJECT') then"
            f" len(list_filter({entries}, lambda e: len(list_filter({places}, lambda p:"
            f" mysql_json_contains_{level - 1}(p, e['x']))) = 0)) = 0"
            f" else mysql_json_same($t, $c) end"
        )
        macros.append(macro(f"json_contains_{level}(t, c)", body, t="t", c="c"))
    return [*macros, macro("json_contains(t, c)", f"mysql_json_contains_{_DEPTH}(t, c)")]


def _merge_macros() -> list[str]:
    both = f"case when $a is not null and $b is not null then to_json(list_concat({_same_or_items('$a')}, {_same_or_items('$b')})) end"
    macros = [macro("json_merge_0(a, b)", both, a="a", b="b")]
    member = "mysql_json_member"
    keys = "list_concat(json_keys($a), list_filter(json_keys($b), lambda k: not list_contains(json_keys($a), k)))"
    for level in range(1, _DEPTH + 1):
        value = f"coalesce(mysql_json_merge_{level - 1}({member}($a, k), {member}($b, k)), {member}($a, k), {member}($b, k))"
        members = f"list_transform({keys}, lambda k: to_json(k)::varchar || ':' || ({value})::varchar)"
        body = (
            "case when $a is null or $b is null then null when json_type($a) = 'OBJECT' and json_type($b) = 'OBJECT'"
            f" then ('{{' || coalesce(array_to_string({members}, ','), '') || '}}')::json else {both} end"
        )
        macros.append(macro(f"json_merge_{level}(a, b)", body, a="a", b="b"))
    return [*macros, macro("json_merge(a, b)", f"mysql_json_merge_{_DEPTH}(a, b)")]


_PARENT = "json_extract($j, $q)"
_PATHS = "(select list(fullkey order by id) from json_tree(j) where type = 'VARCHAR' and atom ->> '$' like s escape '\\')"
_NUMERIC = "('UBIGINT', 'BIGINT', 'HUGEINT', 'DOUBLE')"


def _put(name: str, unless: str) -> str:
    body = (
        f"case when $j is null or {unless} then $j when $i and json_type({_PARENT}) = 'ARRAY' and not json_exists($j, $p)"
        " then json_insert($j, $q || '[#]', $x)"
        f" when json_exists($j, $p) or (not $i and json_type({_PARENT}) = 'OBJECT') then json_set($j, $p, $x) else $j end"
    )
    return macro(f"{name}(j, p, q, i, x)", body, j="j", p="p", q="q", i="i", x="x")


MACROS = (
    macro("known(l)", "list_filter(l, lambda w: w is not null)"),
    macro("json_found(l)", "case when len(v) > 0 then to_json(v) end", l="l"),
    macro("json_unquote(x)", "case when starts_with(v, '\"') and json_valid(v) then json_extract_string(v, '$') else v end", x="x"),
    macro("json_member(j, k)", "json_extract(j, '$.\"' || k || '\"')"),
    macro(
        "json_same(a, b)",
        f"case when json_type($a) in {_NUMERIC} and json_type($b) in {_NUMERIC} then cast($a as double) = cast($b as double)"
        " else cast($a as varchar) = cast($b as varchar) end",
        a="a",
        b="b",
    ),
    macro("json_scalar(j)", "case when json_type(v) not in ('ARRAY', 'OBJECT', 'NULL') then json_extract_string(v, '$') end", j="j"),
    *_contains_macros(),
    *_merge_macros(),
    _put("json_set", "false"),
    _put("json_insert", "json_exists($j, $p)"),
    _put("json_replace", "not json_exists($j, $p)"),
    macro(
        "json_append(j, p, x)",
        "case when json_exists($j, $p) then json_set($j, $p, to_json(list_append("
        + _same_or_items("json_extract($j, $p)")
        + ", $x))) else $j end",
        j="j",
        p="p",
        x="x",
    ),
    macro(
        "json_array_insert(j, q, n, x)",
        f"case when json_type({_PARENT}) = 'ARRAY' then json_set($j, $q, to_json(list_concat("
        f"list_append({_items(_PARENT)}[1:$n], $x), {_items(_PARENT)}[$n + 1:]))) else $j end",
        j="j",
        q="q",
        n="n",
        x="x",
    ),
    macro("json_paths(j, s)", _PATHS),
    macro("json_search_one(j, s)", "to_json(mysql_json_paths(j, s)[1])"),
    macro("json_search_all(j, s)", "case when len(v) = 1 then to_json(v[1]) else to_json(v) end", x="mysql_json_paths(j, s)"),
)

_OVERLAP = (
    "case when json_type($a) = 'OBJECT' and json_type($b) = 'OBJECT' then len(list_filter(json_keys($a), lambda k:"
    f" coalesce(mysql_json_same(mysql_json_member($a, k), mysql_json_member($b, k)), false))) > 0"
    f" when json_type($a) = 'ARRAY' or json_type($b) = 'ARRAY' then len(list_filter({_same_or_items('$a')}, lambda a:"
    f" len(list_filter({_same_or_items('$b')}, lambda b: mysql_json_same(a, b))) > 0)) > 0 else mysql_json_same($a, $b) end"
)

preserving = written(
    "json_merge_preserve",
    "json_merge_preserve(j, k, …)",
    "both documents merged: arrays are concatenated, objects get the members of both",
    _merge("mysql_json_merge"),
    2,
    None,
)

DOCUMENTS = [
    written(
        "json_extract",
        "json_extract(j, path, …)",
        "the value at the path; for several paths, an array; also `j -> path`",
        _extract,
        2,
        None,
        *MACROS,
    ),
    written("json_value", "json_value(j, path)", "the string, number or boolean at the path, as a string", _value, 2, 2),
    written(
        "json_unquote",
        "json_unquote(j)",
        "the content of a JSON string, without quotes and escapes; also `j ->> path`",
        lambda arguments: unquoted(arguments[0]),
        1,
        1,
    ),
    scalar("json_quote", _T, "`x` as a JSON string", form("x: text", "to_json(x)::varchar")),
    written("json_object", "json_object(key, x, …)", "a JSON object of the keys and values", _object, 0, None),
    written("json_array", "json_array(x, …)", "a JSON array of the values", _array, 0, None),
    scalar("json_valid", SqlType.BOOLEAN, "whether the string is valid JSON", form("x: text", "json_valid(x)")),
    written(
        "json_contains", "json_contains(j, k[, path])", "whether `k` is contained in `j`, or in its value at the path", _contains, 2, 3
    ),
    written(
        "json_contains_path",
        "json_contains_path(j, 'one', path, …)",
        "whether at least one (`'one'`) or all (`'all'`) of the paths exist",
        _contains_path,
        3,
        None,
    ),
    _looked_at(
        "json_length",
        _I,
        "the number of items or members; 1 for other values",
        let(
            "case when json_type(v) = 'ARRAY' then json_array_length(v) when json_type(v) = 'OBJECT' then len(json_keys(v))"
            " when v is not null then 1 end",
            j="j",
        ),
    ),
    scalar(
        "json_depth",
        _I,
        "the depth of nesting",
        form("j: json", r"(select max(len(regexp_extract_all(fullkey, '\.|\['))) + 1 from json_tree(j))"),
    ),
    scalar(
        "json_type",
        _T,
        "the type: OBJECT, ARRAY, STRING, INTEGER, DOUBLE, BOOLEAN or NULL",
        form(
            "j: json",
            let(
                "case when v = 'VARCHAR' then 'STRING' when v in ('UBIGINT', 'BIGINT', 'HUGEINT') then 'INTEGER' else v end",
                j="json_type(j)",
            ),
        ),
    ),
    _looked_at("json_keys", _J, "the keys of an object", let("case when json_type(v) = 'OBJECT' then to_json(json_keys(v)) end", j="j")),
    written(
        "json_search",
        "json_search(j, 'one', x)",
        "the path of a string that is LIKE `x`; with `'all'`, an array of all paths",
        _search,
        3,
        3,
    ),
    _pairs("json_set", "`j` with `x` at the path, whether or not the path exists", _change("json_set")),
    _pairs("json_insert", "`j` with `x` at the path, if the path does not exist", _change("json_insert")),
    _pairs("json_replace", "`j` with `x` at the path, if the path exists", _change("json_replace")),
    written("json_remove", "json_remove(j, path, …)", "`j` without the value at the path", _remove, 2, None),
    _pairs("json_array_append", "`j` with `x` appended to the array at the path", _append),
    _pairs("json_array_insert", "`j` with `x` inserted before the array item at the path", _array_insert),
    written(
        "json_merge_patch",
        "json_merge_patch(j, k, …)",
        "the RFC 7396 merge patch: members of `k` replace those of `j`, null removes",
        _merge("json_merge_patch"),
        2,
        None,
    ),
    preserving,
    alias(preserving, "json_merge"),
    scalar(
        "json_overlaps",
        SqlType.BOOLEAN,
        "whether both have an item or member in common, or are equal",
        form(
            "a: json, b: json",
            let(_OVERLAP, a="a", b="b"),
        ),
    ),
    scalar("json_pretty", _T, "`j` on several lines, indented", form("j: json", "json_pretty(j)")),
]

"""Functions of JSON documents."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from dashwright.expressions.sql.bounds import copies
from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.duckdb_sql import call, let, macro, string_literal
from dashwright.expressions.sql.functions.document_macros import MACROS, OVERLAPS
from dashwright.expressions.sql.functions.function import Builder, SqlFunction, alias, custom, overload, scalar
from dashwright.expressions.sql.json_path import JsonPath, parse_path
from dashwright.expressions.sql.sql_type import SqlType, type_of, with_type
from dashwright.expressions.sql.statement_errors import InvalidStatement

_JSON, _INTEGER, _STRING = SqlType.JSON, SqlType.INTEGER, SqlType.STRING

#: Returns a changed document, from a document, a path and a value.
_DocumentChange = Callable[[exp.Expr, JsonPath, exp.Expr], exp.Expr]


def path_of(node: exp.Expr) -> JsonPath:
    """Return the JSON path in a string literal. Raises InvalidStatement if it is invalid or not a literal."""
    path = parse_path(node.name) if isinstance(node, exp.Literal) and node.is_string else None
    if path is None:
        raise InvalidStatement("a JSON path is a string like '$.a[0]', without a range such as [0 to 2]")
    return path


def extract_json(document: exp.Expr, path: exp.Expr) -> exp.Expr:
    """Return the value at a path, or an array of the values if the path has a wildcard."""
    parsed_path = path_of(path)
    value = call("json_extract", coerce(document, _JSON), string_literal(parsed_path.duckdb_path), result_type=_JSON)
    return call("mysql_json_array_unless_empty", value, result_type=_JSON) if parsed_path.has_wildcard else value


def unquote_json(node: exp.Expr) -> exp.Expr:
    """Return the content of a JSON string without quotes and escapes. Any other value is returned as its JSON source."""
    if type_of(node) is _JSON:
        return call("json_extract_string", node, string_literal("$"), result_type=_STRING)
    return call("mysql_json_unquote", coerce(node, _STRING), result_type=_STRING)


def _extract(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document, *paths = arguments
    if len(paths) == 1:
        return extract_json(document, paths[0])
    values = [extract_json(copied_document, path) for copied_document, path in zip(copies(document, len(paths)), paths, strict=True)]
    return call("mysql_json_array_unless_empty", call("mysql_without_nulls", exp.Array(expressions=values)), result_type=_JSON)


def _value_at(document: exp.Expr, path: exp.Expr | None) -> exp.Expr:
    return coerce(document, _JSON) if path is None else extract_json(document, path)


def _with_optional_path(name: str, result_type: SqlType, doc: str, body: str, usage: str = "") -> SqlFunction:
    """Return a function of a document ``j`` or, with a path as second argument, of the value at this path. ``body`` is SQL."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call("mysql_" + name, _value_at(arguments[0], arguments[1] if len(arguments) > 1 else None), result_type=result_type)

    return custom(name, usage or f"{name}(j[, path])", doc, build, macro(f"{name}(j)", body), min_arguments=1, max_arguments=2)


def _path_value_function(name: str, doc: str, change: _DocumentChange) -> SqlFunction:
    """Return a function of a document, and of alternating paths and values, that applies ``change`` at each path."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        if len(arguments) % 2 == 0:
            raise InvalidStatement(f"{name} takes a document, and a path and a value for each change")
        document = coerce(arguments[0], _JSON)
        for path, value in zip(arguments[1::2], arguments[2::2], strict=True):
            parsed_path = path_of(path)
            if parsed_path.has_wildcard:
                raise InvalidStatement(f"{name} takes paths without wildcards")
            json_null = coerce(exp.null(), SqlType.JSON_VALUE)
            new_value = call("coalesce", coerce(value, SqlType.JSON_VALUE), json_null)
            document = with_type(change(document, parsed_path, new_value), _JSON)
        return document

    return custom(name, f"{name}(j, path, x, …)", doc, build, min_arguments=3)


def _change_by_macro(macro_name: str) -> _DocumentChange:
    """Return a function that writes a value at a path of a document by the macro json_set, json_insert or json_replace."""

    def change(document: exp.Expr, path: JsonPath, value: exp.Expr) -> exp.Expr:
        if path.parent is None:
            # The path is ``$``, which always exists.
            return value if macro_name != "json_insert" else document
        ends_with_index = exp.Boolean(this=path.ends_with_index)
        return call(
            "mysql_" + macro_name,
            document,
            string_literal(path.duckdb_path),
            string_literal(path.parent),
            ends_with_index,
            value,
            result_type=_JSON,
        )

    return change


def _append(document: exp.Expr, path: JsonPath, value: exp.Expr) -> exp.Expr:
    return call("mysql_json_append", document, string_literal(path.duckdb_path), value)


def _array_insert(document: exp.Expr, path: JsonPath, value: exp.Expr) -> exp.Expr:
    last_leg = path.duckdb_path.removeprefix(path.parent or "")
    # A ``#`` is an index from the end of the array.
    if path.parent is None or not path.ends_with_index or "#" in last_leg:
        raise InvalidStatement("json_array_insert takes a path that ends with an index of an array, like '$.a[0]'")
    index = int(last_leg.strip("[]"))
    return call("mysql_json_array_insert", document, string_literal(path.parent), exp.Literal.number(index), value)


def _remove(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document = coerce(arguments[0], _JSON)
    for path in arguments[1:]:
        document = call("json_remove", document, string_literal(path_of(path).duckdb_path), result_type=_JSON)
    return document


def _contains(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document, candidate = arguments[:2]
    return call(
        "mysql_json_contains",
        _value_at(document, arguments[2] if len(arguments) > 2 else None),
        coerce(candidate, _JSON),
        result_type=SqlType.BOOLEAN,
    )


def _contains_path(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document, mode, *paths = arguments
    if mode.name.lower() not in {"one", "all"}:
        raise InvalidStatement("json_contains_path takes 'one' or 'all' as its second argument")
    tests = [
        _exists(coerce(copied_document, _JSON), path_of(path))
        for copied_document, path in zip(copies(document, len(paths)), paths, strict=True)
    ]
    combine = exp.or_ if mode.name.lower() == "one" else exp.and_
    return with_type(exp.paren(combine(*tests, copy=False), copy=False), SqlType.BOOLEAN)


def _exists(document: exp.Expr, path: JsonPath) -> exp.Expr:
    # For a path with a wildcard, DuckDB returns a list with a boolean for each match.
    test = call("json_exists", document, string_literal(path.duckdb_path))
    return call("list_contains", test, exp.true()) if path.has_wildcard else test


def _object(arguments: Sequence[exp.Expr]) -> exp.Expr:
    if len(arguments) % 2:
        raise InvalidStatement("json_object takes a key and a value for each member")
    members = [coerce(argument, SqlType.JSON_VALUE if index % 2 else _STRING) for index, argument in enumerate(arguments)]
    return call("json_object", *members, result_type=_JSON)


def _array(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return call("json_array", *(coerce(argument, SqlType.JSON_VALUE) for argument in arguments), result_type=_JSON)


def _merge(macro_name: str) -> Builder:
    """Return a builder that merges the first two documents by a macro, then the result with the third one, and so on."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        document, *other_documents = (coerce(argument, _JSON) for argument in arguments)
        for other_document in other_documents:
            document = call(macro_name, document, other_document, result_type=_JSON)
        return document

    return build


def _search(arguments: Sequence[exp.Expr]) -> exp.Expr:
    document, mode, pattern = arguments
    if mode.name.lower() not in {"one", "all"}:
        raise InvalidStatement("json_search takes 'one' or 'all' as its second argument")
    return call(f"mysql_json_search_{mode.name.lower()}", coerce(document, _JSON), coerce(pattern, _STRING), result_type=_JSON)


def _value(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return call("mysql_json_scalar", extract_json(*arguments), result_type=_STRING)


merge_preserve = custom(
    "json_merge_preserve",
    "json_merge_preserve(j, k, …)",
    "both documents merged: arrays are concatenated, objects get the members of both",
    _merge("mysql_json_merge"),
    min_arguments=2,
)

DOCUMENTS = [
    custom(
        "json_extract",
        "json_extract(j, path, …)",
        "the value at the path, or for several paths an array of their values; also written as `j -> path`",
        _extract,
        # One function has the macros of all functions of this module, because macros are collected from functions.
        *MACROS,
        min_arguments=2,
    ),
    custom(
        "json_value",
        "json_value(j, path)",
        "the string, number or boolean at the path, as a string",
        _value,
        min_arguments=2,
        max_arguments=2,
    ),
    custom(
        "json_unquote",
        "json_unquote(j)",
        "the content of a JSON string, without quotes and escapes; also `j ->> path`",
        lambda arguments: unquote_json(arguments[0]),
        min_arguments=1,
        max_arguments=1,
    ),
    scalar("json_quote", _STRING, "`x` as a JSON string", overload("x: string", "to_json(x)::varchar")),
    custom("json_object", "json_object(key, x, …)", "a JSON object of the keys and values", _object, min_arguments=0),
    custom("json_array", "json_array(x, …)", "a JSON array of the values", _array, min_arguments=0),
    scalar("json_valid", SqlType.BOOLEAN, "whether the string is valid JSON", overload("x: string", "json_valid(x)")),
    custom(
        "json_contains",
        "json_contains(j, k[, path])",
        "whether `j` contains `k`; with a path, whether the value at the path contains `k`",
        _contains,
        min_arguments=2,
        max_arguments=3,
    ),
    custom(
        "json_contains_path",
        "json_contains_path(j, 'one', path, …)",
        "whether at least one (`'one'`) or all (`'all'`) of the paths exist",
        _contains_path,
        min_arguments=3,
    ),
    _with_optional_path(
        "json_length",
        _INTEGER,
        "the number of items or members; 1 for other values",
        let(
            "case when json_type($j) = 'ARRAY' then json_array_length($j) when json_type($j) = 'OBJECT' then len(json_keys($j))"
            " when $j is not null then 1 end",
            j="j",
        ),
    ),
    scalar(
        "json_depth",
        _INTEGER,
        "the depth of nesting",
        overload("j: json", r"(select max(len(regexp_extract_all(fullkey, '\.|\['))) + 1 from json_tree(j))"),
    ),
    scalar(
        "json_type",
        _STRING,
        "the type: OBJECT, ARRAY, STRING, INTEGER, DOUBLE, BOOLEAN or NULL",
        overload(
            "j: json",
            let(
                "case when $type = 'VARCHAR' then 'STRING' when $type in ('UBIGINT', 'BIGINT', 'HUGEINT') then 'INTEGER' else $type end",
                type="json_type(j)",
            ),
        ),
    ),
    _with_optional_path(
        "json_keys", _JSON, "the keys of an object", let("case when json_type($j) = 'OBJECT' then to_json(json_keys($j)) end", j="j")
    ),
    custom(
        "json_search",
        "json_search(j, 'one', x)",
        "the path of a string that is LIKE `x`; with `'all'`, an array of all paths",
        _search,
        min_arguments=3,
        max_arguments=3,
    ),
    _path_value_function("json_set", "`j` with `x` at the path, whether or not the path exists", _change_by_macro("json_set")),
    _path_value_function("json_insert", "`j` with `x` at the path, if the path does not exist", _change_by_macro("json_insert")),
    _path_value_function("json_replace", "`j` with `x` at the path, if the path exists", _change_by_macro("json_replace")),
    custom("json_remove", "json_remove(j, path, …)", "`j` without the value at the path", _remove, min_arguments=2),
    _path_value_function("json_array_append", "`j` with `x` appended to the array at the path", _append),
    _path_value_function("json_array_insert", "`j` with `x` inserted before the array item at the path", _array_insert),
    custom(
        "json_merge_patch",
        "json_merge_patch(j, k, …)",
        "the RFC 7396 merge patch: members of `k` replace those of `j`, null removes",
        _merge("json_merge_patch"),
        min_arguments=2,
    ),
    merge_preserve,
    alias(merge_preserve, "json_merge"),
    scalar(
        "json_overlaps",
        SqlType.BOOLEAN,
        "whether both have an item or member in common, or are equal",
        overload(
            "a: json, b: json",
            let(OVERLAPS, a="a", b="b"),
        ),
    ),
    scalar("json_pretty", _STRING, "`j` on several lines, indented", overload("j: json", "json_pretty(j)")),
]

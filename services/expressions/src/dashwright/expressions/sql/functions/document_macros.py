"""Macros of DuckDB for the functions of JSON documents."""

from dashwright.expressions.sql.duckdb_sql import macro

#: Levels of nesting for which json_contains and json_merge_preserve have a macro. Values on deeper levels are compared as one value.
_MAX_DEPTH = 3


def _items(document: str) -> str:
    """Return SQL for the list of the items of an array."""
    return f"from_json({document}, '[\"JSON\"]')"


def _items_or_value(document: str) -> str:
    """Return SQL for the list of the items of an array. For any other value it is a list with the value as its only item."""
    return f"case when json_type({document}) = 'ARRAY' then {_items(document)} else [{document}] end"


def _contains_macros() -> list[str]:
    """Return a macro of json_contains for each level, because a macro of DuckDB cannot call itself.

    Each item of the candidate must be in an item of the target, and each member in the target's member with that key.
    """
    macros = [macro("json_contains_0(target, candidate)", "mysql_json_equal(target, candidate)")]
    # The entries of the candidate: the members of an object with their keys, or the items of an array, without keys.
    members = "list_transform(json_keys($candidate), lambda k: {'key': k, 'value': mysql_json_member($candidate, k)})"
    items = f"list_transform({_items_or_value('$candidate')}, lambda i: {{'key': null::varchar, 'value': i}})"
    entries = f"case when json_type($target) = 'OBJECT' then {members} else {items} end"
    # The values in the target that may contain the entry ``e``.
    counterparts = f"case when e['key'] is null then {_items('$target')} else [mysql_json_member($target, e['key'])] end"
    for level in range(1, _MAX_DEPTH + 1):
        matches = f"list_filter({counterparts}, lambda c: mysql_json_contains_{level - 1}(c, e['value']))"
        missing_entries = f"list_filter({entries}, lambda e: len({matches}) = 0)"
        body = (
            "case when json_type($target) = 'ARRAY' or (json_type($target) = 'OBJECT' and json_type($candidate) = 'OBJECT')"
            f" then len({missing_entries}) = 0 else mysql_json_equal($target, $candidate) end"
        )
        macros.append(macro(f"json_contains_{level}(target, candidate)", body, target="target", candidate="candidate"))
    return [*macros, macro("json_contains(target, candidate)", f"mysql_json_contains_{_MAX_DEPTH}(target, candidate)")]


def _merge_macros() -> list[str]:
    """Return a macro of json_merge_preserve for each level, because a macro of DuckDB cannot call itself."""
    array = f"to_json(list_concat({_items_or_value('$a')}, {_items_or_value('$b')}))"
    macros = [macro("json_merge_0(a, b)", f"case when $a is not null and $b is not null then {array} end", a="a", b="b")]
    keys = "list_concat(json_keys($a), list_filter(json_keys($b), lambda k: not list_contains(json_keys($a), k)))"
    a_member, b_member = "mysql_json_member($a, k)", "mysql_json_member($b, k)"
    for level in range(1, _MAX_DEPTH + 1):
        # The merged value is NULL if the key is in one document only.
        member = f"coalesce(mysql_json_merge_{level - 1}({a_member}, {b_member}), {a_member}, {b_member})"
        members = f"list_transform({keys}, lambda k: to_json(k)::varchar || ':' || ({member})::varchar)"
        body = (
            "case when $a is null or $b is null then null when json_type($a) = 'OBJECT' and json_type($b) = 'OBJECT'"
            f" then ('{{' || coalesce(array_to_string({members}, ','), '') || '}}')::json else {array} end"
        )
        macros.append(macro(f"json_merge_{level}(a, b)", body, a="a", b="b"))
    return [*macros, macro("json_merge(a, b)", f"mysql_json_merge_{_MAX_DEPTH}(a, b)")]


_PARENT = "json_extract($document, $parent_path)"


def _setter_macro(name: str, unchanged_if: str) -> str:
    """Return a macro that writes ``value`` at ``path`` of ``document``, unless the condition ``unchanged_if`` is true.

    As in MySQL, a path is ignored if its parent does not exist, and an index beyond the end of an array appends the value.
    """
    body = (
        f"case when $document is null or {unchanged_if} then $document"
        f" when $ends_with_index and json_type({_PARENT}) = 'ARRAY' and not json_exists($document, $path)"
        " then json_insert($document, $parent_path || '[#]', $value)"
        f" when json_exists($document, $path) or (not $ends_with_index and json_type({_PARENT}) = 'OBJECT')"
        " then json_set($document, $path, $value) else $document end"
    )
    return macro(
        f"{name}(document, path, parent_path, ends_with_index, value)",
        body,
        document="document",
        path="path",
        parent_path="parent_path",
        ends_with_index="ends_with_index",
        value="value",
    )


_NUMERIC_TYPES = "('UBIGINT', 'BIGINT', 'HUGEINT', 'DOUBLE')"

#: The paths of the strings in a document that are LIKE a pattern, in the order of the document.
_MATCHING_PATHS = (
    "(select list(fullkey order by id) from json_tree(document) where type = 'VARCHAR' and atom ->> '$' like pattern escape '\\')"
)

MACROS = (
    macro("without_nulls(list)", "list_filter(list, lambda item: item is not null)"),
    macro("json_array_unless_empty(list)", "case when len($list) > 0 then to_json($list) end", list="list"),
    macro(
        "json_unquote(string)",
        "case when starts_with($string, '\"') and json_valid($string) then json_extract_string($string, '$') else $string end",
        string="string",
    ),
    macro("json_member(document, key)", "json_extract(document, '$.\"' || key || '\"')"),
    macro(
        "json_equal(a, b)",
        f"case when json_type($a) in {_NUMERIC_TYPES} and json_type($b) in {_NUMERIC_TYPES} then cast($a as double) = cast($b as double)"
        " else cast($a as varchar) = cast($b as varchar) end",
        a="a",
        b="b",
    ),
    macro(
        "json_scalar(document)",
        "case when json_type($document) not in ('ARRAY', 'OBJECT', 'NULL') then json_extract_string($document, '$') end",
        document="document",
    ),
    *_contains_macros(),
    *_merge_macros(),
    _setter_macro("json_set", unchanged_if="false"),
    _setter_macro("json_insert", unchanged_if="json_exists($document, $path)"),
    _setter_macro("json_replace", unchanged_if="not json_exists($document, $path)"),
    macro(
        "json_append(document, path, value)",
        "case when json_exists($document, $path) then json_set($document, $path, to_json(list_append("
        + _items_or_value("json_extract($document, $path)")
        + ", $value))) else $document end",
        document="document",
        path="path",
        value="value",
    ),
    macro(
        "json_array_insert(document, parent_path, index, value)",
        f"case when json_type({_PARENT}) = 'ARRAY' then json_set($document, $parent_path, to_json(list_concat("
        f"list_append({_items(_PARENT)}[1:$index], $value), {_items(_PARENT)}[$index + 1:]))) else $document end",
        document="document",
        parent_path="parent_path",
        index="index",
        value="value",
    ),
    macro("json_paths(document, pattern)", _MATCHING_PATHS),
    macro("json_search_one(document, pattern)", "to_json(mysql_json_paths(document, pattern)[1])"),
    macro(
        "json_search_all(document, pattern)",
        "case when len($paths) = 1 then to_json($paths[1]) else to_json($paths) end",
        paths="mysql_json_paths(document, pattern)",
    ),
)

#: SQL that returns whether the documents ``$a`` and ``$b`` have an item or a member in common, or are equal.
OVERLAPS = (
    "case when json_type($a) = 'OBJECT' and json_type($b) = 'OBJECT' then len(list_filter(json_keys($a), lambda k:"
    " coalesce(mysql_json_equal(mysql_json_member($a, k), mysql_json_member($b, k)), false))) > 0"
    f" when json_type($a) = 'ARRAY' or json_type($b) = 'ARRAY' then len(list_filter({_items_or_value('$a')}, lambda i:"
    f" len(list_filter({_items_or_value('$b')}, lambda j: mysql_json_equal(i, j))) > 0)) > 0"
    " else mysql_json_equal($a, $b) end"
)

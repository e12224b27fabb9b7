"""Any string is parsed or rejected, and DuckDB's own parser finds only allowed syntax in the SQL of parsed statements."""

import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.cases import cases, open_duckdb, statement_of

from dashwright.common.errors import BadRequest
from dashwright.expressions.sql.functions import FUNCTIONS
from dashwright.expressions.sql.relation import Statement
from dashwright.expressions.sql.statement import parse_statement

pytestmark = pytest.mark.exhaustive

_FUNCTION_NAMES = """
any_value avg count count_star cume_dist dense_rank divide epoch_us first_value json_array json_exists json_extract
json_extract_string json_group_array json_group_object json_merge_patch json_object json_remove lag last_value lead left
like_escape not_like_escape ilike_escape list_contains list_value make_timestamp max min nth_value ntile percent_rank rank
regexp_matches round row row_number stddev_pop stddev_samp strftime string_agg struct_extract sum to_days to_json to_microseconds
to_months trunc unnest var_pop var_samp xor year + - * / % & | << >> ~~ !~~ ~~* !~~*
"""
#: DuckDB's functions that a statement may call in addition to the macros. Their results depend on their arguments only.
_DUCKDB_FUNCTIONS = frozenset(_FUNCTION_NAMES.split())


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection to DuckDB with the tables and macros that statements use."""
    with open_duckdb() as connection:
        yield connection


def parse_or_none(text: str) -> Statement | None:
    """Return the statement, or None for a rejected one. Any other exception fails the test."""
    try:
        return parse_statement(text, "X")
    except BadRequest:
        return None


def check_with_duckdb(connection: duckdb.DuckDBPyConnection, statement: Statement) -> None:
    """Raise AssertionError unless DuckDB's parser finds one SELECT with known tables and functions."""
    (row,) = connection.execute("select json_serialize_sql(?)", [statement.sql]).fetchall()
    tree = json.loads(row[0])
    assert not tree["error"], statement.sql
    assert len(tree["statements"]) == 1
    nodes = list(_nodes(tree))
    names_in_with = {key.lower() for node in nodes for key in _names_of_with_clause(node)}
    for node in nodes:
        if name := node.get("function_name"):
            assert name.startswith("mysql_") or name in _DUCKDB_FUNCTIONS, name
        if node.get("type") == "BASE_TABLE":
            assert not node["schema_name"]
            assert not node["catalog_name"]
            assert node["table_name"] in statement.tables or node["table_name"].lower() in names_in_with
        assert node.get("type") not in {"TABLE_FUNCTION", "PIVOT", "SHOW_REF", "COLUMN_DATA", "POSITIONAL_REFERENCE", "PARAMETER", "LAMBDA"}


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every JSON object of a tree."""
    if isinstance(tree, dict):
        yield tree
        for member in tree.values():
            yield from _nodes(member)
    elif isinstance(tree, list):
        for item in tree:
            yield from _nodes(item)


def _names_of_with_clause(node: dict[str, Any]) -> list[str]:
    """Return the names that a WITH clause defines."""
    return [entry["key"] for entry in node["cte_map"]["map"]] if isinstance(node.get("cte_map"), dict) else []


def test_statements_of_the_mariadb_cases_pass_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
    """Statements of the MariaDB cases pass DuckDB's parser."""
    # Each syntax has several cases, so every eleventh case is enough.
    statements = [statement for case in cases()[::11] if (statement := parse_or_none(statement_of(case)))]
    # A parser that rejects most statements would leave far fewer.
    assert len(statements) > 200
    for statement in statements:
        check_with_duckdb(connection, statement)


# Words of SQL, allowed and not.
_TEXT = r"""
select from where group by having order limit with recursive as join left right full cross natural lateral on using union all
intersect except distinct case when then else end in between like escape regexp is not null true false and or xor div mod exists
any interval day over partition rows range preceding following current row window into for update values table set drop create
copy attach pragma cast convert json_table columns path collate binary dual A B time value `my query` `a.b` x t count sum max lag
abs concat if sleep read_csv ( ) ( ) , , . ; * * + - / % = <> < >= <=> || && ! ~ | & ^ << >> -> ->> := :: ? : [ ] { } @ @@ # -- /*
*/ /*! /*+ $1 \ ' " ` 1 2.5 1e9 'a' "b" 0x41 '2024-01-01' '$.a' N'x' _utf8mb4
"""
_WORDS = _TEXT.split()


@settings(max_examples=300)
@given(st.lists(st.sampled_from(_WORDS), max_size=25).map(" ".join))
def test_any_words_are_parsed_or_rejected(text: str) -> None:
    """Any sequence of words is parsed or rejected: other exceptions than BadRequest are not raised."""
    parse_or_none("select " + text)
    parse_or_none(text)


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    """Texts of arbitrary characters are parsed or rejected, without an internal error."""
    parse_or_none(text)
    parse_or_none(f"select {text} from A")
    parse_or_none(f"select '{text}' from `{text}`")


# Columns and literals of all types.
_LEAVES = st.sampled_from(
    [
        "n",
        "value",
        "host",
        "time",
        "flag",
        "A.value",
        "1",
        "-2.5",
        "'a'",
        "'12x'",
        "'2024-02-29'",
        "null",
        "true",
        "date '2024-01-01'",
        "(select max(n) from A)",
    ]
)
_OPERATORS = ["+", "-", "*", "/", "%", "div", "=", "<>", "<", ">=", "<=>", "and", "or", "xor", "&", "|", "^", "<<", "like", "regexp"]
_ALLOWED_FUNCTIONS = sorted(
    name for name, function in FUNCTIONS.items() if not function.is_aggregate and not function.is_window and function.min_arguments <= 3
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return a strategy of operators, conditions, casts and functions with inner expressions."""
    return st.one_of(
        st.tuples(inner, st.sampled_from(_OPERATORS), inner).map(" ".join),
        st.tuples(st.sampled_from(["not ", "-", "~", "!"]), inner).map("".join),
        inner.map("({})".format),
        st.tuples(inner, inner, inner).map(lambda parts: "case when {} then {} else {} end".format(*parts)),
        st.tuples(inner, inner).map(lambda parts: "case {} when {} then 1 end".format(*parts)),
        st.tuples(inner, inner, inner).map(lambda parts: "({}) between ({}) and ({})".format(*parts)),
        st.tuples(inner, inner, inner).map(lambda parts: "({}) in ({}, {})".format(*parts)),
        st.tuples(inner, st.sampled_from(["null", "true", "not null"])).map(lambda parts: "({}) is {}".format(*parts)),
        st.tuples(inner, st.sampled_from(["signed", "char(2)", "datetime", "decimal(10, 2)", "time", "json"])).map(
            lambda parts: "cast({} as {})".format(*parts)
        ),
        st.tuples(inner, inner, st.sampled_from(["day", "month", "second"])).map(
            lambda parts: "date_add({}, interval {} {})".format(*parts)
        ),
        st.builds(_call, st.sampled_from(_ALLOWED_FUNCTIONS), st.lists(inner, min_size=3, max_size=3)),
    )


def _call(name: str, expressions: list[str]) -> str:
    """Return a call of a function with its minimum number of arguments, taken from the start of ``expressions``."""
    return f"{name}({', '.join(expressions[: FUNCTIONS[name].min_arguments])})"


def test_duckdb_runs_any_expression_that_is_not_rejected(connection: duckdb.DuckDBPyConnection) -> None:
    """Our parser rejects an expression, or DuckDB runs it. The only errors of DuckDB are about values, not about syntax or names."""

    @settings(max_examples=150)
    @given(expression=st.recursive(_LEAVES, _compound, max_leaves=8))
    def check(expression: str) -> None:
        statement = parse_or_none(f"select {expression} as x from A")
        if statement is not None:
            assert statement.tables == ("A",)
            check_with_duckdb(connection, statement)
            assert not _UNEXPECTED_ERROR.search(_duckdb_error(connection, statement)), statement.sql

    check()


_UNEXPECTED_ERROR = re.compile("syntax error|does not exist|Internal")


def _duckdb_error(connection: duckdb.DuckDBPyConnection, statement: Statement) -> str:
    """Return the error of a statement in DuckDB, or an empty string."""
    try:
        connection.execute(statement.sql).fetchall()
    except duckdb.Error as error:
        return str(error)
    return ""


# By name: the text that is repeated before the innermost expression, this expression, and the text that is repeated after it.
_NESTINGS = {
    "parentheses": ("(", "1", ")"),
    "calls": ("abs(", "1", ")"),
    "if": ("if(1, 2, ", "1", ")"),
    "case": ("case when 1 then ", "1", " end"),
    "subqueries": ("(select ", "1", ")"),
    "not": ("not ", "1", ""),
    "minus": ("- ", "1", ""),
    "bang": ("!", "1", ""),
    "tilde": ("~", "1", ""),
    "plus": ("1 + ", "1", ""),
    "mixed": ("1 + 2 * 3 - ", "1", ""),
    "concat": ("'a' || ", "'a'", ""),
    "and": ("1 and ", "1", ""),
    "or": ("1 or 0 and ", "1", ""),
    "xor": ("1 xor ", "1", ""),
    "equal": ("1 = ", "1", ""),
    "like": ("'a' like ", "'a'", ""),
    "power": ("1 ^ ", "1", ""),
    "bits": ("1 | 2 & ", "1", ""),
    "between": ("1 between 1 and ", "1", ""),
    "in": ("1 in (", "1", ")"),
    "is": ("", "1", " is null"),
    "collate": ("", "'a'", " collate utf8mb4_bin"),
    "arrow": ("", "value", "->'$.a'"),
    "interval": ("interval ", "1", " day"),
    "added intervals": ("", "time", " + interval 1 day"),
    "brackets": ("[", "1", "]"),
    "braces": ("{", "1", "}"),
    "any": ("1 = any ", "1", ""),
    "texts": ("'a' ", "'a'", ""),
    "commas": ("1, ", "1", ""),
    "casts": ("", "1", "::int"),
    "binary": ("binary ", "1", ""),
}


@pytest.mark.parametrize("nesting", _NESTINGS)
@pytest.mark.parametrize("depth", [20, 60, 250, 2000])
def test_the_depth_is_limited(nesting: str, depth: int) -> None:
    """An expression of any depth is parsed or rejected before the interpreter's recursion limit."""
    prefix, core, suffix = _NESTINGS[nesting]
    parse_or_none(f"select {prefix * depth}{core}{suffix * depth} from A")


@pytest.mark.parametrize(
    ("prefix", "core", "suffix"),
    [("select * from (", "select 1", ") x"), ("with x as (", "select 1", ") select 1"), ("(", "select 1", ")")],
)
def test_depth_of_queries_is_bounded(prefix: str, core: str, suffix: str) -> None:
    """Nested derived tables, WITH clauses and parentheses are parsed or rejected at any depth."""
    for depth in (10, 40, 500):
        parse_or_none(prefix * depth + core + suffix * depth)


@pytest.mark.parametrize("count", [10, 40, 500])
def test_any_number_of_unions_and_joins_is_parsed_or_rejected(count: int) -> None:
    """Statements with any number of unions or joins are parsed or rejected."""
    parse_or_none("select 1" + " union select 2" * count)
    parse_or_none("select 1 from A" + " join B on 1" * count)


def test_statements_of_usual_depth_are_accepted() -> None:
    """Statements with twenty levels, or with long chains of operators, are accepted."""
    assert parse_or_none(f"select {'(' * 20}1{')' * 20}")
    assert parse_or_none(f"select {'coalesce(null, ' * 20}1{')' * 20}")
    assert parse_or_none(f"select {' + '.join(['value'] * 500)} from A")
    assert parse_or_none(f"select n from A where {' or '.join(['n = 1'] * 500)}")
    assert parse_or_none(f"select n from A where n in ({', '.join(map(str, range(2000)))})")

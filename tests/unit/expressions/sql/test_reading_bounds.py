"""The cost of parsing a statement is bounded by its length, for any nesting and repetition."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.oracles.cases import cases, statement_of

from dashwright.expressions.sql import bounds, dialect, mysql_grammar, statement
from dashwright.expressions.sql.functions import FUNCTIONS
from dashwright.expressions.sql.statement_errors import StatementError

pytestmark = pytest.mark.exhaustive

#: The depth of nested expressions, just below the limit.
_MAX_NESTING = bounds.MAX_DEPTH - 1
#: The steps that the parser may take for the longest statement.
_MAX_STEPS = bounds.step_limit(bounds.MAX_TOKENS)


@dataclass(slots=True)
class Cost:
    """The parser's steps for the last statement, and the nodes of the largest part that was rewritten."""

    steps: int = 0
    nodes: int = 0


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch) -> Cost:
    """Return the cost of the last statement, which is recorded while the statement is parsed."""
    recorded_cost = Cost()
    advance, measure = mysql_grammar._Parser._advance, bounds.measure

    def count_steps(self: Any, times: int = 1) -> None:
        recorded_cost.steps += 1
        assert recorded_cost.steps <= _MAX_STEPS + 1_000, "the parser does not end"
        advance(self, times)

    def count_nodes(node: Any) -> int:
        size = measure(node)
        assert size <= 3 * bounds.MAX_NODES, "the tree does not stop growing"
        recorded_cost.nodes = max(recorded_cost.nodes, size)
        return size

    monkeypatch.setattr(mysql_grammar._Parser, "_advance", count_steps)
    monkeypatch.setattr(dialect, "measure", count_nodes)
    return recorded_cost


def rejection_reason(text: str, cost: Cost) -> str:
    """Return the reason why a statement is rejected, or "" if it is parsed. Any other exception fails the test."""
    cost.steps = cost.nodes = 0
    try:
        # Without the cache of parsed statements.
        parsed = statement._parse.__wrapped__(text)
    except StatementError as error:
        return error.reason
    assert len(parsed.sql) <= bounds.MAX_SQL_LENGTH
    return ""


def _calls(name: str) -> Iterator[str]:
    """Yield calls of a function with up to seven arguments, one of which is the placeholder ``%``, for each position."""
    function = FUNCTIONS[name]
    # None is any number of arguments.
    max_arguments = 7 if function.max_arguments is None else min(function.max_arguments, 7)
    for count in range(max(function.min_arguments, 1), max_arguments + 1):
        for placeholder_index in range(count):
            arguments = ["'$.a'"] * count
            # The second argument of these functions must be ``'one'`` or ``'all'``.
            if name in {"json_contains_path", "json_search"} and count > 1:
                arguments[1] = "'one'"
            arguments[placeholder_index] = "%"
            yield f"{name}({', '.join(arguments)})"


_TYPES = "date datetime timestamp time year char varchar binary decimal double float int bigint signed unsigned json text bit enum set"
#: Templates of expressions. The first placeholder ``%`` has the nested expression, and others have a number.
_CONSTRUCTS = [
    *(f"{name}(%)" for name in _TYPES.split()),
    *(f"cast(% as {name})" for name in ("signed", "char", "decimal(10, 2)", "datetime", "time", "json")),
    "(%)",
    "(-%)",
    "(not %)",
    "(% + 1)",
    "(% || 1)",
    "(% = 'a')",
    "(% <=> 1)",
    "(% xor 1)",
    "(% & 1)",
    "(~%)",
    "(% div 2)",
    "(% in (1, 'a', now()))",
    "(now() in (%, 1, 'a'))",
    "(% between 1 and 'a')",
    "(% like 'a')",
    "(% regexp 'a')",
    "(% is true)",
    "(% collate utf8mb4_bin)",
    "(% + interval 1 day)",
    "(now() + interval % day)",
    "case when % then 1 else 'a' end",
    "case % when 1 then 1 when 'a' then 2 end",
    "trim(both 'a' from %)",
    "substring(% from 1 for 2)",
    "position(% in 'a')",
    "extract(year from %)",
    "convert(%, signed)",
    "row(%, 1)",
    "(select %)",
    "exists (select %)",
    "(1 in (select %))",
    "(1 = any (select %))",
    "(select % union select 1)",
    "(select 1 from (select % as x) t)",
    "(with t as (select %) select 1 from t)",
    "(select 1 from A join (select % as x) t on 1 = 1)",
    "sum(%) over (partition by 1)",
    "count(distinct %, 1)",
    "group_concat(distinct % order by 1)",
    "group_concat(% order by %)",
]


def _nest(template: str, depth: int) -> str:
    """Return an expression in which the template is nested in itself, with a column as the innermost expression."""
    text = "a"
    for _ in range(depth):
        text = template.replace("%", text, 1).replace("%", "1")
    return text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested_functions_stay_within_the_bounds(cost: Cost, name: str) -> None:
    """The cost of a function that is nested in any of its arguments, to the maximum depth, is bounded."""
    for template in _calls(name):
        rejection_reason(f"select {_nest(template, _MAX_NESTING)} from A", cost)


@pytest.mark.parametrize("template", _CONSTRUCTS)
def test_nested_constructs_stay_within_the_bounds(cost: Cost, template: str) -> None:
    """The cost of other constructs is bounded, for several depths of nesting up to the maximum."""
    for depth in (6, 11, _MAX_NESTING):
        rejection_reason(f"select {_nest(template, depth)} from A", cost)


_REPEATABLE_PARTS = [
    "join A ",
    "join A on 1 ",
    ", A ",
    "left join A ",
    "natural join A ",
    "straight_join A ",
    "union select 1 ",
    "union select 1 from A ",
]


@pytest.mark.parametrize("part", _REPEATABLE_PARTS)
def test_repeated_parts_stay_within_the_bounds(cost: Cost, part: str) -> None:
    """The cost of a part that is repeated, up to a fifth of the maximum length of a statement, is bounded."""
    for times in (12, 40, bounds.MAX_LENGTH // len(part) // 5):
        rejection_reason(f"select 1 from A {part * times}", cost)


@pytest.mark.parametrize(
    "text",
    [
        "select 1 from A " + "join A " * 40,
        "select " + "date(" * 20 + "1" + ")" * 20,
        "select " + "decimal(" * 20 + "1" + ")" * 20,
        "select " + "json_extract(" * 20 + "a" + ", '$.a', '$.b', '$.c', '$.d')" * 20 + " from A",
        "select " + "json_contains_path(" * 20 + "a" + ", 'one', '$.a', '$.b', '$.c', '$.d')" * 20 + " from A",
        "select " + "group_concat(distinct " * 20 + "a" + " order by 1)" * 20 + " from A",
        "select json_extract(concat(" + ", ".join("a" * 4000) + ")" + ", '$.a'" * 5000 + ") from A",
        "select " + ", ".join(["json_extract(" * 5 + "a" + ", '$.a', '$.b', '$.c', '$.d')" * 5] * 30) + " from A",
    ],
    ids=lambda text: text[:30],
)
def test_superlinear_statements_are_rejected(cost: Cost, text: str) -> None:
    """A statement whose parsing would take too many steps is rejected, and the error says what to do."""
    assert "too complex" in rejection_reason(text, cost)
    assert "split it" in rejection_reason(text, cost)


def test_usual_statements_are_far_from_the_bounds(cost: Cost) -> None:
    """The statements of the MariaDB cases need few steps and few nodes."""
    for case in cases():
        text = statement_of(case)
        assert "too complex" not in rejection_reason(text, cost)
        assert cost.steps <= 20 + 2 * len(text)
        # The parser rejects only far larger statements.
        assert cost.nodes < 1_000


def test_long_lists_are_parsed(cost: Cost) -> None:
    """Long lists are parsed, up to the number of words that a statement may have."""
    assert rejection_reason(f"select n from A where n in ({', '.join(map(str, range(9_900)))})", cost) == ""
    assert rejection_reason(f"select {', '.join(['value'] * 9_900)} from A", cost) == ""
    assert "20000 allowed" in rejection_reason(f"select n from A where n in ({', '.join(map(str, range(10_000)))})", cost)


def test_sql_that_is_too_long_is_rejected(cost: Cost, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement whose generated SQL is too long is rejected as too complex."""
    monkeypatch.setattr(statement, "MAX_SQL_LENGTH", 20)
    assert "too complex" in rejection_reason("select value + value from A", cost)


@pytest.mark.parametrize("attribute", ["size=-1000000", "size=x", "line=1", "start=a", "kind=TEXT", "text"])
def test_comments_have_no_effect(cost: Cost, attribute: str) -> None:
    """Comments have no effect, although sqlglot reads attributes of its nodes from comments with ``sqlglot.meta``."""
    comment = f"/* sqlglot.meta {attribute} */"
    parsed = statement._parse.__wrapped__(f"select a as b {comment} from A {comment} join B {comment} on A.a {comment} = 'x' {comment}")
    assert parsed == statement._parse.__wrapped__("select a as b from A join B on A.a = 'x'")


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("with recursive x as (select * from x) select * from x", ("x",)),
        ("with recursive x as (select 1 from x union select 1 from x) select * from x", ("x",)),
        ("with recursive x as ((select 1 union select 1 from x)) select * from x", ("x",)),
        ("with recursive x as (select 1 intersect select 1 from x) select * from x", ("x",)),
        ("with recursive y as (select 1 from x), x as (select 1) select * from y", ("x",)),
        ("with recursive x as (select 1 union all select 1 from (select * from x) t) select * from x", ()),
        ("with recursive x as (select 1 union select 1 from x), y as (select * from x) select * from y", ()),
    ],
)
def test_a_clause_refers_to_itself_only_in_the_step_of_a_recursion(text: str, tables: tuple[str, ...]) -> None:
    """In its definition, a WITH clause refers to itself only in the step of a recursion.

    In other parts of the definition, and in clauses before it, the same name refers to a result of the request. ``tables`` are the
    results that the statement refers to.
    """
    assert statement.parse_statement(text, "X").tables == tables


@pytest.mark.parametrize("text", ["select * from A join dual", "select * from dual, A", "select * from dual join A"])
def test_no_table_name_reaches_duckdb(cost: Cost, text: str) -> None:
    """The table ``dual`` cannot be joined, because DuckDB would search a table of this name."""
    assert "'dual' is not a result" in rejection_reason(text, cost)

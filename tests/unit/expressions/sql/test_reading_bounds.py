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

_MAX_NESTING = 24
_MOST_STEPS = bounds.step_limit(bounds.MAX_TOKENS)


@dataclass(slots=True)
class Cost:
    """The parser's steps for the last statement, and the nodes of the largest part rewritten."""

    steps: int = 0
    nodes: int = 0


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch) -> Cost:
    total = Cost()
    advance, measured = mysql_grammar._Parser._advance, bounds.measure

    def count_steps(self: Any, times: int = 1) -> None:
        total.steps += 1
        assert total.steps <= _MOST_STEPS + 1_000, "the parser goes on and on"
        advance(self, times)

    def count_nodes(node: Any) -> int:
        size = measured(node)
        assert size <= 3 * bounds.MAX_NODES, "the tree grows on and on"
        total.nodes = max(total.nodes, size)
        return size

    monkeypatch.setattr(mysql_grammar._Parser, "_advance", count_steps)
    monkeypatch.setattr(dialect, "measure", count_nodes)
    return total


def refusal_of(text: str, cost: Cost) -> str:
    """Return the reason why a statement is refused, or "" if it is read. Any other exception fails the test."""
    cost.steps = cost.nodes = 0
    try:
        read = statement._parse.__wrapped__(text)
    except StatementError as refusal:
        return refusal.reason
    assert len(read.sql) <= bounds.MAX_SQL_LENGTH
    return ""


def _calls(name: str) -> Iterator[str]:
    """Yield calls of a function with one to seven arguments. In each, the placeholder is another argument."""
    function = FUNCTIONS[name]
    for count in range(max(function.min_arguments, 1), min(function.max_arguments if function.max_arguments is not None else 7, 7) + 1):
        for hole in range(count):
            others = ["'$.a'"] * count
            if name in {"json_contains_path", "json_search"} and count > 1:
                others[1] = "'one'"
            others[hole] = "%"
            yield f"{name}({', '.join(others)})"


_TYPES = "date datetime timestamp time year char varchar binary decimal double float int bigint signed unsigned json text bit enum set"
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


def _nested(template: str, depth: int) -> str:
    text = "a"
    for _ in range(depth):
        text = template.replace("%", text, 1).replace("%", "1")
    return text


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested_functions_stay_within_the_bounds(cost: Cost, name: str) -> None:
    """A function is nested in each of its arguments to the maximum depth."""
    for template in _calls(name):
        refusal_of(f"select {_nested(template, _MAX_NESTING)} from A", cost)


@pytest.mark.parametrize("template", _CONSTRUCTS)
def test_nested_constructs_stay_within_the_bounds(cost: Cost, template: str) -> None:
    """Constructs other than functions are nested to each depth from which only the bounds could reject them."""
    for depth in (6, 11, _MAX_NESTING):
        refusal_of(f"select {_nested(template, depth)} from A", cost)


_REPEATED = [
    "join A ",
    "join A on 1 ",
    ", A ",
    "left join A ",
    "natural join A ",
    "straight_join A ",
    "union select 1 ",
    "union select 1 from A ",
]


@pytest.mark.parametrize("part", _REPEATED)
def test_repeated_parts_stay_within_the_bounds(cost: Cost, part: str) -> None:
    """A part is repeated until the statement is full or the parser stops."""
    for times in (12, 40, bounds.MAX_LENGTH // len(part) // 5):
        refusal_of(f"select 1 from A {part * times}", cost)


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
    """A statement whose parsing would take too many steps is refused, and the error says what to do."""
    assert "too complex" in refusal_of(text, cost)
    assert "split it" in refusal_of(text, cost)


def test_usual_statements_are_far_from_the_bounds(cost: Cost) -> None:
    """The statements of the MariaDB cases need few steps and few nodes."""
    for case in cases():
        text = statement_of(case)
        assert "too complex" not in refusal_of(text, cost)
        assert cost.steps <= 20 + 2 * len(text)
        # The parser refuses far larger statements only.
        assert cost.nodes < 1_000


def test_long_lists_are_read(cost: Cost) -> None:
    """Long lists are parsed, up to the number of words that a statement may have."""
    assert refusal_of(f"select n from A where n in ({', '.join(map(str, range(9_900)))})", cost) == ""
    assert refusal_of(f"select {', '.join(['value'] * 9_900)} from A", cost) == ""
    assert "20000 allowed" in refusal_of(f"select n from A where n in ({', '.join(map(str, range(10_000)))})", cost)


def test_sql_too_long_is_refused(cost: Cost, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement whose generated SQL is too long is refused as too complex."""
    monkeypatch.setattr(statement, "MAX_SQL_LENGTH", 20)
    assert "too complex" in refusal_of("select value + value from A", cost)


@pytest.mark.parametrize("note", ["size=-1000000", "size=x", "line=1", "start=a", "kind=TEXT", "text"])
def test_comments_have_no_effect(cost: Cost, note: str) -> None:
    """Comments have no effect, although sqlglot can read notes on its nodes from them."""
    noted = f"/* sqlglot.meta {note} */"
    read = statement._parse.__wrapped__(f"select a as b {noted} from A {noted} join B {noted} on A.a {noted} = 'x' {noted}")
    assert read == statement._parse.__wrapped__("select a as b from A join B on A.a = 'x'")


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
def test_a_clause_reads_itself_in_the_step_of_a_recursion_only(text: str, tables: tuple[str, ...]) -> None:
    """The name of a WITH clause in itself means a result, except in the step of a recursion: DuckDB would search its own tables."""
    assert statement.parse_statement(text, "X").tables == tables


@pytest.mark.parametrize("text", ["select * from A join dual", "select * from dual, A", "select * from dual join A"])
def test_no_table_name_reaches_duckdb(cost: Cost, text: str) -> None:
    """The table ``dual`` cannot be joined."""
    assert "'dual' is not a result" in refusal_of(text, cost)

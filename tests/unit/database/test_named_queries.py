"""Files of named queries: their syntax, and each query that the code names is in its file."""

import ast
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.database import queries
from dashwright.common.errors import DashwrightError

NAMES = st.from_regex(r"\A[a-z][a-z0-9_]{0,20}\Z")
#: Texts of one or more lines, without the characters that begin comments, parameters and fragments. Lines end only with a line feed.
BODIES = st.text(st.characters(codec="utf-8", exclude_characters="-:{\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), min_size=1).filter(str.strip)
ROOT = Path(__file__).parents[3]


@given(st.dictionaries(NAMES, BODIES))
def test_each_query_is_an_attribute(bodies: dict[str, str]) -> None:
    """The SQL below a name is the attribute of that name, without surrounding white space."""
    text = "".join(f"-- name: {name}\n{body}\n" for name, body in bodies.items())
    parsed = queries.parse(text, location="x.sql")
    assert {name: getattr(parsed, name) for name in dir(parsed)} == {name: body.strip() for name, body in bodies.items()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select 1;\n-- name: a\nselect 2;", "text before its first"),
        ("-- name: a\nselect 1;\n-- name: a\nselect 2;", "two queries named a"),
        ("-- name: a b\nselect 1;", "'a b'"),
        ("-- name: A\nselect 1;", "'A'"),
        ("-- name:\nselect 1;", "''"),
        ("-- name: a\n-- only words\n\n-- name: b\nselect 1;", "a query a without SQL"),
        ("-- name: a", "a query a without SQL"),
    ],
)
def test_an_invalid_file_is_an_error(text: str, message: str) -> None:
    """An invalid file is an error when it is loaded. The error names the file and the fault."""
    with pytest.raises(DashwrightError, match=message) as caught:
        queries.parse(text, location="x.sql")
    assert "x.sql" in str(caught.value)


def test_named_parameters_are_numbered_in_the_order_of_their_first_use() -> None:
    """A name that occurs twice is one parameter. Casts, quoted texts and comments contain no parameters."""
    parsed = queries.parse("-- name: a\nselect :b::text, ':c', :a, :b -- not :d", location="x.sql")
    assert parsed.bind("a", a=1, b=2) == ("select $1::text, ':c', $2, $1 -- not :d", 2, 1)
    with pytest.raises(TypeError, match=r"x\.sql: a takes b, a; given: a"):
        parsed.bind("a", a=1)


def test_fragments_are_inserted() -> None:
    """A query contains the SQL of a fragment whose name is in braces. An unknown fragment is an error, and braces in quotes are kept."""
    parsed = queries.parse("-- fragment: columns\nx, :y\n-- name: a\nselect {columns}, '{z}' from t", location="x.sql")
    assert parsed.bind("a", y=1) == ("select x, $1, '{z}' from t", 1)
    assert dir(parsed) == ["a"]
    with pytest.raises(DashwrightError, match="x\\.sql: a uses an unknown fragment columns"):
        queries.parse("-- name: a\nselect {columns}", location="x.sql")


def test_conditions_narrow_a_query() -> None:
    """The chosen conditions replace ``{conditions}`` in a query, or in a fragment of the query. Their parameters are numbered, too."""
    source = """
-- fragment: rows
select :b where true {conditions}
-- name: a
{rows} limit :n
-- condition: c
-- why
x = :x or y = :b
"""
    parsed = queries.parse(source.strip(), location="x.sql")
    assert parsed.bind("a", b=1, n=2) == ("select $1 where true  limit $2", 1, 2)
    assert parsed.bind("a", conditions=["c"], b=1, n=2, x=3) == ("select $1 where true \n and (x = $2 or y = $1) limit $3", 1, 3, 2)
    with pytest.raises(KeyError, match="'d'"):
        parsed.bind("a", conditions=["d"], b=1, n=2)


def test_a_missing_file_is_named() -> None:
    """The error for a missing file names the file and where it was searched."""
    with pytest.raises(DashwrightError, match=r"no nothing\.sql in dashwright\.common\.database"):
        queries.load("dashwright.common.database", "nothing.sql")


def test_an_unknown_name_is_an_error_with_the_known_ones() -> None:
    """An unknown name is an AttributeError that lists the names of the file."""
    parsed = queries.parse("-- name: a\nselect 1;\n-- name: b\nselect 2;", location="x.sql")
    with pytest.raises(AttributeError, match=r"x\.sql has no query c; it has a, b\."):
        _ = parsed.c


def modules_by_file() -> dict[str, list[Path]]:
    """Return the modules of the project that load each file of queries."""
    by_file = defaultdict(list)
    for folder in ("libs", "services"):
        for path in (ROOT / folder).rglob("src/**/*.py"):
            if match := re.search(r'load\(__package__, "(.+)"\)', path.read_text()):
                by_file[str((path.parent / match[1]).relative_to(ROOT))].append(path)
    return by_file


@pytest.mark.parametrize(("file", "paths"), modules_by_file().items(), ids=lambda value: Path(value).stem if isinstance(value, str) else "")
def test_code_and_file_name_the_same_queries(file: str, paths: list[Path]) -> None:
    """The names that the modules of a file use are exactly the queries in the file, so a misspelt name fails in this test."""
    used_queries: set[str] = set()
    for path in paths:
        module_path = str(path.relative_to(ROOT)).partition("/src/")[2]
        module = import_module(module_path.removesuffix(".py").replace("/", "."))
        # The variable of the module that has the queries of the file, such as ``_sql``.
        (variable,) = (name for name, value in vars(module).items() if isinstance(value, queries.Queries))
        nodes = list(ast.walk(ast.parse(path.read_text())))
        # Queries that are used as ``_sql.name``.
        used_queries |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == variable} - {"bind"}
        # Queries that are used as ``_sql.bind("name", …)``.
        calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{variable}.bind"]
        used_queries |= {ast.literal_eval(query) for call in calls for query in _branches(call.args[0])}
    assert used_queries == set(dir(queries.parse((ROOT / file).read_text(), location=file)))


def _branches(node: ast.expr) -> list[ast.expr]:
    """Return the values that an expression can have: both of ``a if … else b``, or itself."""
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]

"""The laws of files of named queries, and that the code and those files agree."""

import ast
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.database import queries
from dashwright.common.errors import DashwrightError

NAMES = st.from_regex(r"\A[a-z][a-z0-9_]{0,20}\Z")
BODIES = st.text(st.characters(codec="utf-8", exclude_characters="-:{\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), min_size=1).filter(str.strip)
ROOT = Path(__file__).parents[3]


@given(st.dictionaries(NAMES, BODIES))
def test_each_query_is_its_text(written: dict[str, str]) -> None:
    """Whatever SQL stands under a name is that name's attribute, without the white space around it."""
    text = "".join(f"-- name: {name}\n{body}\n" for name, body in written.items())
    read = queries.parse(text, source="x.sql")
    assert {name: getattr(read, name) for name in dir(read)} == {name: body.strip() for name, body in written.items()}


@pytest.mark.parametrize(
    ("text", "said"),
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
def test_a_file_that_does_not_fit_refuses(text: str, said: str) -> None:
    """A file with a fault is an error when it is loaded, that names the file and the fault."""
    with pytest.raises(DashwrightError, match=said) as caught:
        queries.parse(text, source="x.sql")
    assert "x.sql" in str(caught.value)


def test_named_parameters_are_numbered_in_the_order_of_their_first_use() -> None:
    """A name that occurs twice is one parameter; casts, quoted text and comments are left alone."""
    read = queries.parse("-- name: a\nselect :b::text, ':c', :a, :b -- not :d", source="x.sql")
    assert read.bind("a", a=1, b=2) == ("select $1::text, ':c', $2, $1 -- not :d", 2, 1)
    with pytest.raises(TypeError, match=r"x\.sql: a takes b, a; given: a"):
        read.bind("a", a=1)


def test_fragments_are_filled_in() -> None:
    """A fragment is text shared by queries; an unknown one is an error, and braces in quotes are no fragment."""
    read = queries.parse("-- fragment: columns\nx, :y\n-- name: a\nselect {columns}, '{z}' from t", source="x.sql")
    assert read.bind("a", y=1) == ("select x, $1, '{z}' from t", 1)
    assert dir(read) == ["a"]
    with pytest.raises(DashwrightError, match="x\\.sql: a uses an unknown fragment columns"):
        queries.parse("-- name: a\nselect {columns}", source="x.sql")


def test_a_missing_file_is_named() -> None:
    """Loading a file that is not there says which one, and where it was looked for."""
    with pytest.raises(DashwrightError, match=r"no nothing\.sql in dashwright\.common\.database"):
        queries.load("dashwright.common.database", "nothing.sql")


def test_an_unknown_name_says_what_there_is() -> None:
    """A name that is not in the file is an AttributeError that lists those that are."""
    read = queries.parse("-- name: a\nselect 1;\n-- name: b\nselect 2;", source="x.sql")
    with pytest.raises(AttributeError, match=r"x\.sql has no query c; it has a, b\."):
        _ = read.c


def modules_with_queries() -> list[Path]:
    """The modules of the project that load a file of queries into a name of theirs."""
    sources = (path for folder in ("libs", "services") for path in (ROOT / folder).rglob("src/**/*.py"))
    return [path for path in sources if "load(__package__" in path.read_text()]


@pytest.mark.parametrize("path", modules_with_queries(), ids=lambda path: path.stem)
def test_code_and_file_name_the_same_queries(path: Path) -> None:
    """A query that a module names is in its file, and none in the file is without use: a slip shows here, not at its first run."""
    module = import_module(str(path.relative_to(ROOT)).split("/src/")[1].removesuffix(".py").replace("/", "."))
    nodes = list(ast.walk(ast.parse(path.read_text())))
    for name, loaded in vars(module).items():
        if isinstance(loaded, queries.Queries):
            used = {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name} - {"bind"}
            calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{name}.bind"]
            used |= {ast.literal_eval(call.args[0]) for call in calls}
            assert used == set(dir(loaded))

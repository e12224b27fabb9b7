"""YAML from untrusted clients: one case for each hazard that a YAML parser has to withstand."""

import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import Invalid
from dashwright.common.yaml import read_yaml

pytestmark = pytest.mark.exhaustive

# Nine lists, each with nine aliases of the preceding one: 9**9 items in less than a kilobyte.
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{previous}'] * 9)}]\n" for previous, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", "no"),
        ("a: on", "on"),
        ("a: 12:30:45", "12:30:45"),
        ("a: 2026-01-01", "2026-01-01"),
        ("a: 012", "012"),
        ("a: 1_000", "1_000"),
        ("a: !!python/object:os.system x", "x"),
        ("a: 18446744073709551615", 18446744073709551615),
        ("a: ~", None),
        ("a: &x [1, 2]\n", [1, 2]),
        ('{"a": {"b": [1.5, true]}}', {"b": [1.5, True]}),
    ],
)
def test_values_have_the_types_of_yaml_1_2(text: str, value: Any) -> None:
    """Words, times, dates and padded numbers are texts, as in YAML 1.2, and tags create no objects."""
    assert read_yaml(text)["a"] == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1\na: 2", "duplicate entry"),
        (BOMB, r"aliases copy too much \(\*e at line 6\)"),
        ("[" * 500 + "]" * 500, "nested deeper than 128 levels at line 1"),
        ("- " * 500, "recursion limit exceeded"),
        ("a: 1\n---\nb: 2", "more than one document"),
        ("a: *x", "unknown anchor"),
        ("a: 123456789012345678901234567890", "integer"),
        ("? [a, b]\n: c", "not valid YAML"),
        ("a: [", "not valid YAML"),
    ],
)
def test_each_hazard_is_refused(text: str, reason: str) -> None:
    """Duplicate keys, alias bombs, deep nesting, several documents, long numbers and syntax errors are refused."""
    with pytest.raises(Invalid, match=reason):
        read_yaml(text)


@pytest.mark.parametrize(
    ("prefix", "opening"),
    [
        pytest.param("a: ", "[", id="list"),
        pytest.param("a: ", "{? ", id="map"),
        pytest.param("a: ", "[#]\n", id="closing brackets in comments"),
        pytest.param("a: ", '["]", ', id="closing brackets in quoted texts"),
        pytest.param("a: ", '[a" , " ]", ', id="words that end with a quote"),
        pytest.param("a: ", "[ !<]> , ", id="closing brackets in tags"),
        pytest.param("a: ", "[\u2028", id="line separators"),
        pytest.param("a: ", "[\u00a0", id="no-break spaces"),
        pytest.param("a: 1\na: 1\nb: ", "[", id="after a duplicate key"),
        pytest.param("a: 1\n---\n", "[", id="in a second document"),
        pytest.param('a: "' + "[ " * 2000 + '"\nb: ', "[", id="after brackets in a quoted text"),
        pytest.param("a: |\n" + "  [ [ [\n" * 2000 + "b: ", "[", id="after brackets in a block of text"),
    ],
)
def test_deep_nesting_is_rejected(prefix: str, opening: str) -> None:
    """A document that is nested 200,000 levels deep is rejected, even if brackets in texts, comments or tags seem to close its levels."""
    with pytest.raises(Invalid, match="not valid YAML"):
        read_yaml(prefix + opening * 200_000)


LARGEST_BYTES = 5_000_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: x" + "[{" * (LARGEST_BYTES // 2), id="plain text"),
        pytest.param("a: '" + "[{" * (LARGEST_BYTES // 2) + "'", id="quoted text"),
        pytest.param("a: '" + "[ " * 200 + "'\n" + "- " * (LARGEST_BYTES // 2), id="dashes"),
        pytest.param("- &a [" + "x," * (LARGEST_BYTES // 4) + "]\n" + "- *a\n" * (LARGEST_BYTES // 10), id="aliases"),
        pytest.param("- &a " + "x" * (LARGEST_BYTES // 2) + "\n" + "- *a\n" * (LARGEST_BYTES // 10), id="aliases of a text"),
        pytest.param("".join(f"%TAG !a{i}! tag:x\n" for i in range(LARGEST_BYTES // 20)) + "--- a", id="directives"),
        pytest.param("[" + "[]," * (LARGEST_BYTES // 3) + "]", id="list"),
        pytest.param("[" * 100 + "x," * (LARGEST_BYTES // 2), id="deep list"),
        pytest.param("- [ [a], *b ]\n" * (LARGEST_BYTES // 14), id="blocks"),
    ],
)
def test_the_largest_text_is_read_in_linear_time(text: str) -> None:
    """Five megabytes of any shape are read or refused in seconds of processor time; quadratic work takes minutes."""
    start_time = time.process_time()
    with suppress(Invalid):
        read_yaml(text)
    assert time.process_time() - start_time < 10


def test_aliases_of_ordinary_size_are_read() -> None:
    """Aliases that only avoid repetition are read."""
    assert read_yaml("a: &a {x: 1, y: [2]}\nb: *a\nc: [*a, *a]")["c"] == [{"x": 1, "y": [2]}] * 2


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("- [a, \"b c\", 'd']\n", id="list"),
        pytest.param("- '{{pod}} [x] [ ['\n", id="text"),
        pytest.param("- {a: 1, b: [x, {y: z}]}\n", id="map"),
        pytest.param("- {a: [\"]\", '#']}\n", id="quotes"),
        pytest.param('- "[ [ \\" ["\n', id="escapes"),
        pytest.param("- x # [ [ [\n", id="comment"),
    ],
)
def test_many_closed_brackets_are_read(line: str) -> None:
    """Only depth is limited, not the number of brackets. Brackets in strings and comments do not count."""
    assert len(read_yaml(line * 1000)) == 1000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: .nan", "nan is not a JSON number"),
        ("a: [1, -.inf]", "-inf is not a JSON number"),
        ("a: {1: x}", "the key 1 is not a string"),
        ("true: x", "the key True is not a string"),
        ("b: &b {k: 1}\na: {<<: *b}", "merge keys"),
    ],
)
def test_values_without_json_form_are_rejected(text: str, reason: str) -> None:
    """Values and keys that JSON does not have are refused, because a spec is stored as JSON. Merge keys are refused, too."""
    with pytest.raises(Invalid, match=reason):
        read_yaml(text)


@given(st.text(alphabet="ab:- \n\t[]{}&*!|>'\"#%?<.1\\\x00\ufeff", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any text is read, or raises Invalid and no other error."""
    try:
        read_yaml(text)
    except Invalid:
        return

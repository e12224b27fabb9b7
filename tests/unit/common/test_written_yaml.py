"""YAML that is written: the same data to every reader, those of YAML 1.1 among them."""

from typing import Any

import pytest
import yaml as old_reader
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.document import read_json, write_json
from dashwright.common.errors import Invalid
from dashwright.common.yaml import read_yaml, write_yaml

TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)
AMBIGUOUS = [
    *("no", "NO", "Off", "on", "y", "N", "yes", "true", "Null", "~", "", "=", "-", "---", "...", "12:30", "12:30:45", "0x1F", "012", "1e5"),
    *(
        "1_000",
        ".5",
        ".inf",
        ".NaN",
        "2026-01-01",
        "2026-01-01T10:00:00Z",
        "a: b",
        "a:",
        "a #b",
        "# a",
        "- a",
        "? a",
        "@a",
        "`a",
        "%a",
        "!a",
        "&a",
    ),
    *(
        "*a",
        "|",
        ">",
        "[a",
        "{a",
        "'a'",
        '"a"',
        " a",
        "a ",
        "a\nb",
        "a\n",
        "\t",
        "\u2028",
        "\x85",
        "\x7f",
        "\ufeff",
        "\0",
        "é",
        "😀",
        "\uffff",
    ),
    *("key with spaces", "grafana.app/folder", "v2alpha1", "None", "x" * 2000),
]


@pytest.mark.parametrize("text", AMBIGUOUS, ids=ascii)
def test_a_text_stays_a_text(text: str) -> None:
    """As a value, a key and an item, to readers of YAML 1.2 and of YAML 1.1."""
    tree = {"value": text, text: [text, {text: text}]}
    written = write_yaml(tree)
    assert old_reader.safe_load(written) == tree
    assert read_yaml(written) == tree


@pytest.mark.parametrize("word", ["y", "N", "no", "On", "TRUE", "null"])
def test_a_word_that_some_reader_takes_for_another_value_is_quoted(word: str) -> None:
    """Also those that one reader of YAML 1.1 knows and another does not."""
    assert write_yaml([word]) == f'- "{word}"\n'


def test_a_key_of_two_arrows_is_read_by_others_only() -> None:
    """``<<`` is written as a text; our own reader takes it for a merge, which it refuses."""
    written = write_yaml({"<<": "<<"})
    assert old_reader.safe_load(written) == {"<<": "<<"}
    with pytest.raises(Invalid, match="merge keys"):
        read_yaml(written)


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("1", "1"),
        ("1.10", "1.10"),
        ("-0", "-0"),
        ("-0.0", "-0.0"),
        ("1e5", "1.0e+5"),
        ("1E+5", "1.0e+5"),
        ("2.50e-7", "2.50e-7"),
        ("12345678901234567890", "12345678901234567890"),
        ("0.1234567890123456789", "0.1234567890123456789"),
    ],
)
def test_a_number_keeps_its_digits(number: str, written: str) -> None:
    """It is written as it was sent, but for an exponent, which older readers know only after a point and with a sign."""
    assert write_yaml({"a": read_json(number)}) == f"a: {written}\n"
    assert float(old_reader.safe_load(f"a: {written}")["a"]) == float(number)


def test_blocks_are_what_people_write() -> None:
    """Lists stand below their keys without an indent, objects with two spaces, and what is empty on one line."""
    tree = {"kind": "D", "spec": {"panels": [{"id": 1, "targets": [[], ["a", ["b"]]]}, {}], "on": None, "x": {}}, "ok": True}
    expected = (
        'kind: D\nspec:\n  panels:\n  - id: 1\n    targets:\n    - []\n    - - a\n      - - b\n  - {}\n  "on": null\n  x: {}\nok: true\n'
    )
    assert write_yaml(tree) == expected


@given(TREES)
def test_what_is_written_is_read_back(tree: Any) -> None:
    """By our reader, through JSON's numbers as they were sent; and by a reader of YAML 1.1."""
    exact = read_json(write_json(tree).decode())
    written = write_yaml(exact)
    assert old_reader.safe_load(written) == tree
    if '"<<"' not in written:
        assert read_yaml(written) == tree


def test_half_a_character_is_refused() -> None:
    """A text that is no Unicode cannot be written."""
    with pytest.raises(Invalid, match="cannot be written as YAML"):
        write_yaml({"a": "\ud800"})

"""YAML output, which readers of YAML 1.2 and of YAML 1.1 read as the same data."""

from typing import Any

import pytest
import yaml as yaml_1_1
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import Invalid
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.yaml import read_yaml, write_yaml

TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)
# Texts that a reader of YAML could take for another value, for syntax, or for the end of a text.
AMBIGUOUS_TEXTS = [
    # Truth values and null.
    "no", "NO", "Off", "on", "y", "N", "yes", "true", "Null", "~", "",
    # Numbers, times and dates.
    "12:30", "12:30:45", "0x1F", "012", "1e5", "1_000", ".5", ".inf", ".NaN", "2026-01-01", "2026-01-01T10:00:00Z",
    # Syntax.
    "=", "-", "---", "...", "a: b", "a:", "a #b", "# a", "- a", "? a", "@a", "`a", "%a", "!a",
    "&a", "*a", "|", ">", "[a", "{a", "'a'", '"a"',
    # White space, and invisible or unusual characters.
    " a", "a ", "a\nb", "a\n", "\t", "\u2028", "\x85", "\x7f", "\ufeff", "\0", "é", "😀", "\uffff",
    # Texts that need no quotes, and a text longer than a line.
    "key with spaces", "grafana.app/folder", "v2alpha1", "None", "x" * 2000,
]  # fmt: skip


@pytest.mark.parametrize("text", AMBIGUOUS_TEXTS, ids=ascii)
def test_a_string_is_read_as_a_string(text: str) -> None:
    """A string as value, key or item is a string to readers of YAML 1.2 and YAML 1.1."""
    tree = {"value": text, text: [text, {text: text}]}
    written = write_yaml(tree)
    assert yaml_1_1.safe_load(written) == tree
    assert read_yaml(written) == tree


@pytest.mark.parametrize("word", ["y", "N", "no", "On", "TRUE", "null"])
def test_ambiguous_words_are_quoted(word: str) -> None:
    """Words that any reader of YAML 1.1 reads as another value are quoted."""
    assert write_yaml([word]) == f'- "{word}"\n'


def test_a_merge_key_is_written_as_text() -> None:
    """The key ``<<`` is written as a text, which other parsers read.

    The project's own parser refuses it, because it takes it for a merge.
    """
    written = write_yaml({"<<": "<<"})
    assert yaml_1_1.safe_load(written) == {"<<": "<<"}
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
    """A number keeps its digits; an exponent is written with a point and a sign, which older readers need."""
    assert write_yaml({"a": read_json(number)}) == f"a: {written}\n"
    assert float(yaml_1_1.safe_load(f"a: {written}")["a"]) == float(number)


def test_blocks_have_the_usual_indentation() -> None:
    """Lists are below their keys without an indent, objects have two spaces, and empty values are on one line."""
    tree = {"kind": "D", "spec": {"panels": [{"id": 1, "targets": [[], ["a", ["b"]]]}, {}], "on": None, "x": {}}, "ok": True}
    assert (
        write_yaml(tree)
        == """\
kind: D
spec:
  panels:
  - id: 1
    targets:
    - []
    - - a
      - - b
  - {}
  "on": null
  x: {}
ok: true
"""
    )


@given(TREES)
def test_output_is_read_back(tree: Any) -> None:
    """The project's parser reads the output with the same digits, and a reader of YAML 1.1 reads the same data."""
    exact = read_json(write_json(tree).decode())
    written = write_yaml(exact)
    assert yaml_1_1.safe_load(written) == tree
    # The project's own parser refuses merge keys.
    if '"<<"' not in written:
        assert read_yaml(written) == tree


def test_a_lone_surrogate_is_rejected() -> None:
    """A string that is not valid Unicode cannot be written."""
    with pytest.raises(Invalid, match="cannot be written as YAML"):
        write_yaml({"a": "\ud800"})

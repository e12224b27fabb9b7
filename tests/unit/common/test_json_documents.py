"""JSON of files, which is stored as it was sent."""

import copy
import json
import pickle
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import Invalid
from dashwright.common.json_documents import canonical_json, check_depth, read_json, read_shallow_json, write_json

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "text",
    [
        "12345678901234567890123456789",
        "-9223372036854775809",
        "1" * 5000,
        "1.10",
        "1e400",
        "0.1000000000000000055511151231257827",
        "-0",
        "-0.0",
        "1E5",
        '{"z":1,"a":2,"m":{"y":1,"b":2}}',
    ],
    ids=lambda text: text[:40],
)
def test_numbers_and_order_are_kept(text: str) -> None:
    """Numbers keep their digits beyond the precision of floats, and keys their order."""
    assert write_json(read_json(text)).decode() == text


@given(TREES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_whitespace_does_not_change_a_document(tree: Any, indent: int | str | None, ascii_only: bool) -> None:
    """With any whitespace and escapes, the fast and the exact parser have the same result."""
    # Only the exact parser keeps the digits of 1.50, so this number selects it.
    text = json.dumps({"kept": tree, "exact": 1.5}, indent=indent, ensure_ascii=ascii_only)
    text_for_exact_parser = text.replace("1.5", "1.50")
    assert write_json(read_json(text)) == write_json(read_json(text_for_exact_parser)).replace(b"1.50", b"1.5")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{ "a" : " b\\n c " , "d":[ ] }', '{"a":" b\\n c ","d":[]}'),
        ('{"a":0.1,"b":123456789012345678,"c":-0.0,"d":"\\u0000é"}', '{"a":0.1,"b":123456789012345678,"c":-0.0,"d":"\\u0000é"}'),
        ('{"a b":1,"ab":2}', '{"a b":1,"ab":2}'),
        ('{"a":1e2,"b":18446744073709551616}', '{"a":1e2,"b":18446744073709551616}'),
        ('{"\\u003c":"a \\u003e b","c":"\\\\u0026 \\u0026"}', '{"<":"a > b","c":"\\\\u0026 &"}'),
        ('{"a":"\\u003c","b":1.10}', '{"a":"<","b":1.10}'),
        ('{\n  "a": 1.10,\n  "b": [\n    18446744073709551616,\n    " \\u00e9"\n  ]\n}\n', '{"a":1.10,"b":[18446744073709551616," é"]}'),
    ],
)
def test_whitespace_is_kept_only_in_strings(text: str, expected: str) -> None:
    """Both parsers drop whitespace between values and keep it in strings."""
    assert write_json(read_json(text)).decode() == expected


@pytest.mark.parametrize("text", ["1.10", "-0", "1e400", "12345678901234567890123456789"])
def test_exact_numbers_survive_copies(text: str) -> None:
    """A tree that was copied, or pickled for another process, is written with its original numbers."""
    tree = read_json(f'{{"a":[{text}]}}')
    for tree_copy in (copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert write_json(tree_copy).decode() == f'{{"a":[{text}]}}'


def test_exact_numbers_are_numbers() -> None:
    """Exact numbers in parsed documents compare and calculate as numbers, not as strings."""
    assert read_json("[1.10, 2e3, -0, 0.5]") == [1.1, 2000, 0, 0.5]
    assert f"{read_json('[1.10]')}" == "[1.10]"


@given(TREES)
def test_a_compacted_document_is_equal(tree: Any) -> None:
    """Compacting a document changes no value."""
    assert json.loads(write_json(read_json(json.dumps(tree, indent=2)))) == tree


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "duplicate key 'c'"),
        ('{\n  "a": {\n    "c": 1,\n    "c": 1\n  }\n}\n', "duplicate key 'c'"),
        ('{"<":1,"\\u003c":1}', "duplicate key '<'"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("-Infinity", "-Infinity is not a JSON number"),
        ('{"a": 1,\n}', "not valid JSON: .* at line"),
        ("", "not valid JSON"),
        ("{} {}", "not valid JSON: Extra data at line 1"),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=lambda text: text[:40],
)
def test_an_invalid_document_is_rejected_with_its_position(text: str, reason: str) -> None:
    """The error of an invalid document names the fault, and the position of a syntax error."""
    with pytest.raises(Invalid, match=reason):
        read_json(text)


@pytest.mark.parametrize("tree", [read_json('"\\ud800"'), [object()]])
def test_values_without_json_form_are_rejected(tree: Any) -> None:
    """A tree with half a surrogate pair, or with a value of a type that JSON does not have, cannot be written."""
    with pytest.raises(Invalid, match="cannot be kept as JSON"):
        write_json(tree)


@pytest.mark.parametrize(
    "leaf",
    [
        pytest.param(1, id="integer"),
        pytest.param("\n" + "  " * 128, id="text like an indentation"),
        pytest.param(1.5, id="float"),
        pytest.param(read_json("1.50"), id="exact number"),
        pytest.param(read_json('"\\ud800"'), id="half a surrogate pair"),
        pytest.param([], id="list"),
        pytest.param({}, id="object"),
    ],
)
@pytest.mark.parametrize(("depth", "is_accepted"), [(1, True), (128, True), (129, False), (200, False), (900, False)])
def test_the_depth_is_limited(depth: int, is_accepted: bool, leaf: Any) -> None:
    """A document has at most 128 levels of nested values. The innermost value is one of them, even if it has no members."""
    tree: Any = leaf
    for level in range(depth - 1):
        tree = [tree] if level % 2 else {"a": tree}
    if is_accepted:
        check_depth(tree)
    else:
        with pytest.raises(Invalid, match="at most 128 levels"):
            check_depth(tree)


@pytest.mark.parametrize("leaf", ["1", "1.50", '"\\u00e9"', "[]"])
@pytest.mark.parametrize(
    ("indent", "depth", "is_accepted"),
    [
        *((indent, depth, is_accepted) for indent in (None, 0, 1, 2, 4) for depth, is_accepted in ((1, True), (127, True), (129, False))),
        # The indented text of so many levels has megabytes.
        (None, 900, False),
        (1, 900, False),
    ],
)
def test_every_parser_limits_the_depth(depth: int, is_accepted: bool, indent: int | None, leaf: str) -> None:
    """The fast and the exact parser limit the depth of a document, with any indentation."""
    # The leaf is one level more than the depth.
    tree: Any = []
    for _ in range(depth - 1):
        tree = {"a": tree}
    text = json.dumps(tree, indent=indent).replace("[]", f"[{leaf}]")
    if is_accepted:
        assert write_json(read_shallow_json(text)) == write_json(read_json(text))
    else:
        with pytest.raises(Invalid, match="at most 128 levels"):
            read_shallow_json(text)


NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@given(NUMBERS, NUMBERS | st.none(), st.integers(0, 3))
def test_canonical_numbers_are_equal_by_value(first: str, second_text: str | None, zeros: int) -> None:
    """Two numbers have the same canonical text exactly when they are the same number, at any length."""
    # Without a second number, the first one is compared with itself, with zeros appended to a fraction without an exponent.
    if second_text is not None:
        second = second_text
    elif "." in first and "e" not in first.lower():
        second = first + "0" * zeros
    else:
        second = first
    is_same_text = canonical_json(read_json(first)) == canonical_json(read_json(second))
    assert is_same_text == (Fraction(first) == Fraction(second))


@given(TREES)
def test_canonical_text_is_independent_of_order(tree: Any) -> None:
    """The canonical text of a tree does not depend on the order of keys, and is read as an equal tree."""
    canonical_text = canonical_json(tree)
    assert canonical_json(_reverse_keys(tree)) == canonical_text
    assert canonical_json(read_json(canonical_text.decode())) == canonical_text


def _reverse_keys(tree: Any) -> Any:
    """Return a tree with the keys of all objects in reverse order."""
    if isinstance(tree, dict):
        return {key: _reverse_keys(tree[key]) for key in reversed(tree)}
    return [_reverse_keys(item) for item in tree] if isinstance(tree, list) else tree


def test_canonical_rejects_a_huge_exponent() -> None:
    """A number with a huge exponent is a client error, not an internal one."""
    with pytest.raises(Invalid, match="exponent"):
        canonical_json(read_json("1e" + "9" * 5000))

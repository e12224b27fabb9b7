"""Values, comparisons and sorting as in JavaScript."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.expressions.javascript.comparisons import are_equal, are_identical, compare, difference, product, quotient, rounded, total
from dashwright.expressions.javascript.sorting import compare_texts, sorted_by
from dashwright.expressions.javascript.values import (
    UNDEFINED,
    is_true,
    json_text,
    key_of,
    leading_integer,
    leading_number,
    number_of,
    text_of,
)

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (UNDEFINED, "undefined"),
        (True, "true"),
        (5.0, "5"),
        (-0.0, "0"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e21, "1.5e+21"),
        (1e-6, "0.000001"),
        (1.25e-6, "0.00000125"),
        (1e-7, "1e-7"),
        (123456789012345680000, "123456789012345680000"),
        (NAN, "NaN"),
        (-INF, "-Infinity"),
        ([1, None, [2, "x"]], "1,,2,x"),
        ({"a": 1}, "[object Object]"),
    ],
)
def test_values_become_text(value: Any, text: str) -> None:
    """The text of a value is that of JavaScript's ``String(value)``."""
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("value", "number"),
    [(None, 0), ("", 0), (" 12 ", 12), ("0x1f", 31), ("1e3", 1000), (".5", 0.5), ("-Infinity", -INF), (True, 1), ([], 0), (["7"], 7)],
)
def test_values_become_numbers(value: Any, number: float) -> None:
    """The number of a value is that of JavaScript's ``Number(value)``."""
    assert number_of(value) == number


@pytest.mark.parametrize("value", ["x", "1,2", "1_000", "٣", "0x", UNDEFINED, {}, [1, 2], "9" * 1000])
def test_other_values_are_not_numbers(value: Any) -> None:
    """A value that JavaScript does not convert to a finite number is NaN."""
    assert math.isnan(number_of(value))


def test_text_may_begin_with_a_number() -> None:
    """The leading number of a text is read as by ``parseFloat`` and ``parseInt``, without the text after it."""
    assert leading_number("1.5e1x") == 15
    assert leading_integer("12.9") == 12
    assert leading_integer(" -3px") == -3
    assert math.isnan(leading_number("x1"))
    assert math.isnan(leading_integer(""))


@pytest.mark.parametrize(
    ("left", "right", "are_same"),
    [
        (5, "5", True),
        (True, 1, True),
        (None, UNDEFINED, True),
        (None, 0, False),
        ("", 0, True),
        ("a", "A", False),
        (NAN, NAN, False),
        ([1], "1", True),
    ],
)
def test_loose_equality_converts_types(left: Any, right: Any, are_same: bool) -> None:
    """Values are equal, in both orders, as by JavaScript's operator ``==``."""
    assert are_equal(left, right) is are_same
    assert are_equal(right, left) is are_same


def test_strict_equality_and_keys_distinguish_types() -> None:
    """Strict equality, as by ``===``, distinguishes types. Keys of sets do so too, but every NaN is the same key."""
    assert are_identical(1, 1.0)
    # Two lists are different objects, even if their items are equal.
    assert not any(are_identical(left, right) for left, right in ((1, True), (1, "1"), (NAN, NAN), (None, UNDEFINED), ([], [])))
    assert key_of(NAN) == key_of(-NAN)
    assert len({key_of(value) for value in (1, "1", True, None, UNDEFINED)}) == 5


def test_values_are_compared_by_number_or_text() -> None:
    """Two texts are compared as texts, and other values as numbers. A comparison without an order is NaN."""
    assert compare("10", "9") == -1
    assert compare(10, "9") == 1
    assert compare(None, 0) == 0
    assert compare("a", "b") == -1
    assert math.isnan(compare("a", 1))


def test_arithmetic_has_no_errors() -> None:
    """Division by zero is infinite, null is 0, true is 1, text is appended, and numbers beyond the largest float are infinite."""
    assert quotient(1, 0) == INF
    assert quotient(-1, 0) == -INF
    assert quotient(None, 2) == 0
    assert total("a", 1) == "a1"
    assert total(None, 2) == 2
    assert product(True, 3) == 3
    assert all(math.isnan(value) for value in (quotient(0, 0), difference(UNDEFINED, 1), product("x", 2)))
    assert total(10**400, 0) == INF


@pytest.mark.parametrize(("number", "integer"), [(0.5, 1), (-0.5, 0), (-1.5, -1), (0.49999999999999994, 0), (2.4, 2), (INF, INF)])
def test_halves_are_rounded_up(number: float, integer: float) -> None:
    """Numbers are rounded as by ``Math.round``, halves towards positive infinity."""
    assert rounded(number) == integer


def test_values_are_true_or_false_in_conditions() -> None:
    """In conditions, zero, empty text, null, undefined and NaN are false. Other values, even empty lists and objects, are true."""
    false_values: list[Any] = [0, "", None, UNDEFINED, NAN]
    assert not any(is_true(value) for value in false_values)
    true_values: list[Any] = [[], {}, "0", -1]
    assert all(is_true(value) for value in true_values)


def test_json_omits_what_it_cannot_express() -> None:
    """JSON omits undefined members. Numbers that are not finite, and undefined items of lists, are null."""
    assert json_text({"a": 1.0, "b": UNDEFINED, "c": [NAN, UNDEFINED, 1e-7, "é\n"]}) == '{"a":1,"c":[null,null,1e-7,"é\\n"]}'
    assert json_text(UNDEFINED) is UNDEFINED


def test_sorting_is_stable_with_undefined_last() -> None:
    """Sorting is stable, and undefined values are last. The difference of two texts is NaN, which counts as equal."""
    assert sorted_by([3, UNDEFINED, None, 1], difference) == [None, 1, 3, UNDEFINED]
    assert sorted_by(["b", "a"], difference) == ["b", "a"]


def test_text_is_collated() -> None:
    """Punctuation precedes digits, which precede letters. Case and accents are ignored. Digits may be compared as numbers."""
    words = ["b", "É", "e", "_x", "10", "9", " ", "-y", "B"]
    assert sorted_by(words, compare_texts) == [" ", "_x", "-y", "10", "9", "b", "B", "É", "e"]
    assert compare_texts("a10", "a9") == -1
    assert compare_texts("a10", "a9", is_numeric=True) == 1


@given(st.floats())
def test_numbers_are_the_same_after_conversion_to_text(number: float) -> None:
    """A number that is written as text is read as the same number."""
    parsed_number = number_of(text_of(number))
    assert parsed_number == number or (math.isnan(parsed_number) and math.isnan(number))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_text_is_read_as_the_same_value(value: Any) -> None:
    """A value that is written as JSON is read as the same value."""
    assert json.loads(str(json_text(value))) == value

"""Widths of texts, compared with those of the font of pictures."""

import string

import pytest

from dashwright.expressions.pictures.svg import text_width
from dashwright.expressions.pictures.text_widths import character_width


@pytest.mark.parametrize(
    # The widths of the letters of Arimo, in a font of 10 pixels.
    ("text", "width"),
    [("", 0), ("iiiii", 5 * 2.22), ("MMMMM", 5 * 8.33), ("99.9 %", 3 * 5.56 + 2 * 2.78 + 8.89), ("…", 10)],
)
def test_width_is_that_of_the_letters(text: str, width: float) -> None:
    """The width of a text is the sum of the widths of its letters in the font."""
    assert text_width(text, 10) == pytest.approx(width)


def test_letters_with_accents_are_as_wide_as_without() -> None:
    """An accent does not change the width of its letter."""
    assert text_width("\u00c9t\u00e9", 10) == text_width("Ete", 10)


def test_characters_that_change_others_have_no_width() -> None:
    """Variation selectors and combining accents add no width."""
    assert text_width("\u26a0\ufe0f e\u0301", 10) == text_width("\u26a0 e", 10)


def test_every_printable_character_of_ascii_is_known() -> None:
    """Each printable character of ASCII has a plausible width. Digits are equally wide, so that numbers in columns are aligned."""
    assert all(0.1 < character_width(character) < 1.1 for character in string.printable if character.isprintable())
    assert {character_width(digit) for digit in string.digits} == {0.556}


@pytest.mark.parametrize("text", ["\u4e2d", "\U0001f525", "\u0416", "\u0939", "\u2603"])
def test_other_characters_have_approximate_widths(text: str) -> None:
    """Letters of further scripts, emoji and signs have a plausible width, as a part of the size of the font."""
    assert 0.5 < character_width(text) < 1.3

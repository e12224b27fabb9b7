"""Regular expressions in JavaScript's notation, where other notations differ. Node.js has returned the expected matches."""

import pytest

from dashwright.common.errors import BadRequest
from dashwright.expressions.javascript.patterns import TextPattern


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        pytest.param(r"\Filesystem", "Filesystem", ["Filesystem"], id="escape-without-meaning"),
        pytest.param(r"\A\Z\p{L}", "AZp{L}", ["AZp{L}"], id="escapes-of-other-notations"),
        pytest.param(r"[\w-.]+", "a-b.c d", ["a-b.c", "d"], id="hyphen-after-a-named-set"),
        pytest.param(r"[[:alpha:]]", "a] :]", ["a]", ":]"], id="no-posix-class"),
        pytest.param("[a&&b]+", "a&b", ["a&b"], id="no-intersection"),
        pytest.param("[]|x", "x", ["x"], id="empty-set"),
        pytest.param("[^]", "\n", ["\n"], id="set-of-all-characters"),
        pytest.param("a{,2}", "a{,2} aa", ["a{,2}"], id="braces-without-a-minimum"),
        pytest.param("{{(.*)}}", "{{x}}", ["{{x}}"], id="braces-that-are-no-quantifier"),
        pytest.param("a$", "a\n", [], id="end-before-a-line-end"),
        pytest.param(".", "\r\u2028", [], id="dot-at-line-ends"),
        pytest.param(r"\d|\w", "٣é", [], id="digits-and-letters-outside-ascii"),
        pytest.param(r"\s", "\u00a0\ufeff", ["\u00a0", "\ufeff"], id="spaces-outside-ascii"),
        pytest.param(r"\bé", "éé", [], id="word-boundary-outside-ascii"),
        pytest.param(r"(a)|\1b", "b", ["b"], id="reference-to-a-group-without-a-match"),
        pytest.param(r"(?<n>.)\k<n>", "aab", ["aa"], id="reference-to-a-name"),
        pytest.param(r"\101\0\8", "A\x008", ["A\x008"], id="octal-escapes"),
        pytest.param(r"\x41\u0042\cJ\x", "AB\nx", ["AB\nx"], id="characters-by-number"),
        pytest.param("x*?|y", "xy", [], id="search-after-an-empty-match"),
    ],
)
def test_a_pattern_matches_as_in_javascript(pattern: str, text: str, expected: list[str]) -> None:
    """All matches that are not empty are those of JavaScript without the flags ``u`` and ``v``."""
    assert [match[0] for match in TextPattern(pattern, "g").matches(text)] == expected


@pytest.mark.parametrize(("pattern", "expected"), [("^b$", ["b"]), ("a.b", [])])
def test_lines_are_separate_with_the_flag_m(pattern: str, expected: list[str]) -> None:
    """With ``m``, ``^`` and ``$`` match at each line end of JavaScript, which ``.`` matches only with ``s``."""
    assert [match[0] for match in TextPattern(pattern, "gm").matches("a\u2028b")] == expected
    assert [match[0] for match in TextPattern("a.b", "gms").matches("a\u2028b")] == ["a\u2028b"]


@pytest.mark.parametrize("pattern", ["(", "[a", "a**", r"(?<n>", "[z-a]", "\\"])
def test_an_invalid_pattern_is_rejected_as_it_was_written(pattern: str) -> None:
    """The error of an invalid pattern quotes the pattern of the user. It has no position, which would be one in the translated pattern."""
    with pytest.raises(BadRequest, match="is invalid") as raised:
        TextPattern(pattern)
    assert repr(pattern) in str(raised.value)
    assert "position" not in str(raised.value)

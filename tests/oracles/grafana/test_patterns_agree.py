"""Matches of random regular expressions, compared with those of JavaScript."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from tests.oracles.queue import node_packages

from dashwright.common.errors import BadRequest
from dashwright.expressions.javascript.patterns import TextPattern

pytestmark = pytest.mark.oracles

_HERE: Final = Path(__file__).parent
_CASES: Final = 5_000
_TEXTS_PER_CASE: Final = 6
#: Parts of patterns, which are concatenated at random: atoms, quantifiers, escapes, groups and classes, valid or not.
_FRAGMENTS: Final = re.split(
    " ",
    r"a b C _ - 1 0 . \d \w \s \S \W \D \b \B ^ $ | * + ? *? +? ( ) < > # & ~ ' = ! , : é"
    r" \F \A \Z \z \G \h \K \X \R \p{L} \N \e \a \Q \/ \- \_ \: \. \x41 \x4 \u0041 \u00a0 \u{61} \cA \c1 \c"
    r" \0 \01 \1 \2 \8 \12 \101 \k<n> \k { } ] {,3} {2} {1,} {1,2} {x}"
    r" (a) (b)? (?:a|b) (?=a) (?!a) (?<=a) (?<!b) (?<n>a) (?<n>b)?"
    r" [] [^] [a-c] [^a-c] [\w-.] [.-\w] [a\-c] [-a] [a-] [\b] [\]a] [[a] [a&&b] [[:alpha:]] [\s\S] [^\S] [\s-] [\d-x]"
    r" [--a] [a--b] [\1] [\18] [\cA] [\c_] [\B] [+--] [\x41-\x43] [^-] [^^] [\^] [\ua]"
    " \n \r \u00a0 \u2028",
)
#: Characters of the texts: those that fragments match literally or by class.
_CHARACTERS: Final = "abcACFxkpLhZunl_-120.,{}[]()<>^$&:\\é \n\r\u00a0\u2028\0\1\b"


def random_case(random: Random) -> dict[str, Any]:
    """Return a pattern, its flags, and texts in which it is searched, one of which is the pattern."""
    pattern = "".join(random.choices(_FRAGMENTS, k=random.randint(1, 5)))
    texts = ["".join(random.choices(_CHARACTERS, k=random.randint(0, 10))) for _ in range(_TEXTS_PER_CASE)]
    return {"pattern": pattern, "flags": "g" + "".join(flag for flag in "ims" if random.random() < 0.25), "texts": [*texts, pattern]}


def matches(pattern: TextPattern, text: str) -> list[list[Any]]:
    """Return the position, the text and the groups of each match that is not empty."""
    return [[match.start(), match[0], *match.groups()] for match in pattern.matches(text)]


def test_patterns_match_as_in_javascript(tmp_path: Path) -> None:
    """A pattern that JavaScript compiles has the same matches and groups in ``TextPattern``."""
    random = Random(1)
    cases = [random_case(random) for _ in range(_CASES)]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))
    javascript_results = json.loads(node_packages.run(node_packages.install_packages(_HERE), _HERE / "match.mjs", str(path)))
    differing = []
    for case, expected in zip(cases, javascript_results, strict=True):
        if expected is None:  # JavaScript does not compile the pattern.
            continue
        try:
            pattern = TextPattern(case["pattern"], case["flags"])
        except BadRequest as error:
            differing.append(f"{case}: {error}")
            continue
        # The second item of a match is its text. Empty matches are not compared.
        expected_matches = [[match for match in text_matches if match[1]] for text_matches in expected]
        if expected_matches != [matches(pattern, text) for text in case["texts"]]:
            differing.append(str(case))
    assert not differing, "\n".join([f"{len(differing)} of {len(cases)}", *differing[:10]])

"""The files of a repository that are synced."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.jobs.selection import ALL_FILES, Pattern, Selection


@pytest.mark.parametrize(
    ("pattern", "covered", "others"),
    [
        ("*.json", ["a.json", "x/y/a.json"], ["a.yaml", "a.json.md"]),
        ("node_modules", ["node_modules/a.json", "x/node_modules/y/a.json", "node_modules"], ["node_modules2/a.json"]),
        ("dist/", ["dist/a.json", "x/dist/y.json", "dist/"], ["dist", "dist.json"]),
        ("/a.json", ["a.json"], ["x/a.json"]),
        ("/dist/", ["dist/a.json"], ["x/dist/a.json"]),
        ("dashboards/**", ["dashboards/a.json", "dashboards/x/y.json", "dashboards/"], ["x/dashboards/a.json", "dashboards"]),
        ("dashboards/*.json", ["dashboards/a.json"], ["dashboards/x/a.json", "x/dashboards/a.json"]),
        ("**/prod/*.json", ["prod/a.json", "x/y/prod/a.json"], ["prod/x/a.json"]),
        ("a/**/b.json", ["a/b.json", "a/x/y/b.json"], ["b.json", "x/a/b.json"]),
        ("MySQL (new)/?[0-9]*.json", ["MySQL (new)/a1.json", "MySQL (new)/x7 y.json"], ["MySQL (new)/1a.json"]),
        ("**", ["a.json", "x/y.json"], []),
    ],
)
def test_patterns_mean_what_they_mean_in_a_gitignore(pattern: str, covered: list[str], others: list[str]) -> None:
    parsed = Pattern.parse(pattern)
    assert [path for path in covered if not parsed.covers(path)] == []
    assert [path for path in others if parsed.covers(path)] == []


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "must name a file or directory"),
        ("//", "must name a file or directory"),
        ("a" * 501, "500 characters"),
        ("!a", "other list"),
        ("../a", "'.' or '..'"),
        ("a\nb", "control character"),
    ],
)
def test_what_is_no_pattern(pattern: str, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        Pattern.parse(pattern)


def test_what_is_excluded_is_not_included() -> None:
    """Without include all files are taken; exclude wins."""
    assert ALL_FILES.takes("any/thing.json")
    chosen = Selection.of(["dashboards/**", "*.yaml"], ["**/old/"])
    assert [path for path in ("dashboards/a.json", "x/b.yaml", "dashboards/old/a.json", "c.json", "old/b.yaml") if chosen.takes(path)] == [
        "dashboards/a.json",
        "x/b.yaml",
    ]


PARTS = st.sampled_from(["a", "b", "a.json", "ab.json"])
FILES = st.lists(PARTS, min_size=1, max_size=5).map("/".join)
PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "**", "a*", "?", "*.json"]), min_size=1, max_size=4).map("/".join)
LISTS = st.lists(st.builds(str.__add__, PATTERNS, st.sampled_from(["", "/"])), max_size=3)


@given(FILES, LISTS, LISTS)
def test_a_file_is_taken_only_from_directories_that_are(file: str, include: list[str], exclude: list[str]) -> None:
    """Otherwise a skipped directory would hold files that should be synced."""
    chosen = Selection.of(include, exclude)
    if chosen.takes(file):
        assert all(chosen.takes(directory) for directory in paths.directories(file))


@given(FILES, PATTERNS)
def test_a_pattern_is_the_expression_that_it_stands_for(file: str, pattern: str) -> None:
    """This covers patterns with a slash that a regular expression can represent."""
    if "/" not in pattern:
        return
    text = re.escape(pattern.removesuffix("/**")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    text = text.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    inside = re.fullmatch(text + "/.*", file) is not None
    itself = not pattern.endswith("/**") and re.fullmatch(text, file) is not None
    assert Pattern.parse(pattern).covers(file) == (inside or itself)


def test_a_long_pattern_takes_no_longer_than_a_short_one() -> None:
    """Neither the number of stars nor the length of the name matters."""
    pattern = Pattern.parse("*a" * 200 + "b")
    started = time.perf_counter()
    assert not pattern.covers("a" * 1000)
    assert time.perf_counter() - started < 1

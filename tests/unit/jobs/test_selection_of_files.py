"""The files of a repository that are synced."""

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.jobs.selection import ALL_FILES, Pattern, Selection


@pytest.mark.parametrize(
    ("pattern", "matching", "not_matching"),
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
def test_patterns_work_as_in_a_gitignore(pattern: str, matching: list[str], not_matching: list[str]) -> None:
    """A pattern matches the paths that it would match in a ``.gitignore``."""
    parsed = Pattern.parse(pattern)
    for path in matching:
        assert parsed.matches(path), path
    for path in not_matching:
        assert not parsed.matches(path), path


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
def test_invalid_patterns_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        Pattern.parse(pattern)


def test_exclude_takes_precedence() -> None:
    """Without patterns, all files are selected. A file that both lists match is not selected."""
    assert ALL_FILES.includes("any/thing.json")
    selection = Selection.from_patterns(["dashboards/**", "*.yaml"], ["**/old/"])
    assert selection.includes("dashboards/a.json")
    assert selection.includes("x/b.yaml")
    assert not selection.includes("c.json")
    # Both lists match these paths.
    assert not selection.includes("dashboards/old/a.json")
    assert not selection.includes("old/b.yaml")


PARTS = st.sampled_from(["a", "b", "a.json", "ab.json"])
FILES = st.lists(PARTS, min_size=1, max_size=5).map("/".join)
PATTERNS = st.lists(st.sampled_from(["a", "b", "*", "**", "a*", "?", "*.json"]), min_size=1, max_size=4).map("/".join)
PATTERNS_OF_FILES_OR_DIRECTORIES = st.tuples(PATTERNS, st.sampled_from(["", "/"])).map("".join)
LISTS = st.lists(PATTERNS_OF_FILES_OR_DIRECTORIES, max_size=3)


@given(FILES, LISTS, LISTS)
def test_files_are_selected_only_in_selected_directories(file: str, include: list[str], exclude: list[str]) -> None:
    """If a file is selected, each directory above it is selected, too."""
    selection = Selection.from_patterns(include, exclude)
    if selection.includes(file):
        assert all(selection.includes(directory) for directory in paths.directories(file))


@given(FILES, PATTERNS)
@example("a/a", "a/**/**")
def test_a_pattern_equals_its_regular_expression(file: str, pattern: str) -> None:
    """A pattern with a slash matches the same paths as a regular expression, if one can represent it."""
    if "/" not in pattern:
        return
    # Several final ``/**`` have the meaning of one.
    pattern = re.sub(r"(/\*\*)+$", "/**", pattern)
    text = re.escape(pattern.removesuffix("/**")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    text = text.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    is_below = re.fullmatch(text + "/.*", file) is not None
    is_equal = not pattern.endswith("/**") and re.fullmatch(text, file) is not None
    assert Pattern.parse(pattern).matches(file) == (is_below or is_equal)


def test_matching_takes_linear_time() -> None:
    """A pattern is matched in linear time, for any number of stars and any length of the name."""
    # A matcher that tries each position of each star would never end.
    pattern = Pattern.parse("*a" * 200 + "b")
    started = time.perf_counter()
    assert not pattern.matches("a" * 1000)
    assert time.perf_counter() - started < 1

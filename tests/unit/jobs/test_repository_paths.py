"""Paths inside a repository."""

from itertools import permutations

import pytest

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths

INVALID_CHARACTERS = "path contains invalid characters"
HIDDEN_ERROR = "path contains hidden file or directory (starting with dot)"
TRAVERSAL = "path contains traversal attempt (./ or ../)"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "path/to/file.json",
        "my-path/to_file/r.json",
        "d/" * 500,
        "a" * 1024,
        "größe/日本　語.json",
        "v1.2/a..b.json",
        "a b/ c.json",
        "Node (experimental)/100%20 + 5%, a & b's #1; c=d @ e! [f]{g} ~h.json",
        'what?/<script>|"x"*:`$^.yml',
        "\N{ROCKET}/\N{WOMAN}\u200d\N{PERSONAL COMPUTER}.json",
        "%41/%2/%.json",
    ],
)
def test_safe_path_is_accepted(path: str) -> None:
    """Every visible character is allowed, in 1024 characters; joined emoji are one character each."""
    paths.check_path(path)
    assert paths.is_valid(path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a/" * 600 + "%2e", "path too long"),
        ("path/to/%2e%2e/file.json", "path contains %2e"),
        ("path/to/%2E/file.json", "path contains %2E"),
        ("a%2Fb.json", "path contains %2F"),
        ("a%5cb.json", "path contains %5c"),
        ("a%252525%2525252eb.json", "path contains %2525252e"),
        ("a%00b.json", "path contains %00"),
        ("a%0Ab.json", "path contains %0A"),
        ("path\\to\\file.json", INVALID_CHARACTERS),
        ("path/to/\u202egpj.json", INVALID_CHARACTERS),
        ("path/a\nb.json", INVALID_CHARACTERS),
        ("path/a\x7fb.json", INVALID_CHARACTERS),
        ("path/a\u200bb.json", INVALID_CHARACTERS),
        ("path/a\u2028b.json", INVALID_CHARACTERS),
        ("path//to/../file.json", "path contains double slashes"),
        ("/etc/" + "d/" * 9, "not relative"),
        ("../.path/file.json", TRAVERSAL),
        ("path/to/..", TRAVERSAL),
        ("./path/file.json", TRAVERSAL),
        ("path/to/./", TRAVERSAL),
        ("path/to/.hidden", HIDDEN_ERROR),
        (".env/config.json", HIDDEN_ERROR),
    ],
)
def test_unsafe_path_is_refused_for_its_first_fault(path: str, reason: str) -> None:
    """An unsafe path is refused for its first fault.

    The order is: length, encoded, invisible, double slash, leading slash, traversal, hidden.
    """
    with pytest.raises(BadRequest) as refusal:
        paths.check_path(path)
    assert refusal.value.message.startswith(reason)
    assert not paths.is_valid(path)


@pytest.mark.parametrize("path", ["a/b/c.json", "a/b/"])
def test_directories_below_one_another_are_bounded(path: str) -> None:
    """The error of a path that is too deep names the limit and its setting; a file counts the directories above it."""
    paths.check_depth(path, 2)
    with pytest.raises(BadRequest, match=r"2 directories, at most 1 become folders \(DASHWRIGHT_FOLDER_DEPTH\)"):
        paths.check_depth(path, 1)


@pytest.mark.parametrize(("path", "is_resource"), [("a.json", True), ("a.yaml", True), ("b/a.yml", True), ("a", False), ("A.JSON", False)])
def test_the_suffix_decides_what_is_a_resource(path: str, is_resource: bool) -> None:
    """Only .json, .yaml and .yml in lower case are resources."""
    assert paths.is_resource(path) is is_resource


def test_plan_order_is_deepest_first_then_by_name() -> None:
    """Paths of a plan are ordered by depth, the deepest first, and then by name. A directory follows everything below it."""
    expected = ["zzz/longest/path/here.json", "x/y/file.json", "x/y/z/", "folder1/a.json", "short/file.yml", "a.json", "folder1/"]
    for unsorted_paths in permutations(expected):
        assert sorted(unsorted_paths, key=paths.plan_order) == expected


def test_directories_lead_from_a_path_to_the_root() -> None:
    """The directories of a file are all above it; those of a directory include itself, and never the root."""
    assert list(paths.directories("a/b/c.json")) == ["a/b/", "a/"]
    assert list(paths.directories("a/b/")) == ["a/b/", "a/"]
    assert list(paths.directories("c.json")) == []


def test_all_directories_of_several_paths_are_found() -> None:
    """The directories of several paths are those of each of them, in any order of the paths."""
    for ordered in permutations(["a/b/c/d.json", "a/b/", "a/x/y.json", "e.json", "a/"]):
        assert paths.all_directories(ordered) == {"a/", "a/b/", "a/b/c/", "a/x/"}


@pytest.mark.parametrize(("path", "cleaned"), [("/test/", "/test"), ("\\test/here", "/test/here"), ("//a", "/a"), ("a//b/./", "a/b")])
def test_clean_gives_the_shortest_equal_path(path: str, cleaned: str) -> None:
    """A cleaned path has no slash at the end, no empty parts, and slashes instead of backslashes."""
    assert paths.clean(path) == cleaned


@pytest.mark.parametrize(
    ("directory", "path", "full_path"),
    [("", "a.json", "a.json"), ("x/y", "a.json", "x/y/a.json"), ("x", "in/", "x/in/"), ("x", "x/a.json", "x/x/a.json")],
)
def test_a_relative_path_can_be_joined_again(directory: str, path: str, full_path: str) -> None:
    """A path inside a directory is the same after it was made relative and joined again, for any names."""
    assert paths.join(directory, path) == full_path
    assert paths.relative_to(directory, full_path) == path


@pytest.mark.parametrize("path", ["x", "xy/a.json", "a/x/b.json", "", "X/a.json"])
def test_paths_outside_have_no_relative_path(path: str) -> None:
    """A path outside of the directory has no relative path, even if its name starts with that of the directory."""
    assert paths.relative_to("x", path) == ""

"""Strategies for histories of a tree of files, in which each revision follows from the previous one by edits."""

from collections.abc import Callable, Mapping, Sequence

import orjson
from hypothesis import strategies as st

Files = Mapping[str, bytes]
Edit = Callable[[Files], Files]

_DIRECTORIES = st.sampled_from(["", "a/", "a/b/", "a/b/c/", "d/", "d (e) & #1/", ".hidden/", "a/.git/", "1.json/"])
_NAMES = st.sampled_from(["1.json", "2.json", "3.yaml", "x.md", ".keep", ".dot.json"])
_ODD_PATHS = st.sampled_from(["odd\\.json", "bad%2e/1.json", "a/bad%2F/x.md"])
PATHS = st.tuples(_DIRECTORIES, _NAMES).map("".join)
VALID_DASHBOARDS = st.builds(
    lambda name, title: orjson.dumps({"uid": name, "title": title, "panels": []}),
    st.sampled_from(["n1", "n2", "n3", "n4", "n5", "n6", "n7", ""]),
    st.sampled_from(["T", "U"]),
)
BROKEN_FILES = st.sampled_from([b"{", b'{"kind": "Dashboard"}', b'{"panels": []}'])
FILES_WITHOUT_DASHBOARD = st.sampled_from([b"", b"[]", b'{"name": "a package"}', b"{} // no dashboard"])


def _write(path: str, body: bytes) -> Edit:
    """Return an edit that writes a file, in place of a directory at its path and of files at the paths of directories above it."""

    def edit(files: Files) -> Files:
        directories_above = {path[:end] for end in range(len(path)) if path[end] == "/"}
        remaining = {other: file for other, file in files.items() if other not in directories_above and not other.startswith(f"{path}/")}
        return {**remaining, path: body}

    return edit


def _remove(index: int) -> Edit:
    """Return an edit that removes a file, see ``_pick``."""

    def edit(files: Files) -> Files:
        removed = _pick(files, index)
        return {path: body for path, body in files.items() if path != removed}

    return edit


def _rename(index: int, path: str) -> Edit:
    """Return an edit that moves a file, see ``_pick``, to a path."""

    def edit(files: Files) -> Files:
        moved = _pick(files, index)
        return _write(path, files[moved])(_remove(index)(files)) if moved else files

    return edit


def _move(source: str, target: str) -> Edit:
    """Return an edit that moves a whole directory, and deletes files that are at its new paths."""

    def edit(files: Files) -> Files:
        if not source or target.startswith(source):
            return files
        after: Files = {path: body for path, body in files.items() if not path.startswith(source)}
        for path, body in files.items():
            if path.startswith(source):
                after = _write(target + path.removeprefix(source), body)(after)
        return after

    return edit


def _pick(files: Files, index: int) -> str:
    """Return the path of a file for any index; empty without a file."""
    return sorted(files)[index % len(files)] if files else ""


def histories(bodies: st.SearchStrategy[bytes], *, with_odd_names: bool) -> st.SearchStrategy[list[Files]]:
    """Return a strategy for revisions of a tree. Its files have the ``bodies``, and with odd names, some have paths that a sync refuses."""
    # One of ten paths is odd.
    paths = st.one_of(*[PATHS] * 9, _ODD_PATHS) if with_odd_names else PATHS
    index = st.integers(0, 20)
    edits = st.one_of(
        # Twice, so that files are written more often than they are removed.
        st.builds(_write, paths, bodies),
        st.builds(_write, paths, bodies),
        st.builds(_remove, index),
        st.builds(_rename, index, paths),
        st.builds(_move, _DIRECTORIES, _DIRECTORIES),
    )
    commits = st.lists(st.lists(edits, min_size=1, max_size=3), min_size=1, max_size=8)
    return st.builds(_revisions, st.lists(st.builds(_write, PATHS, bodies), max_size=8), commits)


def _revisions(first: Sequence[Edit], commits: Sequence[Sequence[Edit]]) -> list[Files]:
    """Return the files after the first edits, and then after the edits of each commit."""
    files: Files = {}
    result = []
    for edits in (first, *commits):
        for edit in edits:
            files = edit(files)
        result.append(files)
    return result

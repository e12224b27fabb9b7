"""Paths inside a repository: which are safe, which are hidden, which hold resources, and in what order they are worked on.

A path is relative, its parts are joined by ``/``, and a directory ends in ``/``. The rules and their texts are those that clients of the
files API know; where a tree is read (not a request), a space is allowed, too.
"""

import posixpath
import re
from collections.abc import Iterator

from dashwright.common.errors import BadRequest

LONGEST_PATH = 1024
DEEPEST_PATH = 8
KEEP = ".keep"
"""The file that keeps a directory which holds nothing else."""
RESOURCE_SUFFIXES = (".json", ".yaml", ".yml")

_PLAIN = re.compile(r"[\w./-]*", re.ASCII)


def check_path(path: str, *, spaces: bool = False) -> None:
    """Raises BadRequest when ``path`` is not safe inside a repository; the empty path is its root.

    Letters and digits of any script, ``_``, ``-`` and ``.`` may stand in a part, with ``spaces`` a space as well.
    """
    if fault := _fault(path, spaces):
        raise BadRequest(fault)


def _fault(path: str, spaces: bool) -> str | None:
    parts = path.split("/")
    if len(path) > LONGEST_PATH:
        return "path too long"
    if "%" in path:
        return "path contains percent character which could be used for URL encoding attacks"
    if not _PLAIN.fullmatch(path) and not all(_allowed(char, spaces) for char in path):
        return "path contains invalid characters"
    if "//" in path:
        return "path contains double slashes"
    if path.startswith("/"):
        return "not relative"
    if len(parts) > DEEPEST_PATH:
        return "path too deep"
    if any(part in (".", "..") for part in parts):
        return "path contains traversal attempt (./ or ../)"
    if any(part.startswith(".") for part in parts):
        return "path contains hidden file or directory (starting with dot)"
    return None


def _allowed(char: str, spaces: bool) -> bool:
    if char.isascii():
        return char.isalnum() or char in "_-./" or (spaces and char == " ")
    return char.isprintable()


def is_hidden(path: str) -> bool:
    """Whether a part of the path begins with a dot; ``.`` and ``..`` are not names and so not hidden."""
    return any(part.startswith(".") and part not in (".", "..") for part in path.split("/"))


def is_directory(path: str) -> bool:
    return path == "" or path.endswith("/")


def is_resource(path: str) -> bool:
    """Whether the name is one of a file that holds a resource; the case of the suffix counts."""
    return path.endswith(RESOURCE_SUFFIXES)


def is_markdown(path: str) -> bool:
    """Whether the name is one of a text for people, which holds no resource; the case of the suffix does not count."""
    return path.lower().endswith(".md")


def parent(path: str) -> str:
    """The directory that holds the file or directory: ``a/`` for ``a/b.json`` and for ``a/b/``, the root (empty) for ``a/``."""
    head, slash, _ = path.rstrip("/").rpartition("/")
    return head + slash


def directories(path: str) -> Iterator[str]:
    """The directory itself or the one that holds the file, and all above it, deepest first, without the root."""
    directory = path if is_directory(path) else parent(path)
    while directory:
        yield directory
        directory = parent(directory)


def visible_directory(path: str) -> str:
    """The deepest directory on the way to ``path`` that is not hidden."""
    parts = path.split("/")[:-1]
    visible = next((index for index, part in enumerate(parts) if part.startswith(".")), len(parts))
    return "".join(f"{part}/" for part in parts[:visible])


def join(directory: str, path: str) -> str:
    """A path inside a directory, as it is from where that lies; the directory has no slash at its end, and is empty where it lies there."""
    return f"{directory}/{path}" if directory else path


def within(directory: str, path: str) -> str:
    """The way back from ``join``; empty for what lies outside the directory."""
    if not directory:
        return path
    return path.removeprefix(f"{directory}/") if path.startswith(f"{directory}/") else ""


def plan_order(path: str) -> tuple[int, str]:
    """Sorts deepest first, and by name where the depth is the same."""
    return -len(path.rstrip("/").split("/")), path


def clean(path: str) -> str:
    """The shortest equal path: no empty, ``.`` or resolvable ``..`` parts, no slash at the end, back-slashes turned."""
    turned = path.replace("\\", "/")
    cleaned = posixpath.normpath(turned)
    return "/" + cleaned.lstrip("/") if cleaned.startswith("/") else cleaned

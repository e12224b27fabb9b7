"""Paths inside a repository: which are safe, which are hidden, which hold resources, and in what order they are worked on.

A path is relative, its parts are joined by ``/``, and a directory ends in ``/``. A part may hold every character that is seen, and none
that leads elsewhere once a program decodes it.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterator

from dashwright.common.errors import BadRequest

LONGEST_PATH = 1024
DEEPEST_WALK = 64
"""Directories below one another that are looked into; the folders that are made of them have a limit of their own."""
KEEP = ".keep"
"""The file that keeps a directory which holds nothing else."""
RESOURCE_SUFFIXES = (".json", ".yaml", ".yml")

_PLAIN = re.compile(r"[\w ./()&+',=;@!#~{}\[\]-]*", re.ASCII)
_ENCODED = re.compile(r"%(?:25)*(?:2e|2f|5c|[01][0-9a-f]|7f)", re.IGNORECASE)
"""A dot, slash, backslash or control character, percent-encoded once or several times."""
_JOINERS = "\u200c\u200d"
"""Invisible characters that belong to words of some scripts and to emoji."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of control characters, marks of direction, halves of characters and line breaks."""


def check_path(path: str) -> None:
    """Raise BadRequest when ``path`` is not safe inside a repository; the empty path is its root."""
    if fault := _fault(path):
        raise BadRequest(fault)


def check_depth(path: str, deepest: int) -> None:
    """Raise BadRequest for a file or directory in more than ``deepest`` directories, each of which would be a folder."""
    depth = path.count("/")
    if depth > deepest:
        raise BadRequest(f"path too deep: {depth} directories, at most {deepest} become folders (DASHWRIGHT_FOLDER_DEPTH)")


def _fault(path: str) -> str | None:
    parts = path.split("/")
    if len(path) > LONGEST_PATH:
        return "path too long"
    if found := _ENCODED.search(path):
        return f"path contains {found[0]}, an encoded dot, slash or control character: rename the file or directory"
    if not _PLAIN.fullmatch(path) and (odd := next((char for char in path if not _is_seen(char)), "")):
        return f"path contains invalid characters: {odd!a} is a control character, an invisible mark or a backslash"
    if "//" in path:
        return "path contains double slashes"
    if path.startswith("/"):
        return "not relative"
    if any(part in (".", "..") for part in parts):
        return "path contains traversal attempt (./ or ../)"
    if any(part.startswith(".") for part in parts):
        return "path contains hidden file or directory (starting with dot)"
    return None


def _is_seen(char: str) -> bool:
    return char in _JOINERS or (char != "\\" and unicodedata.category(char) not in _UNSEEN)


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

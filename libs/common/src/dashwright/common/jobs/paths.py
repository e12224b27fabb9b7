"""Paths inside a repository: which are safe, which are hidden, which hold resources, and their processing order.

A path is relative, its parts are joined by ``/``, and a directory ends in ``/``. A part may contain every visible
character, but nothing that another program would decode to a separator.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterator

from dashwright.common.errors import BadRequest

LONGEST_PATH = 1024
#: Nesting of directories that are examined. Folders made of them have a limit of their own.
DEEPEST_WALK = 64
#: File that keeps an otherwise empty directory in git.
KEEP = ".keep"
RESOURCE_SUFFIXES = (".json", ".yaml", ".yml")

_PLAIN = re.compile(r"[\w ./()&+',=;@!#~{}\[\]-]*", re.ASCII)
#: Dot, slash, backslash or control character, percent-encoded once or several times.
_ENCODED = re.compile(r"%(?:25)*(?:2e|2f|5c|[01][0-9a-f]|7f)", re.IGNORECASE)
#: Invisible characters that are part of words in some scripts and of emoji.
_JOINERS = "\u200c\u200d"
#: Unicode categories of control characters, direction marks, surrogates and line breaks.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


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
    """Return whether a part of the path begins with a dot. ``.`` and ``..`` are not names, so they are not hidden."""
    return any(part.startswith(".") and part not in (".", "..") for part in path.split("/"))


def is_directory(path: str) -> bool:
    """Return whether the path is a directory."""
    return path == "" or path.endswith("/")


def is_resource(path: str) -> bool:
    """Return whether a file of that name holds a resource. The suffix is case-sensitive."""
    return path.endswith(RESOURCE_SUFFIXES)


def is_markdown(path: str) -> bool:
    """Return whether a file of that name is Markdown, which holds no resource. The suffix is not case-sensitive."""
    return path.lower().endswith(".md")


def parent(path: str) -> str:
    """Return the directory of a path: ``a/`` for ``a/b.json`` and for ``a/b/``, the root (empty) for ``a/``."""
    head, slash, _ = path.rstrip("/").rpartition("/")
    return head + slash


def directories(path: str) -> Iterator[str]:
    """Yield the directory itself or that of the file, and all above it, deepest first, without the root."""
    directory = path if is_directory(path) else parent(path)
    while directory:
        yield directory
        directory = parent(directory)


def join(directory: str, path: str) -> str:
    """Return a path inside ``directory`` relative to the directory's parent. ``directory`` has no trailing slash; empty: the root."""
    return f"{directory}/{path}" if directory else path


def within(directory: str, path: str) -> str:
    """Return a path relative to ``directory``, the inverse of ``join``; empty for a path outside of it."""
    if not directory:
        return path
    return path.removeprefix(f"{directory}/") if path.startswith(f"{directory}/") else ""


def plan_order(path: str) -> tuple[int, str]:
    """Return the sort key of a path: deepest first, then by name."""
    return -len(path.rstrip("/").split("/")), path


def clean(path: str) -> str:
    """Return the shortest equal path: no empty, ``.`` or resolvable ``..`` parts, no trailing slash, no backslashes."""
    turned = path.replace("\\", "/")
    cleaned = posixpath.normpath(turned)
    return "/" + cleaned.lstrip("/") if cleaned.startswith("/") else cleaned

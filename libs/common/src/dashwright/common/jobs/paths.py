"""Rules of paths inside a repository: safe paths, hidden paths, paths of resources, and their processing order.

A path is relative, its parts are joined by ``/``, and a directory ends in ``/``. A part may contain every visible
character except the backslash. Percent-encoded dots and separators are refused, because another program could decode them.
"""

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator

from dashwright.common.errors import BadRequest

MAX_PATH_LENGTH = 1024
#: Maximum nesting of directories that are examined. The nesting of folders has a limit of its own.
MAX_WALK_DEPTH = 64
#: File that keeps an otherwise empty directory in git.
KEEP_FILE = ".keep"
#: File with the name and title of the folder of its directory.
FOLDER_FILE = "_folder.json"
RESOURCE_SUFFIXES = (".json", ".yaml", ".yml")

#: A path with only these characters is accepted without a check of each one.
_PLAIN = re.compile(r"[\w ./()&+',=;@!#~{}\[\]-]*", re.ASCII)
#: Dot, slash, backslash or control character, percent-encoded once or several times.
_ENCODED = re.compile(r"%(?:25)*(?:2e|2f|5c|[01][0-9a-f]|7f)", re.IGNORECASE)
#: Invisible characters that are part of words in some scripts and of emoji.
_JOINERS = "\u200c\u200d"
#: Unicode categories of control characters, direction marks, surrogates and line breaks.
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def check_path(path: str) -> None:
    """Raise BadRequest if ``path`` is not safe inside a repository. The empty path is the root."""
    if fault := _fault(path):
        raise BadRequest(fault)


def check_depth(path: str, max_depth: int) -> None:
    """Raise BadRequest for a path in more than ``max_depth`` directories, since each directory becomes a folder."""
    depth = path.count("/")
    if depth > max_depth:
        raise BadRequest(f"path too deep: {depth} directories, at most {max_depth} become folders (DASHWRIGHT_FOLDER_DEPTH)")


def is_valid(path: str) -> bool:
    """Return whether ``check_path`` accepts the path."""
    return _fault(path) is None


def _fault(path: str) -> str | None:
    """Return why a path is not safe, or None if it is."""
    if len(path) > MAX_PATH_LENGTH:
        return "path too long"
    if encoded := _ENCODED.search(path):
        return f"path contains {encoded[0]}, an encoded dot, slash or control character: rename the file or directory"
    if not _PLAIN.fullmatch(path) and (invalid := next((char for char in path if not _is_permitted(char)), "")):
        return f"path contains invalid characters: {invalid!a} is a control character, an invisible mark or a backslash"
    if "//" in path:
        return "path contains double slashes"
    if path.startswith("/"):
        return "not relative"
    if not path.startswith(".") and "/." not in path:
        return None
    if any(part in (".", "..") for part in path.split("/")):
        return "path contains traversal attempt (./ or ../)"
    return "path contains hidden file or directory (starting with dot)"


def _is_permitted(char: str) -> bool:
    """Return whether a path may contain a character."""
    return char in _JOINERS or (char != "\\" and unicodedata.category(char) not in _INVISIBLE_CATEGORIES)


def is_hidden(path: str) -> bool:
    """Return whether a part of the path begins with a dot. ``.`` and ``..`` are not names, so they are not hidden."""
    # The first condition is fast, and false for most paths.
    return ("/." in path or path.startswith(".")) and any(part.startswith(".") and part not in (".", "..") for part in path.split("/"))


def is_directory(path: str) -> bool:
    """Return whether the path is a directory."""
    return path == "" or path.endswith("/")


def is_resource(path: str) -> bool:
    """Return whether a file of this name contains a resource. The suffix is case-sensitive."""
    # In the root, a folder file has no effect, but it is not a resource either.
    return path.endswith(RESOURCE_SUFFIXES) and path != FOLDER_FILE and not is_folder_file(path)


def is_folder_file(path: str) -> bool:
    """Return whether the file describes the folder of its directory. The root of a repository has no such file."""
    return path.endswith(f"/{FOLDER_FILE}")


def is_markdown(path: str) -> bool:
    """Return whether a file of this name is Markdown, which contains no resource. The suffix is not case-sensitive."""
    return path.lower().endswith(".md")


def parent(path: str) -> str:
    """Return the directory that contains a path, such as ``a/`` for ``a/b.json`` and ``a/b/``. The root is empty."""
    parent_path, slash, _ = path.rstrip("/").rpartition("/")
    return parent_path + slash


def directories(path: str) -> Iterator[str]:
    """Yield the directory of a path, which may be the path itself, and all its parents except the root, deepest first."""
    directory = path if is_directory(path) else parent(path)
    while directory:
        yield directory
        directory = parent(directory)


def all_directories(paths: Iterable[str]) -> set[str]:
    """Return the directories of many paths and all their parents except the root."""
    all_parents: set[str] = set()
    for path in paths:
        for directory in directories(path):
            # Its parents were added with it.
            if directory in all_parents:
                break
            all_parents.add(directory)
    return all_parents


def join(directory: str, path: str) -> str:
    """Return ``directory`` and ``path`` joined. ``directory`` has no trailing slash and is empty for the root."""
    return f"{directory}/{path}" if directory else path


def relative_to(directory: str, path: str) -> str:
    """Return ``path`` relative to ``directory``, as the inverse of ``join``. It is empty for a path outside the directory."""
    if not directory:
        return path
    return path.removeprefix(f"{directory}/") if path.startswith(f"{directory}/") else ""


def plan_order(path: str) -> tuple[int, str]:
    """Return the sort key of a path: deepest first, then by name."""
    return -path.rstrip("/").count("/"), path


def clean(path: str) -> str:
    """Return the normalized path: with slashes for backslashes, and without empty parts, ``.``, ``a/..`` and trailing slashes."""
    cleaned = posixpath.normpath(path.replace("\\", "/"))
    # normpath keeps two slashes at the beginning, as POSIX requires.
    return "/" + cleaned.lstrip("/") if cleaned.startswith("/") else cleaned

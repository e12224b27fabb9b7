"""Rules of branch names, which are those of git."""

import re
from typing import Final

MAX_BRANCH_LENGTH: Final = 255

#: The rules of ``is_branch`` except the length, as a regular expression of JSON Schema (ECMA-262).
BRANCH_PATTERN: Final = (
    r"^(?!(?:@|HEAD)$)(?![-/.]|refs/)(?![\s\S]*(?:\.\.|@\{|//|/\.|\.lock(?:/|$)))"
    r"[^\x00-\x20\x7f~^:?*\[\]\\]*[^\x00-\x20\x7f~^:?*\[\]\\/.]$"
)

_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\]\\]|\.\.|@\{|//")


def is_branch(name: str) -> bool:
    """Return whether ``name`` is a valid and unambiguous branch name.

    With a branch called ``refs/heads/main``, a push to that name is ambiguous to git: it may mean this branch or ``main``.
    """
    if not name or len(name) > MAX_BRANCH_LENGTH or name in ("@", "HEAD") or _FORBIDDEN.search(name):
        return False
    if name.startswith(("-", "/", "refs/")) or name.endswith(("/", ".")):
        return False
    return not any(component.startswith(".") or component.endswith(".lock") for component in name.split("/"))

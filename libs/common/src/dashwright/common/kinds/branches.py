"""Names of branches, by the rules of git."""

import re
from typing import Final

LONGEST: Final = 255

_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\]\\]|\.\.|@\{|//")


def is_branch(name: str) -> bool:
    """Return whether ``name`` is a valid and unambiguous branch name.

    With a branch called ``refs/heads/main``, git cannot tell whether a push to that name means this branch or ``main``.
    """
    if not name or len(name) > LONGEST or name in ("@", "HEAD") or _FORBIDDEN.search(name):
        return False
    if name.startswith(("-", "/", "refs/")) or name.endswith(("/", ".")):
        return False
    return not any(part.startswith(".") or part.endswith(".lock") for part in name.split("/"))

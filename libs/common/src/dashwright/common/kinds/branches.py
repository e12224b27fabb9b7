"""Names of branches, by the rules that git itself has for them."""

import re
from typing import Final

LONGEST: Final = 255

_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\]\\]|\.\.|@\{|//")


def is_branch(name: str) -> bool:
    """Whether a branch can have that name, and nothing else be meant by it.

    Where there is a branch ``refs/heads/main``, git does not know any more which one is pushed to by that name, or by ``main``.
    """
    if not name or len(name) > LONGEST or name in ("@", "HEAD") or _FORBIDDEN.search(name):
        return False
    if name.startswith(("-", "/", "refs/")) or name.endswith(("/", ".")):
        return False
    return not any(part.startswith(".") or part.endswith(".lock") for part in name.split("/"))

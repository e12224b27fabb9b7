"""Names of branches, by the rules that git itself has for them."""

import re
from typing import Final

LONGEST: Final = 255

_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\]\\]|\.\.|@\{|//")


def is_branch(name: str) -> bool:
    """Whether a branch can have that name."""
    if not name or len(name) > LONGEST or name == "@" or _FORBIDDEN.search(name):
        return False
    if name.startswith(("-", "/")) or name.endswith(("/", ".")):
        return False
    return not any(part.startswith(".") or part.endswith(".lock") for part in name.split("/"))

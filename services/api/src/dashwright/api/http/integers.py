"""Whole numbers in paths and queries, read as existing clients' servers read them."""

import re
from typing import Final

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,4000}")
_LEAST: Final = -(2**63)
_MOST: Final = 2**63 - 1


def parse_integer(text: str) -> int | None:
    """The number that ``text`` is: ASCII digits, perhaps after a sign, within 64 bits. None for anything else.

    ``int()`` alone would take blanks, underscores and digits of other scripts.
    """
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if _LEAST <= number <= _MOST else None

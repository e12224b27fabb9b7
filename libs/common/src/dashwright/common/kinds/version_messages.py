"""Messages of versions that have a meaning."""

import re
from typing import Final

_RESTORE_MESSAGE: Final = re.compile(r"Restored from version ([1-9][0-9]{0,17})")


def restored_generation(message: str) -> int | None:
    """Return the generation in a message such as ``Restored from version 3``, with which Grafana's clients mark a restore, or None."""
    match = _RESTORE_MESSAGE.fullmatch(message)
    return None if match is None else int(match[1])

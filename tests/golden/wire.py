"""Answers as they lie in files: what clients were promised, byte for byte.

``UPDATE_GOLDEN=1 make test`` writes them anew, to be read before they are committed; where ``CI`` is set that is refused.
"""

import os
from pathlib import Path

_FOLDER = Path(__file__).parent


def check(name: str, answered: bytes) -> None:
    """Fails where the file of this name holds anything else."""
    file = _FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        if os.environ.get("CI"):
            raise AssertionError("golden files are not written where CI is set; update them on a machine of your own and commit them")
        file.write_bytes(answered)
    assert answered == file.read_bytes(), f"{name} differs; if it should, run with UPDATE_GOLDEN=1, read the difference and commit it"

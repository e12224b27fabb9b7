"""Responses kept as golden files: the bytes that clients were promised.

``UPDATE_GOLDEN=1 make test`` rewrites the files, to be reviewed before they are committed. It is refused where ``CI`` is set.
"""

import os
from pathlib import Path

_FOLDER = Path(__file__).parent


def check(name: str, body: bytes) -> None:
    """Raise AssertionError unless the file of this name holds exactly these bytes."""
    file = _FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        if os.environ.get("CI"):
            raise AssertionError("golden files are not written where CI is set; update them locally and commit them")
        file.write_bytes(body)
    assert body == file.read_bytes(), f"{name} differs; if it should, run with UPDATE_GOLDEN=1, read the difference and commit it"

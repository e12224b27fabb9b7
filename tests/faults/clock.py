"""Clocks of services that tests can set, by the library libfaketime, which a process loads at its start."""

import os
from collections.abc import Mapping
from pathlib import Path

from tests.servers.packages import install
from tests.servers.process import CannotProvide

_PACKAGE = "libfaketime"


class Clock:
    """Clock of one service. Its monotonic clock, by which timeouts are measured, is not changed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._file = folder / "shift"
        self.shift(0)

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment of a process that uses the clock."""
        return {
            "LD_PRELOAD": str(_library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def shift(self, seconds: int) -> None:
        """Make the clock differ from that of the system by these seconds. The process notices it within a second."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.rename(self._file)  # in one step, since the process may be reading


def _library() -> Path:
    """Return the library, which is installed if it is missing and the user may do so. Raises CannotProvide."""
    if (library := _find_library()) is None:
        install(_PACKAGE)
        library = _find_library()
    if library is None:
        raise CannotProvide(f"the package {_PACKAGE} has no libfaketimeMT.so.1 for {os.uname().machine}")
    return library


def _find_library() -> Path | None:
    """Return the library if it is installed."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)

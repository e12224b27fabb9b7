"""What a change of files must be, before anything of it is written."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from dashwright.common.errors import BadRequest, TooLarge
from dashwright.common.jobs.paths import LONGEST_PATH
from dashwright.jobs_worker.domain.file_forms import check_size
from dashwright.jobs_worker.domain.objects import Edit

MOST_EDITS: Final = 1000

MOST_BYTES: Final = 64 * 1024 * 1024
"""Of the files that one change moves: they are in memory together."""


def check_edits(edits: Sequence[Edit], *, largest: int, most_bytes: int) -> None:
    """Raises BadRequest for paths that lead elsewhere or come twice, and TooLarge.

    ``largest`` are the bytes that a file may have, ``most_bytes`` those of all.
    """
    if not edits:
        raise BadRequest("a change names at least one file")
    check_number(len(edits))
    for edit in edits:
        check_place(edit.path)
        check_size(len(edit.body or b""), largest)
    if len({edit.path for edit in edits}) < len(edits):
        raise BadRequest("a change names each file once")
    check_total(sum(len(edit.body or b"") for edit in edits), most_bytes)


def check_number(edits: int) -> None:
    """Raises TooLarge for more edits than one change may have: to be asked before their files are read."""
    if edits > MOST_EDITS:
        raise TooLarge(f"a change of {edits} files is too large: make it in parts of {MOST_EDITS} files at most")


def check_total(size: int, most: int) -> None:
    """Raises TooLarge for so many bytes of all edits together."""
    if size > most:
        raise TooLarge(f"a change of more than {most} bytes is too large: make it in parts")


def check_place(path: str) -> None:
    """Raises BadRequest for a path that is none of a file, leads out of the repository, or into what git keeps for itself."""
    parts = path.split("/")
    if len(path) > LONGEST_PATH or "" in parts or not all(map(_is_name, parts)):
        raise BadRequest(f"path {path[:200]!r} is none that a file can be written at")


def _is_name(part: str) -> bool:
    """Programs that check files out read ``.git`` in letters of any case, and past characters that are not seen."""
    visible = "".join(character for character in part if unicodedata.category(character) != "Cf")
    # Some systems take what follows a colon for a stream of the file before it.
    seen = visible.partition(":")[0].rstrip(" .").casefold()
    if part in (".", "..") or seen in (".git", "git~1") or "\\" in part:
        return False
    return len(part.encode(errors="surrogatepass")) <= 255 and not any(
        unicodedata.category(character) in ("Cc", "Cs") for character in part
    )

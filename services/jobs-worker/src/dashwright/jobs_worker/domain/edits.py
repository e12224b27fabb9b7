"""Checks of a change of files, before anything of it is written."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from dashwright.common.errors import BadRequest, TooLarge
from dashwright.common.jobs.paths import LONGEST_PATH
from dashwright.jobs_worker.domain.file_forms import check_size
from dashwright.jobs_worker.domain.objects import Edit

MOST_EDITS: Final = 1000
"""Files that one change may edit."""

MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the files that one change moves: they are in memory together."""


def check_edits(edits: Sequence[Edit], *, largest: int, most_bytes: int) -> None:
    """Check a whole change. Raises BadRequest for paths that leave the repository or occur twice, and TooLarge.

    ``largest`` is the limit for one file and ``most_bytes`` for all, in bytes.
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
    """Raise TooLarge for more edits than one change may have. Call it before the files are read."""
    if edits > MOST_EDITS:
        raise TooLarge(f"a change of {edits} files is too large: make it in parts of {MOST_EDITS} files at most")


def check_total(size: int, most: int) -> None:
    """Raise TooLarge if all edits together have more than ``most`` bytes."""
    if size > most:
        raise TooLarge(f"a change of more than {most} bytes is too large: make it in parts")


def check_place(path: str) -> None:
    """Raise BadRequest for a path that leaves the repository, leads into git's own files or cannot be a file."""
    parts = path.split("/")
    if len(path) > LONGEST_PATH or "" in parts or not all(map(_is_name, parts)):
        raise BadRequest(
            f"cannot write a file at path {path[:200]!r}: use a relative path of at most {LONGEST_PATH} characters, without '..' and '.git'"
        )


def _is_name(part: str) -> bool:
    """Return whether a file may have the name: checkouts read ``.git`` in any case, and ignore invisible characters in it."""
    visible = "".join(character for character in part if unicodedata.category(character) != "Cf")
    # Windows takes the part after a colon for a stream of the file before it.
    seen = visible.partition(":")[0].rstrip(" .").casefold()
    if part in (".", "..") or seen in (".git", "git~1") or "\\" in part:
        return False
    return len(part.encode(errors="surrogatepass")) <= 255 and not any(
        unicodedata.category(character) in ("Cc", "Cs") for character in part
    )

"""Checks of a change of files before any file is written."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from dashwright.common.errors import BadRequest, TooLarge
from dashwright.common.jobs.paths import MAX_PATH_LENGTH
from dashwright.jobs_worker.domain.file_forms import check_size
from dashwright.jobs_worker.domain.objects import Edit

_MAX_NAME_BYTES: Final = 255
"""Limit of common file systems on the bytes of a name."""

_MAX_QUOTED_CHARACTERS: Final = 200
"""Limit on the characters of an invalid path that an error quotes."""

MAX_EDITS: Final = 1000
"""Limit on the files of one change."""

MAX_EDIT_BYTES: Final = 64 * 1024 * 1024
"""Limit on the bytes of all files that move in one change, which are in memory together."""


def check_edits(edits: Sequence[Edit], *, max_file_bytes: int, max_total_bytes: int) -> None:
    """Check all edits of a change. ``max_file_bytes`` is the limit for one file and ``max_total_bytes`` for all, in bytes.

    Raises BadRequest without an edit, and for paths that leave the repository or occur twice. Raises TooLarge for too many files or bytes.
    """
    if not edits:
        raise BadRequest("the change contains no file: name at least one")
    check_edit_count(len(edits))
    for edit in edits:
        check_file_path(edit.path)
        check_size(len(edit.body or b""), max_file_bytes)
    if len({edit.path for edit in edits}) < len(edits):
        raise BadRequest("the change contains a file twice: name each file once")
    check_total_size(sum(len(edit.body or b"") for edit in edits), max_total_bytes)


def check_edit_count(count: int) -> None:
    """Raise TooLarge for more edits than one change may have. Call it before the files are read."""
    if count > MAX_EDITS:
        raise TooLarge(f"a change of {count} files is too large: make it in parts of {MAX_EDITS} files at most")


def check_total_size(size: int, max_bytes: int) -> None:
    """Raise TooLarge if all edits together have more than ``max_bytes`` bytes."""
    if size > max_bytes:
        raise TooLarge(f"a change of more than {max_bytes} bytes is too large: make it in parts")


def check_file_path(path: str) -> None:
    """Raise BadRequest for a path that leaves the repository, leads into the ``.git`` directory or is not a valid file name."""
    names = path.split("/")
    if len(path) > MAX_PATH_LENGTH or "" in names or not all(map(_is_valid_name, names)):
        raise BadRequest(
            f"cannot write a file at path {path[:_MAX_QUOTED_CHARACTERS]!r}: use a relative path of at most {MAX_PATH_LENGTH} characters, "
            "without '..' and '.git'"
        )


def _is_valid_name(name: str) -> bool:
    """Return whether a file or directory may have this name.

    Some file systems ignore case and invisible characters, so other spellings of ``.git`` also lead to the directory of git.
    """
    # Cf: marks without a glyph, such as the zero-width joiner.
    visible_name = "".join(character for character in name if unicodedata.category(character) != "Cf")
    # On Windows ``name:stream`` is a stream of the file ``name``, and ``git~1`` is a short name of ``.git``.
    folded_name = visible_name.partition(":")[0].rstrip(" .").casefold()
    if name in (".", "..") or folded_name in (".git", "git~1") or "\\" in name:
        return False
    # Cc: control characters; Cs: surrogates, which UTF-8 cannot encode.
    return len(name.encode(errors="surrogatepass")) <= _MAX_NAME_BYTES and not any(
        unicodedata.category(character) in ("Cc", "Cs") for character in name
    )

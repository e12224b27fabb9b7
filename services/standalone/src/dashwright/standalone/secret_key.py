"""The key for stored secrets, where nobody gave one: made once, and kept beside the database."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

import structlog

from dashwright.common.errors import Unavailable

log = structlog.get_logger()

FILE = "secret.key"


def keep(folder: Path) -> str:
    """The key in ``folder``, which only its owner may read; makes it where there is none. Two who do so at once get the same one.

    Raises Unavailable where it can be neither read nor made, or is empty.
    """
    file = folder / FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            _make(file)
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(
            f"The key for stored secrets in {file} can be neither read nor made: {error}. Or set DASHWRIGHT_SECRET_KEY."
        ) from error
    if not key:
        raise Unavailable(f"The key for stored secrets in {file} is empty. Restore that file, or set DASHWRIGHT_SECRET_KEY.")
    return key


def _make(file: Path) -> None:
    """Written beside its place and linked there whole: a killed start leaves no half of one, and nobody's key is replaced."""
    handle, unfinished = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as opened:
            opened.write(secrets.token_urlsafe(32))
        with suppress(FileExistsError):
            file.hardlink_to(unfinished)
            log.info("secret_key_made", file=str(file))
    finally:
        Path(unfinished).unlink()

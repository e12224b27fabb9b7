"""The key for stored secrets if none is configured: created once, and stored next to the database."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

import structlog

from dashwright.common.errors import Unavailable

log = structlog.get_logger()

FILE_NAME = "secret.key"


def read_or_create(folder: Path) -> str:
    """Return the key in ``folder``; create it if it is missing. Concurrent callers get the same key.

    Only the owner may read the file with the key. Raises Unavailable if the file is empty, or can be neither read nor created.
    """
    file = folder / FILE_NAME
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            _create(file)
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(
            f"The key for stored secrets in {file} can be neither read nor created: {error}. Correct that, or set DASHWRIGHT_SECRET_KEY."
        ) from error
    if not key:
        raise Unavailable(f"The key for stored secrets in {file} is empty. Restore that file, or set DASHWRIGHT_SECRET_KEY.")
    return key


def _create(file: Path) -> None:
    """Write the key to a temporary file and link it as ``file``, so that ``file`` is always complete and never overwritten."""
    handle, temporary_file = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as key_file:
            key_file.write(secrets.token_urlsafe(32))
        with suppress(FileExistsError):  # Another process was first; its key is used.
            file.hardlink_to(temporary_file)
            log.info("secret_key_created", file=str(file))
    finally:
        Path(temporary_file).unlink()

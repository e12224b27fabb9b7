"""Reader of small text files that an operator provides."""

import os
import stat
from pathlib import Path

from dashwright.common.errors import Invalid


def read_text(path: Path, *, max_bytes: int) -> str:
    """Return the text of a file; symbolic links are followed. Raises Invalid if it is missing, too large, or not a text file."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Invalid(f"'{path}' is not a regular file: give the path of one")
            content = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise Invalid(f"the file '{path}' cannot be read ({reason}): create it, or let the gateway read it") from error
    if len(content) > max_bytes:
        raise Invalid(f"the file '{path}' has more than {max_bytes} bytes: make it smaller or split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"the file '{path}' is not UTF-8 text: convert it") from error

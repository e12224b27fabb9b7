"""Text for a terminal: untrusted strings and errors, on one line and without control characters."""


def printable_line(value: str) -> str:
    """Return the string on one line, with control characters escaped."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in value)


def error_line(error: Exception) -> str:
    """Return the message of an error. That of an OSError has no errno, as in ``a.json: No such file or directory``."""
    if isinstance(error, OSError) and error.filename is not None:
        return printable_line(f"{error.filename}: {error.strerror}")
    return str(error)

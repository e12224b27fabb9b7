"""Text for a terminal: untrusted strings and errors on one line and without control characters, and numbers with nouns."""


def printable_line(value: str) -> str:
    """Return the string on one line, with control characters escaped."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in value)


def with_plural(count: int, noun: str) -> str:
    """Return a number with a noun, as in ``1 item`` and ``2 items``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def error_line(error: Exception) -> str:
    """Return the message of an error. That of an OSError has no errno, as in ``a.json: No such file or directory``."""
    if isinstance(error, OSError) and error.filename is not None:
        return printable_line(f"{error.filename}: {error.strerror}")
    return str(error)

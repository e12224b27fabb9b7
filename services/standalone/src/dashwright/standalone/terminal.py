"""Safe output of untrusted texts and errors to a terminal."""


def plain(text: str) -> str:
    """Return the text on one line, with control characters escaped."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def error_line(error: Exception) -> str:
    """Return an error as one line. File errors have no number: ``a.json: No such file or directory``."""
    if isinstance(error, OSError) and error.filename is not None:
        return plain(f"{error.filename}: {error.strerror}")
    return str(error)

"""What people read on a terminal: texts of strangers, and errors."""


def plain(text: str) -> str:
    """The text on one line, without anything that a terminal would obey."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def error_line(error: Exception) -> str:
    """The error as one line, without its number where a file is at fault: ``a.json: No such file or directory``."""
    if isinstance(error, OSError) and error.filename is not None:
        return plain(f"{error.filename}: {error.strerror}")
    return str(error)

"""Texts of strangers on a terminal."""


def plain(text: str) -> str:
    """The text on one line, without anything that a terminal would obey."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)

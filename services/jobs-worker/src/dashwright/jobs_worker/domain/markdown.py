"""Untrusted texts in Markdown: they cannot become tags, links, mentions, references or tables."""

import difflib
import re
import unicodedata
from typing import Final

_ZERO_WIDTH_SPACE: Final = "\u200b"
"""Inside a word, this character prevents hosts from reading the word as a reference or link."""

_SPECIAL_CHARACTERS: Final = re.compile(r"([\\`*_{}\[\]()|~!$^])")
"""Characters of Markdown, which a backslash escapes."""

_REFERENCES: Final = re.compile(r"([@#]|:(?=//|[\w+-]+:)|\bwww(?=\.)|\bgh(?=-\d)|%(?=[\w\"]))", re.IGNORECASE)
"""Beginnings of references of hosts: ``@user``, ``#7``, ``https://``, ``:emoji:``, ``www.``, ``GH-7`` and GitLab's ``%milestone``."""

_UNSAFE_IN_ADDRESSES: Final = re.compile(r"[\x00-\x20\x7f\"'()<>\[\]\\^`{|}]|[^\x00-\x7f]")
_CONTEXT_CHARACTERS: Final = 80
"""Characters of a long text that are shown before its first difference."""

_MAX_LINES: Final = 40
"""Limit on the lines of a diff."""


def plain(text: str, limit: int) -> str:
    """Return the text in one line, of at most ``limit`` characters before escaping."""
    line = _truncate(" ".join(_without_invisible(text).split()), limit)
    escaped = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _REFERENCES.sub(rf"\1{_ZERO_WIDTH_SPACE}", _SPECIAL_CHARACTERS.sub(r"\\\1", escaped))


def code(text: str) -> str:
    """Return a code span of one line. Do not use it in tables, where a bar in the text would end the cell."""
    line = " ".join(_without_invisible(text).split())
    ticks = "`" * (_longest_run_of_backticks(line) + 1)
    padding = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{padding}{line}{padding}{ticks}"


def link(label: str, address: str) -> str:
    """Return a link. ``label`` is Markdown; characters that an address may not contain are percent-encoded."""
    return f"[{label}]({_address(address)})"


def picture(label: str, address: str) -> str:
    """Return an embedded picture. ``label`` is Markdown."""
    return "!" + link(label, address)


def diff_block(before: str, after: str, limit: int) -> str:
    """Return a code block with the removed and added lines. If a text is longer than ``limit`` characters, only a part is compared."""
    old_text, new_text = _around_difference(_without_invisible(before), _without_invisible(after), limit)
    # The first two lines of a unified diff name the files.
    diff_lines = list(difflib.unified_diff(old_text.splitlines(), new_text.splitlines(), n=1, lineterm=""))[2:]
    lines = [line for line in diff_lines if not line.startswith("@@")]
    if len(lines) > _MAX_LINES:
        lines = [*lines[:_MAX_LINES], f"… {len(lines) - _MAX_LINES} more lines"]
    body = "\n".join(lines) or " only invisible characters differ"
    fence = "`" * max(3, _longest_run_of_backticks(body) + 1)
    return f"{fence}diff\n{body}\n{fence}"


def _around_difference(before: str, after: str, limit: int) -> tuple[str, str]:
    """Return both texts if they have at most ``limit`` characters, else the part of each around the first difference."""
    if max(len(before), len(after)) <= limit:
        return before, after
    pairs = enumerate(zip(before, after, strict=False))
    first_difference = next(
        (index for index, (old_character, new_character) in pairs if old_character != new_character), min(len(before), len(after))
    )
    start = max(0, first_difference - _CONTEXT_CHARACTERS)
    ellipsis = "…" if start else ""
    return ellipsis + _truncate(before[start:], limit), ellipsis + _truncate(after[start:], limit)


def _truncate(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _without_invisible(text: str) -> str:
    """Return the text without invisible characters: control characters and marks that change the direction of text."""
    return "".join(
        character for character in text if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
    )


def _longest_run_of_backticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _address(address: str) -> str:
    return _UNSAFE_IN_ADDRESSES.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), address)

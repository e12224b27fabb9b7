"""Untrusted texts in Markdown: they cannot become tags, links, mentions, references or tables."""

import difflib
import re
import unicodedata
from typing import Final

_BROKEN: Final = "\u200b"
"""A zero-width space: the text around it is not read as one word."""

_MARKS: Final = re.compile(r"([\\`*_{}\[\]()|~!$^])")
_REFERENCES: Final = re.compile(r"([@#]|:(?=//|[\w+-]+:)|\bwww(?=\.)|\bgh(?=-\d))", re.IGNORECASE)
_UNSAFE_IN_ADDRESSES: Final = re.compile(r"[\x00-\x20\x7f\"'()<>\[\]\\^`{|}]|[^\x00-\x7f]")
_CONTEXT: Final = 80
_MOST_LINES: Final = 40


def plain(text: str, longest: int) -> str:
    """Return the text in one line, of at most ``longest`` characters before escaping."""
    words = _cut(" ".join(_visible(text).split()), longest)
    escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _REFERENCES.sub(rf"\1{_BROKEN}", _MARKS.sub(r"\\\1", escaped))


def code(text: str) -> str:
    """Return a code span of one line. Not for tables, where a bar in it would end the cell."""
    words = " ".join(_visible(text).split())
    ticks = "`" * (_longest_run(words) + 1)
    padding = " " if words.startswith("`") or words.endswith("`") else ""
    return f"{ticks}{padding}{words}{padding}{ticks}"


def link(words: str, address: str) -> str:
    """Return a link. ``words`` are Markdown; characters that an address may not contain are percent-encoded."""
    return f"[{words}]({_address(address)})"


def picture(words: str, address: str) -> str:
    """Return an embedded picture. ``words`` are Markdown."""
    return "!" + link(words, address)


def difference(before: str, after: str, longest: int) -> str:
    """Return a code block with removed and added lines, each text cut around the place where they begin to differ."""
    old, new = _around_difference(_visible(before), _visible(after), longest)
    compared = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm=""))[2:]
    lines = [line for line in compared if not line.startswith("@@")]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
    body = "\n".join(lines) or " only invisible characters differ"
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{fence}diff\n{body}\n{fence}"


def _around_difference(before: str, after: str, longest: int) -> tuple[str, str]:
    if max(len(before), len(after)) <= longest:
        return before, after
    pairs = enumerate(zip(before, after, strict=False))
    first = next((index for index, (one, other) in pairs if one != other), min(len(before), len(after)))
    start = max(0, first - _CONTEXT)
    lead = "…" if start else ""
    return lead + _cut(before[start:], longest), lead + _cut(after[start:], longest)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _visible(text: str) -> str:
    """Return the text without invisible characters: control characters and marks that change the direction of text."""
    return "".join(sign for sign in text if sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp"))


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _address(text: str) -> str:
    return _UNSAFE_IN_ADDRESSES.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)

"""Texts of people put into Markdown so that they stay texts: no tag, link, mention, reference or table comes of them."""

import difflib
import re
import unicodedata
from typing import Final

_BROKEN: Final = "\u200b"
"""A space without width: what stands around it is not read as one word."""

_MARKS: Final = re.compile(r"([\\`*_{}\[\]()|~!$^])")
_REFERENCES: Final = re.compile(r"([@#]|:(?=//|[\w+-]+:)|\bwww(?=\.)|\bgh(?=-\d))", re.IGNORECASE)
_UNSAFE_IN_ADDRESSES: Final = re.compile(r"[\x00-\x20\x7f\"'()<>\[\]\\^`{|}]|[^\x00-\x7f]")
_CONTEXT: Final = 80
_MOST_LINES: Final = 40


def plain(text: str, longest: int) -> str:
    """One line of at most so many characters before they are escaped."""
    words = _cut(" ".join(_visible(text).split()), longest)
    escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _REFERENCES.sub(rf"\1{_BROKEN}", _MARKS.sub(r"\\\1", escaped))


def code(text: str) -> str:
    """A code span of one line; not for tables, where a bar in it would end the cell."""
    words = " ".join(_visible(text).split())
    ticks = "`" * (_longest_run(words) + 1)
    padding = " " if words.startswith("`") or words.endswith("`") else ""
    return f"{ticks}{padding}{words}{padding}{ticks}"


def link(words: str, address: str) -> str:
    """``words`` are Markdown; what an address may not hold is percent-encoded."""
    return f"[{words}]({_address(address)})"


def picture(words: str, address: str) -> str:
    return "!" + link(words, address)


def difference(before: str, after: str, longest: int) -> str:
    """A block that shows what goes and what comes, line by line, each text around the place where they begin to differ."""
    old, new = _around_difference(_visible(before), _visible(after), longest)
    compared = list(difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm=""))[2:]
    lines = [line for line in compared if not line.startswith("@@")]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
    body = "\n".join(lines) or " the same, but for signs that nobody sees"
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
    """Without what nobody sees: control characters, and marks that turn the direction of what follows."""
    return "".join(sign for sign in text if sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp"))


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _address(text: str) -> str:
    return _UNSAFE_IN_ADDRESSES.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)

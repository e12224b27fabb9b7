"""The lines of a changed setting before and after the change. JSON is indented, and long parts without a change are left out."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from dashwright.common.errors import DashwrightError
from dashwright.common.json_documents import format_json, read_json

_ELLIPSIS: Final = "…"
#: JSON with fewer characters is shown in one line.
_MIN_INDENTED: Final = 60
#: Limit on the compared lines of one text, which bounds the duration of a comparison.
_MAX_COMPARED_LINES: Final = 600
#: Limits on the lines of one text, and on the characters of one line, which bound the size of a page.
_MAX_LINES: Final = 100
_MAX_CHARACTERS: Final = 2_000
#: Number of equal lines that are shown before and after changed lines.
_CONTEXT: Final = 2


class SettingLine(NamedTuple):
    """A line of a setting."""

    text: str
    is_changed: bool = False


class SettingLines(NamedTuple):
    """The lines of a setting before and after a change."""

    before: Sequence[SettingLine]
    after: Sequence[SettingLine]


def setting_lines(before: str, after: str) -> SettingLines:
    """Return the lines of a setting. Changed lines are marked, unless all lines are changed."""
    old, new = _lines(before), _lines(after)
    # ``autojunk`` would not match frequent lines of long texts, such as the brackets of JSON.
    groups = list(SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT))
    has_equal_lines = any(tag == "equal" for group in groups for tag, *_ in group)
    if not has_equal_lines:
        return SettingLines(_shortened(map(SettingLine, old)), _shortened(map(SettingLine, new)))
    gap = SettingLine(_ELLIPSIS)
    old_lines: list[SettingLine] = []
    new_lines: list[SettingLine] = []
    previous_end = 0
    for group in groups:
        _, group_start, *_ = group[0]
        if group_start > previous_end:
            old_lines.append(gap)
            new_lines.append(gap)
        for tag, old_start, old_end, new_start, new_end in group:
            is_changed = tag != "equal"
            old_lines += [SettingLine(text, is_changed) for text in old[old_start:old_end]]
            new_lines += [SettingLine(text, is_changed) for text in new[new_start:new_end]]
            previous_end = old_end
    if previous_end < len(old):
        old_lines.append(gap)
        new_lines.append(gap)
    return SettingLines(_shortened(old_lines), _shortened(new_lines))


def _lines(text: str) -> Sequence[str]:
    """Return the lines of a text. JSON is indented first, unless it is short."""
    if len(text) >= _MIN_INDENTED and text[0] in "{[":
        with suppress(DashwrightError):
            text = format_json(read_json(text)).decode()
    return text.splitlines()[:_MAX_COMPARED_LINES]


def _shortened(lines: Iterable[SettingLine]) -> list[SettingLine]:
    """Return the first lines, each cut to its first characters. An ellipsis marks each cut."""
    shortened_lines = [
        line if len(line.text) <= _MAX_CHARACTERS else line._replace(text=line.text[:_MAX_CHARACTERS] + _ELLIPSIS) for line in lines
    ]
    return shortened_lines if len(shortened_lines) <= _MAX_LINES else [*shortened_lines[:_MAX_LINES], SettingLine(_ELLIPSIS)]

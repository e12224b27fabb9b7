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
#: Limits that bound the duration of a comparison and the size of a page.
_MAX_COMPARED_LINES: Final = 600
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
    groups = list(SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT))
    if not any(opcode[0] == "equal" for group in groups for opcode in group):
        return SettingLines(_shortened(map(SettingLine, old)), _shortened(map(SettingLine, new)))
    old_lines: list[SettingLine] = []
    new_lines: list[SettingLine] = []
    end = 0
    for group in groups:
        gap = [SettingLine(_ELLIPSIS)] * (group[0][1] > end)
        old_lines += [*gap, *(SettingLine(text, tag != "equal") for tag, start, stop, _, _ in group for text in old[start:stop])]
        new_lines += [*gap, *(SettingLine(text, tag != "equal") for tag, _, _, start, stop in group for text in new[start:stop])]
        end = group[-1][2]
    gap = [SettingLine(_ELLIPSIS)] * (end < len(old))
    return SettingLines(_shortened([*old_lines, *gap]), _shortened([*new_lines, *gap]))


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

"""Lines of changed settings on previews: indented JSON, marks of changed lines, and limits."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.repositories.setting_lines import SettingLine, setting_lines

LINES = st.lists(st.sampled_from(["a", "b", "c"]), max_size=30)


def marked_texts(lines: Sequence[SettingLine]) -> list[str]:
    """Return the texts of the lines that are marked as changed."""
    return [line.text.strip() for line in lines if line.is_changed]


def test_changed_members_of_json_are_marked() -> None:
    """JSON has a line for each member, of which only changed ones are marked. An ellipsis replaces equal members far from a change."""
    before = {f"member{number}": number for number in range(20)}
    lines = setting_lines(json.dumps(before), json.dumps({**before, "member3": "x", "member18": "y"}))
    assert marked_texts(lines.before) == ['"member3": 3,', '"member18": 18,']
    assert marked_texts(lines.after) == ['"member3": "x",', '"member18": "y",']
    assert [line.text.strip() for line in lines.after].count("…") == 2
    assert '"member10": 10,' not in [line.text.strip() for line in lines.before]


def test_settings_without_equal_lines_are_not_marked() -> None:
    """Short JSON, texts and invalid JSON without equal lines are shown unchanged and without marks."""
    no_setting, json_settings, queries = ("", "new"), ('{"a":1}', '{"a":2}'), ("rate(a[5m])", "rate(b[5m])")
    invalid_json = ("{" * 70, "[")
    for before, after in (no_setting, json_settings, queries, invalid_json):
        lines = setting_lines(before, after)
        assert marked_texts(lines.before) == []
        assert marked_texts(lines.after) == []
        # An empty setting has no line.
        assert [line.text for line in lines.before] == ([before] if before else [])
        assert [line.text for line in lines.after] == [after]


def test_long_settings_are_cut() -> None:
    """A setting has at most 100 lines of 2,000 characters each. An ellipsis replaces further lines and characters."""
    lines = setting_lines("x" * 9_000, "\n".join(map(str, range(900))))
    # The ellipsis is one more character, or one more line.
    assert [len(line.text) for line in lines.before] == [2_001]
    assert len(lines.after) == 101
    assert lines.after[-1].text == "…"


@given(LINES, LINES)
def test_lines_without_a_mark_are_on_both_sides(before: list[str], after: list[str]) -> None:
    """Both sides have the same lines without a mark, provided that any line is marked."""
    lines = setting_lines("\n".join(before), "\n".join(after))
    if marked_texts(lines.before) or marked_texts(lines.after):
        assert [line for line in lines.before if not line.is_changed] == [line for line in lines.after if not line.is_changed]

"""Matchers select fields, frames and values, and regular expressions replace text, as in Grafana."""

from typing import Any

import pytest
from tests.unit.expressions.transformations.tables import column, frame

from dashwright.common.errors import BadRequest
from dashwright.expressions.javascript.patterns import TextPattern
from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.transformations.matchers.cells import cell_matcher
from dashwright.expressions.transformations.matchers.fields import MatchedColumn, field_matcher
from dashwright.expressions.transformations.matchers.frames import frame_matcher
from dashwright.expressions.transformations.names import DisplayNames

#: A table whose columns have each type, a label, a display name and only nulls.
TABLE = frame(
    "A", column("time", [1]), column("Value", [0], host="a"), column("text", ["x"], {"displayName": "Shown"}), column("n", [None])
)


@pytest.mark.parametrize(
    ("name", "options", "matching"),
    [
        ("byName", "text", ["text"]),
        ("byName", "Shown", ["text"]),
        ("byName", "a", ["Value"]),
        ("byName", None, []),
        ("byNames", {"names": ["time", "a"]}, ["time", "Value"]),
        ("byNames", {"names": ["time"], "mode": "exclude"}, ["Value", "text", "n"]),
        ("byRegexp", "S.*", ["text"]),
        ("byRegexp", "hown", []),
        ("byRegexp", "/HOWN/i", ["text"]),
        ("byRegexp", "/(/", []),
        ("byRegexpOrNames", {"pattern": "/^t/", "names": ["n"]}, ["time", "n"]),
        ("byType", "number", ["Value", "n"]),
        ("byTypes", ["time", "string"], ["time", "text"]),
        ("byFrameRefID", "A", ["time", "Value", "text", "n"]),
        ("byFrameRefID", "B", []),
        ("byValue", {"reducer": "max", "op": "gte", "value": 1}, ["time"]),
        ("byValue", {"reducer": "last", "op": "neq", "value": None}, ["time", "Value", "text"]),
        ("byValue", {"reducer": "allIsZero", "op": "gt", "value": 9}, ["Value"]),
        ("byValue", {"reducer": "allIsNull"}, ["text", "n"]),
        ("byValue", {"reducer": "max", "op": ">=", "value": 1}, []),
        ("byValue", {}, []),
        ("numeric", None, ["Value", "n"]),
        ("time", None, ["time"]),
        ("first", None, ["time"]),
        ("firstTimeField", None, ["time"]),
        ("alwaysMatch", None, ["time", "Value", "text", "n"]),
        ("neverMatch", None, []),
        ("anyMatch", [{"id": "time"}, {"id": "byName", "options": "n"}], ["time", "n"]),
        ("allMatch", [{"id": "numeric"}, {"id": "byName", "options": "n"}], ["n"]),
        ("invertMatch", {"id": "numeric"}, ["time", "text"]),
    ],
)
def test_a_matcher_selects_fields(name: str, options: Any, matching: list[str]) -> None:
    """A matcher of fields selects columns by their names, types, frames or values."""
    matches, names = field_matcher({"id": name, "options": options}), DisplayNames([TABLE])
    assert [column.name for column in TABLE.columns if matches(MatchedColumn(column, TABLE, names))] == matching


def test_the_depth_of_conditions_is_limited() -> None:
    """Conditions that are nested more than 20 times are an error."""
    condition: dict[str, Any] = {"id": "time"}
    for _ in range(30):
        condition = {"id": "invertMatch", "options": condition}
    with pytest.raises(BadRequest, match="deeper than 20"):
        field_matcher(condition)


@pytest.mark.parametrize(
    ("name", "options", "matching"),
    [
        ("byRefId", "A|C", "AC"),
        ("byRefId", "/[AB]/", "AB"),
        ("byRefId", "/(/", ""),
        ("byName", "/x/", "B"),
        ("alwaysMatch", None, "ABC"),
        ("neverMatch", None, ""),
    ],
)
def test_a_matcher_selects_frames(name: str, options: Any, matching: str) -> None:
    """A matcher of frames selects them by the ids of their queries or by their names."""
    matches = frame_matcher({"id": name, "options": options})
    assert "".join(item.ref_id for item in (frame("A"), frame("B", name="xy"), frame("C")) if matches(item)) == matching


#: Cells whose comparison with a number or a text depends on JavaScript's conversions.
VALUES = [None, UNDEFINED, float("nan"), 0, 5, "5", "abc", True]


@pytest.mark.parametrize(
    ("name", "options", "matching"),
    [
        ("isNull", {}, [None, UNDEFINED]),
        ("greater", {"value": 1}, [5, "5"]),
        ("lowerOrEqual", {"value": 0}, [None, 0]),
        ("equal", {"value": 5}, [5, "5"]),
        ("equal", {"value": "5"}, [5, "5"]),
        ("equal", {}, [None, UNDEFINED]),
        ("between", {"from": "-1", "to": 5}, [None, 0, True]),
        ("substring", {"value": "B"}, ["abc"]),
        ("notSubstring", {"value": "b"}, ["5"]),
        ("regex", {"value": "^(null|a)"}, [None, "abc"]),
    ],
)
def test_a_matcher_selects_values(name: str, options: dict[str, Any], matching: list[Any]) -> None:
    """A matcher of values compares cells of any type as JavaScript does."""
    matches = cell_matcher({"id": name, "options": options})
    assert [value for value in VALUES if matches(value)] == matching


@pytest.mark.parametrize(
    ("pattern", "replacement", "text", "expected"),
    [
        ("/a/", "x", "banana", "bxnana"),
        ("/a/g", "x", "banana", "bxnxnx"),
        ("(.*)-(.*)", "$2 $1", "a-b", "b a"),
        ("/b/", "[$`|$&|$']", "abc", "a[a|b|c]c"),
        ("/(b)|(z)/", "$1$2$3$$", "abc", "ab$3$c"),
        ("/(?<word>b+)/", "$<word>$<none>!", "abbc", "abb!c"),
        ("/(a)/", "$11-$01", "a", "a1-a"),
        ("/B/i", "x", "abc", "axc"),
        ("b", "x", "abc", "abc"),
        ("/x*/g", "-", "ab", "-a-b-"),
    ],
)
def test_matches_are_replaced_as_in_javascript(pattern: str, replacement: str, text: str, expected: str) -> None:
    """The replacement refers to groups, to the match and to the text around it, as in JavaScript.

    Only a pattern with the flag ``g`` is replaced everywhere.
    """
    assert TextPattern.of(pattern).replaced(text, replacement) == expected

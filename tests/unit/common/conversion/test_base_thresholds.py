"""The null in the first step of thresholds, which elements have and saved classic dashboards do not."""

import copy
from typing import Any

import pytest

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.versions import MIGRATED, convert

_Json = dict[str, Any]


def _panel(step: _Json, **members: Any) -> _Json:
    """Return a panel whose thresholds begin with a step."""
    thresholds = {"mode": "absolute", "steps": [step, {"color": "red", "value": 5}]}
    return {"id": 1, "type": "stat", "title": "T", "fieldConfig": {"defaults": {"thresholds": thresholds}, "overrides": []}, **members}


def _dashboard(*panels: _Json) -> _Json:
    """Return a classic dashboard of the newest schema version."""
    return {"title": "D", "schemaVersion": 42, "panels": list(panels)}


def _first_step(panel: _Json) -> _Json:
    """Return the first step of the thresholds of a panel, classic or of an element."""
    step: _Json = panel["fieldConfig"]["defaults"]["thresholds"]["steps"][0]
    return step


@pytest.mark.parametrize("source", ["v0alpha1", MIGRATED])
def test_version_1_has_no_null(source: str) -> None:
    """In v1, the null of a base threshold is left out in panels, also in those of collapsed rows. The input is unchanged."""
    row = {"id": 2, "type": "row", "title": "R", "panels": [_panel({"color": "green", "value": None}, id=3)]}
    spec = _dashboard(_panel({"color": "green", "value": None}), row)
    before = copy.deepcopy(spec)
    panel, row = convert(spec, source, "v1", EMPTY_CONTEXT)["panels"]
    assert _first_step(panel) == _first_step(row["panels"][0]) == {"color": "green"}
    assert spec == before


@pytest.mark.parametrize("source", ["v0alpha1", MIGRATED, "v1"])
@pytest.mark.parametrize("step", [{"color": "green"}, {"color": "green", "value": None}], ids=["missing", "null"])
def test_elements_have_the_null(source: str, step: _Json) -> None:
    """The value is null in elements, whether or not the classic dashboard has it."""
    converted = convert(_dashboard(_panel(step)), source, "v2", EMPTY_CONTEXT)
    assert _first_step(converted["elements"]["panel-1"]["spec"]["vizConfig"]["spec"]) == {"color": "green", "value": None}


@pytest.mark.parametrize("value", [None, 1], ids=["other null", "no null"])
def test_other_nulls_are_removed_from_the_same_panel(value: object) -> None:
    """A null in the options of a panel is removed together with that of the threshold. Another value of the option is kept."""
    panel = _panel({"color": "green", "value": None}, options={"a": value, "b": 2})
    [converted] = convert(_dashboard(panel), "v0alpha1", "v1", EMPTY_CONTEXT)["panels"]
    assert (converted["options"], _first_step(converted)) == ({"b": 2} if value is None else {"a": 1, "b": 2}, {"color": "green"})


@pytest.mark.parametrize("panels", [None, "text", [], [None, "text"]], ids=["missing", "text", "empty", "no objects"])
def test_unexpected_panels_are_kept(panels: object) -> None:
    """Unexpected values for panels are kept, because a merged dashboard may have any."""
    spec = {"title": "D", "panels": panels}
    assert convert(spec, MIGRATED, "v1", EMPTY_CONTEXT) == spec


@pytest.mark.parametrize("steps", [None, {}, [], [None], [{}], [{"value": 0}]], ids=str)
def test_other_thresholds_are_kept(steps: object) -> None:
    """Thresholds without a null in their first step are unchanged."""
    spec = _dashboard({"fieldConfig": {"defaults": {"thresholds": {"steps": steps}}}})
    assert convert(spec, MIGRATED, "v1", EMPTY_CONTEXT) == spec

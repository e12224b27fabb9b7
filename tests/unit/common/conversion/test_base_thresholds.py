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
    """In v1, a base threshold has no null, neither in a panel of the dashboard nor in a panel of a row. The input is unchanged."""
    row = {"id": 2, "type": "row", "title": "R", "panels": [_panel({"color": "green", "value": None}, id=3)]}
    spec = _dashboard(_panel({"color": "green", "value": None}), row)
    before = copy.deepcopy(spec)
    converted_panel, converted_row = convert(spec, source, "v1", EMPTY_CONTEXT)["panels"]
    (panel_in_row,) = converted_row["panels"]
    assert _first_step(converted_panel) == {"color": "green"}
    assert _first_step(panel_in_row) == {"color": "green"}
    assert spec == before


@pytest.mark.parametrize("source", ["v0alpha1", MIGRATED, "v1"])
@pytest.mark.parametrize("step", [{"color": "green"}, {"color": "green", "value": None}], ids=["missing", "null"])
def test_elements_have_the_null(source: str, step: _Json) -> None:
    """In elements, the base threshold has the value null, even if the classic dashboard has no value."""
    converted = convert(_dashboard(_panel(step)), source, "v2", EMPTY_CONTEXT)
    assert _first_step(converted["elements"]["panel-1"]["spec"]["vizConfig"]["spec"]) == {"color": "green", "value": None}


@pytest.mark.parametrize(
    ("options", "saved_options"),
    [({"a": None, "b": 2}, {"b": 2}), ({"a": 1, "b": 2}, {"a": 1, "b": 2})],
    ids=["null in the options", "no null in the options"],
)
def test_other_nulls_are_removed_from_the_same_panel(options: _Json, saved_options: _Json) -> None:
    """A null in the options of a panel is removed together with the null of the threshold. Values in the options are kept."""
    panel = _panel({"color": "green", "value": None}, options=options)
    [converted] = convert(_dashboard(panel), "v0alpha1", "v1", EMPTY_CONTEXT)["panels"]
    assert converted["options"] == saved_options
    assert _first_step(converted) == {"color": "green"}


@pytest.mark.parametrize(
    "panels",
    [
        pytest.param(None, id="missing"),
        pytest.param("text", id="text"),
        pytest.param([], id="empty"),
        pytest.param([None, "text"], id="no objects"),
    ],
)
def test_unexpected_panels_are_kept(panels: object) -> None:
    """A conversion keeps unexpected values of ``panels``, because the merge of a client's changes may produce any value."""
    spec = {"title": "D", "panels": panels}
    assert convert(spec, MIGRATED, "v1", EMPTY_CONTEXT) == spec


@pytest.mark.parametrize("steps", [None, {}, [], [None], [{}], [{"value": 0}]], ids=str)
def test_other_thresholds_are_kept(steps: object) -> None:
    """Thresholds without a null in their first step are unchanged."""
    spec = _dashboard({"fieldConfig": {"defaults": {"thresholds": {"steps": steps}}}})
    assert convert(spec, MIGRATED, "v1", EMPTY_CONTEXT) == spec

"""Import of exported dashboards: values replace inputs, and library panels in the export are returned."""

from typing import Any, Final

import pytest

from dashwright.api.domain.dashboard_inputs import MAX_LIBRARY_PANELS, ExportedPanel, InputValue, ResolvedDashboard, resolve
from dashwright.common.errors import BadRequest, TooLarge

# Three declared inputs of an export, and a value that an importing client sends for the first one.
SOURCE: Final = {"name": "DS_PROM", "type": "datasource", "pluginId": "prometheus"}
EXPRESSIONS: Final = {"name": "DS_EXPRESSION", "type": "datasource", "pluginId": "__expr__"}
CONSTANT: Final = {"name": "VAR_STEP", "type": "constant", "value": "30s"}
PROM: Final = InputValue("DS_PROM", "datasource", "prom-1")


def resolve_inputs(dashboard: dict[str, Any], *inputs: InputValue, max_characters: int = 1000) -> ResolvedDashboard:
    """Return the dashboard with the values of its inputs. ``max_characters`` limits the characters that the values add."""
    return resolve(dashboard, inputs, max_characters=max_characters)


def test_values_replace_placeholders_in_all_strings() -> None:
    """Values replace the placeholders of declared inputs in strings at any depth.

    Keys, other placeholders, numbers and the other characters of a string are unchanged.
    """
    panel = {"datasource": {"uid": "${DS_PROM}"}, "id": 1, "${DS_PROM}": True, "links": ["a/${DS_PROM}/${__url}?${VAR_STEP}", 1.5, None]}
    resolved = resolve_inputs({"__inputs": [SOURCE, CONSTANT], "title": "${OTHER}", "panels": [panel]}, PROM)
    links = ["a/prom-1/${__url}?30s", 1.5, None]
    expected = {"datasource": {"uid": "prom-1"}, "id": 1, "${DS_PROM}": True, "links": links}
    assert resolved == ({"title": "${OTHER}", "panels": [expected]}, [])


def test_members_of_the_export_and_of_the_other_server_are_removed() -> None:
    """Members of the export, and the id and version on the exporting server, are removed. The uid and the title remain."""
    export = {"__inputs": [], "__elements": {}, "__requires": [{"id": "grafana"}], "id": 5, "version": 9}
    assert resolve_inputs({**export, "uid": "u", "title": "T"}).spec == {"uid": "u", "title": "T"}


@pytest.mark.parametrize(
    ("declared", "inputs", "value"),
    [
        pytest.param(CONSTANT, [InputValue("VAR_STEP", "constant", "1m")], "1m", id="constant by name"),
        pytest.param(CONSTANT, [InputValue("*", "constant", "1m")], "1m", id="constant by star"),
        pytest.param(CONSTANT, [InputValue("VAR_STEP", "*", "1m")], "30s", id="type is never a star"),
        pytest.param(SOURCE, [InputValue("*", "datasource", "every")], "every", id="data source by star"),
        pytest.param(
            SOURCE, [InputValue("DS_PROM", "datasource", "first"), InputValue("*", "datasource", "every")], "first", id="first match"
        ),
        pytest.param(EXPRESSIONS, [], "__expr__", id="expressions without value"),
        pytest.param(EXPRESSIONS, [InputValue("DS_EXPRESSION", "datasource", "prom-1")], "__expr__", id="expressions with value"),
        pytest.param(CONSTANT, [InputValue("VAR_STEP", "datasource", "1m")], "30s", id="constant with wrong type"),
        pytest.param(CONSTANT, [], "30s", id="constant without value"),
        pytest.param({**CONSTANT, "type": "datasource"}, [], None, id="data source without value"),
        pytest.param(SOURCE, [InputValue("DS_PROM", "constant", "x")], None, id="data source with wrong type"),
        pytest.param(SOURCE, [InputValue("ds_prom", "datasource", "x")], None, id="case of the name differs"),
    ],
)
def test_an_input_has_the_value_of_its_name_and_type(declared: dict[str, Any], inputs: list[InputValue], value: str | None) -> None:
    """A sent value applies if its type is the declared one, and its name is the declared one or a star.

    Without such a value, a constant has its declared value. The data source of expressions has always its own value.
    """
    dashboard = {"__inputs": [declared], "title": f"${{{declared['name']}}}"}
    if value is None:
        with pytest.raises(BadRequest, match="input missing"):
            resolve_inputs(dashboard, *inputs)
    else:
        assert resolve_inputs(dashboard, *inputs).spec == {"title": value}


def test_a_value_is_not_expanded_again() -> None:
    """A placeholder in a value is not replaced, so that values cannot multiply each other."""
    inputs = [InputValue("DS_PROM", "datasource", "${VAR_STEP}")]
    assert resolve_inputs({"__inputs": [SOURCE, CONSTANT], "title": "${DS_PROM}"}, *inputs).spec == {"title": "${VAR_STEP}"}


def test_the_added_characters_are_limited() -> None:
    """A short body with many placeholders cannot become a huge dashboard."""
    # The value ``prom-1`` has 6 characters and replaces 20 placeholders, so 120 characters are added.
    dashboard = {"__inputs": [SOURCE], "panels": ["${DS_PROM}" * 5] * 4}
    assert len(resolve_inputs(dashboard, PROM, max_characters=120).spec["panels"]) == 4
    with pytest.raises(TooLarge):
        resolve_inputs(dashboard, PROM, max_characters=119)


def test_shown_library_panels_are_in_the_result() -> None:
    """Library panels that the dashboard shows, also in rows, are returned once, with the values of their inputs.

    Library panels that the dashboard does not use, or without a model in the export, are not returned. A panel without a name is
    named by its uid.
    """
    elements = {
        "a": {"name": "A", "uid": "a", "kind": 1, "model": {"type": "text", "datasource": "${DS_PROM}"}},
        "b": {"uid": "b", "kind": 1, "model": {"type": "table"}},
        "unused": {"name": "U", "model": {"type": "text"}},
        "empty": {"name": "E"},
    }
    rows = [{"type": "row", "panels": [{"libraryPanel": {"uid": "b"}}]}, {"libraryPanel": {"uid": "stored"}}]
    panels = [{"libraryPanel": {"uid": "a"}}, {"libraryPanel": {"uid": "a"}}, {"libraryPanel": {"uid": "empty"}}, *rows]
    resolved = resolve_inputs({"__inputs": [SOURCE], "__elements": elements, "panels": panels}, PROM)
    exported_panels = [ExportedPanel("a", "A", {"type": "text", "datasource": "prom-1"}), ExportedPanel("b", "b", {"type": "table"})]
    assert sorted(resolved.panels) == exported_panels


def test_library_panels_may_be_a_list() -> None:
    """Library panels may be a list, as in exports of Grafana 8. Members of the list without a uid are ignored."""
    elements = [{"uid": "a", "name": "A", "kind": 1, "model": {"type": "text", "datasource": "${DS_PROM}"}}, {"name": "no uid"}, "x"]
    dashboard = {"__inputs": [SOURCE], "__elements": elements, "panels": [{"libraryPanel": {"uid": "a"}}]}
    assert resolve_inputs(dashboard, PROM).panels == [ExportedPanel("a", "A", {"type": "text", "datasource": "prom-1"})]


@pytest.mark.parametrize("broken", [None, [], "x", [{"uid": 5}], {"a": 5}, {"a": {"model": []}}], ids=repr)
def test_broken_elements_are_ignored(broken: Any) -> None:
    """Invalid elements are ignored.

    Old exports have an empty list instead of an object, and a panel without a model may be stored already.
    """
    assert resolve_inputs({"__elements": broken, "__inputs": broken, "panels": [{"libraryPanel": {"uid": "a"}}]}).panels == []


def test_two_library_panels_with_one_name_are_refused() -> None:
    """Two library panels with one name are refused, because only one of them could be created."""
    elements = {uid: {"name": "Same", "model": {"type": "text"}} for uid in ("a", "b")}
    panels = [{"libraryPanel": {"uid": uid}} for uid in elements]
    with pytest.raises(BadRequest, match="'Same'"):
        resolve_inputs({"__elements": elements, "panels": panels})
    # A library panel that the dashboard does not show is not created.
    assert len(resolve_inputs({"__elements": elements, "panels": panels[:1]}).panels) == 1


def test_too_many_library_panels_are_refused() -> None:
    """The number of library panels is limited, because each is a separate write."""
    uids = [f"p{number}" for number in range(MAX_LIBRARY_PANELS + 1)]
    elements = {uid: {"name": uid, "model": {"type": "text"}} for uid in uids}
    with pytest.raises(BadRequest, match="at most 1000"):
        resolve_inputs({"__elements": elements, "panels": [{"libraryPanel": {"uid": uid}} for uid in uids]})

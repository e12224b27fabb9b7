"""The routes below ``/api/plugins``, which list data sources and panel types as Grafana lists its plugins."""

import pytest
from tests.contract.api.conftest import Api

from dashwright.api.domain.panel_types import DRAWN_TYPES
from dashwright.common.models.data_source_types import SUPPORTED_TYPES
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS

SOURCES = {source_type.id for source_type in SUPPORTED_TYPES}
PANELS = {panel_type.id for panel_type in DRAWN_TYPES}


def test_the_listed_panel_types_are_those_that_are_drawn() -> None:
    """The list of types that the API shows has exactly the types that the worker draws."""
    assert {panel_type.id for panel_type in DRAWN_TYPES} == set(DRAW_FUNCTIONS)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", SOURCES | PANELS),
        ("?embedded=0&type=panel", PANELS),
        ("?type=datasource", SOURCES),
        ("?type=app", set()),
        ("?core=0", set()),
        ("?enabled=0", set()),
        ("?core=1&enabled=1", SOURCES | PANELS),
    ],
)
async def test_types_are_listed_and_filtered(api: Api, query: str, expected: set[str]) -> None:
    """The list has each type once, sorted by name, and filters restrict it."""
    status, body = await api("GET", f"/api/plugins{query}")
    assert status == 200
    assert sorted(item["id"] for item in body) == sorted(expected)
    names = [item["name"].lower() for item in body]
    assert names == sorted(names)


@pytest.mark.parametrize(("identifier", "type_"), [("prometheus", "datasource"), ("postgres", "datasource"), ("table", "panel")])
async def test_one_type_is_read_by_its_id_or_alias(api: Api, identifier: str, type_: str) -> None:
    """The settings of a type are read by its id, or by an id that older dashboards contain."""
    status, body = await api("GET", f"/api/plugins/{identifier}/settings")
    assert status == 200
    assert body["type"] == type_
    assert body["enabled"] is True
    assert body["jsonData"] == {}
    # The alias ``postgres`` is a part of the id of its type, too.
    assert identifier in body["id"]


async def test_an_unknown_type_is_not_found(api: Api) -> None:
    """A type that the product does not have is 404."""
    status, error = await api("GET", "/api/plugins/grafana-clock-panel/settings")
    assert (status, error["message"]) == (404, "Plugin not found, no installed plugin with that id")

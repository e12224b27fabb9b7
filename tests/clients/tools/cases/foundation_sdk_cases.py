"""Cases of grafana-foundation-sdk: dashboards of its builders are stored and returned unchanged."""

import json
import os
from typing import Any

import requests
from grafana_foundation_sdk.builders import dashboard, dashboardv2, prometheus, resource, stat, text, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import VariableHide, VariableRefresh

TARGET = os.environ["DASHWRIGHT_TEST_TARGET"]
HEADERS = {"Authorization": f"Bearer {os.environ['DASHWRIGHT_TEST_TOKEN']}", "Content-Type": "application/json"}


def built() -> dashboard.Dashboard:
    """Return a builder with rows, panels, queries and a variable."""
    query = prometheus.Dataquery().expr('rate(load{job="$job"}[5m])').legend_format("{{instance}}").ref_id("A")
    variable = dashboard.QueryVariable("job").label("Job").query("label_values(job)").refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    return (
        dashboard.Dashboard("Hosts")
        .uid("built")
        .tags(["generated"])
        .refresh("1m")
        .time("now-30m", "now")
        .with_variable(variable.hide(VariableHide.DONT_HIDE))
        .with_row(dashboard.Row("Overview"))
        .with_panel(timeseries.Panel().title("Load").unit("percent").min(0).with_target(query))
        .with_panel(stat.Panel().title("Now").with_target(query))
        .with_panel(text.Panel().title("Notes").content("hello"))
    )


def encoded(value: object) -> Any:
    return json.loads(JSONEncoder().encode(value))


def call(method: str, path: str, body: object = None) -> Any:
    response = requests.request(method, TARGET + path, headers=HEADERS, data=None if body is None else json.dumps(body), timeout=30)
    assert response.ok, response.text
    return response.json()


def test_the_classic_api_returns_a_built_dashboard() -> None:
    """Every member of a built dashboard is returned as it was sent."""
    sent = encoded(built().build())
    call("POST", "/api/dashboards/db", {"dashboard": sent, "overwrite": True})
    returned = call("GET", "/api/dashboards/uid/built")["dashboard"]
    assert {name: returned[name] for name in sent} == sent


def test_a_manifest_is_applied() -> None:
    """A manifest of the builders is an object of the resource API, in its classic version and in elements."""
    spec = encoded(built().uid("manifest").build())
    manifest = encoded(
        resource.Manifest()
        .api_version("dashboard.grafana.app/v1beta1")
        .kind("Dashboard")
        .metadata(resource.Metadata().name("manifest"))
        .spec(spec)
        .build()
    )
    dashboards = "/apis/dashboard.grafana.app/{}/namespaces/default/dashboards"
    call("POST", dashboards.format("v1beta1"), manifest)
    returned = call("GET", dashboards.format("v1beta1") + "/manifest")["spec"]
    assert [panel["title"] for panel in returned["panels"]] == ["Overview", "Load", "Now", "Notes"]
    elements = call("GET", dashboards.format("v2") + "/manifest")["spec"]["elements"]
    assert sorted(element["spec"]["title"] for element in elements.values()) == ["Load", "Notes", "Now"]


def test_elements_are_returned_as_built() -> None:
    """Elements with tabs and grids are returned as they were sent, and as panels in a classic version."""
    target = dashboardv2.Target().query(prometheus.QueryV2().expr("up")).ref_id("A")
    load = dashboardv2.Panel().id(1).title("Load").visualization(timeseries.VisualizationV2().unit("percent"))
    notes = dashboardv2.Panel().id(2).title("Notes").visualization(text.VisualizationV2().content("hello"))
    grid = dashboardv2.Grid().item(dashboardv2.GridItem().name("load").x(0).y(0).width(12).height(8))
    automatic = dashboardv2.AutoGrid().item(dashboardv2.AutoGridItem().name("notes"))
    tabs = dashboardv2.Tabs().tab(dashboardv2.Tab().title("One").layout(grid)).tab(dashboardv2.Tab().title("Two").layout(automatic))
    builder = dashboardv2.Dashboard("Tabs").element("load", load.data(dashboardv2.QueryGroup().target(target))).element("notes", notes)
    sent = encoded(builder.layout(tabs).variable(dashboardv2.CustomVariable("job").query("a,b")).build())
    dashboards = "/apis/dashboard.grafana.app/{}/namespaces/default/dashboards"
    call("POST", dashboards.format("v2"), {"metadata": {"name": "tabs"}, "spec": sent})
    returned = call("GET", dashboards.format("v2") + "/tabs")["spec"]
    assert {name: returned[name] for name in sent} == sent
    panels = call("GET", dashboards.format("v1") + "/tabs")["spec"]["panels"]
    assert {"Load", "Notes"} <= {panel["title"] for panel in panels}

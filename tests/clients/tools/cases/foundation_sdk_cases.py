"""Cases of grafana-foundation-sdk: what its builders make is stored and returned unchanged."""

import json
import os
from typing import Any

import pytest
import requests
from grafana_foundation_sdk.builders import (
    common,
    dashboard,
    dashboardv2,
    dashboardv2beta1,
    folderv1,
    folderv1beta1,
    librarypanel,
    playlistv0alpha1,
    playlistv1,
    prometheus,
    resource,
    stat,
    text,
    timeseries,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DashboardLinkType, Threshold, ThresholdsMode, VariableHide, VariableRefresh

TARGET = os.environ["DASHWRIGHT_TEST_TARGET"]
HEADERS = {"Authorization": f"Bearer {os.environ['DASHWRIGHT_TEST_TOKEN']}", "Content-Type": "application/json"}
#: Builders of elements by their version, with the classes for visualizations and queries, and a transformation.
ELEMENTS = {
    "v2": (
        dashboardv2,
        timeseries.VisualizationV2,
        text.VisualizationV2,
        prometheus.QueryV2,
        dashboardv2.Transformation().group("reduce"),
    ),
    "v2beta1": (
        dashboardv2beta1,
        timeseries.Visualization,
        text.Visualization,
        prometheus.Query,
        dashboardv2beta1.Transformation().kind("reduce").id("reduce"),
    ),
}
#: Plurals of kinds.
PLURALS = {"Dashboard": "dashboards", "Folder": "folders", "Playlist": "playlists"}


def classic() -> dashboard.Dashboard:
    """Return a builder with rows, panels, queries, a link, an annotation and a variable."""
    query = prometheus.Dataquery().expr('rate(load{job="$job"}[5m])').legend_format("{{instance}}").ref_id("A")
    variable = dashboard.QueryVariable("job").label("Job").query("label_values(job)").refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    steps = [Threshold(color="green"), Threshold(value=80.0, color="red")]
    thresholds = dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)
    legend = common.VizLegendOptions().show_legend(True)
    load = timeseries.Panel().title("Load").unit("percent").min(0).thresholds(thresholds).legend(legend).with_target(query)
    return (
        dashboard.Dashboard("Hosts")
        .tags(["generated"])
        .refresh("1m")
        .time("now-30m", "now")
        .link(dashboard.DashboardLink("Runbook").type(DashboardLinkType.LINK).url("https://example.org"))
        .annotation(dashboard.AnnotationQuery().name("Releases").enable(True).icon_color("red").expr("release"))
        .with_variable(variable.hide(VariableHide.DONT_HIDE))
        .with_row(dashboard.Row("Overview"))
        .with_panel(load)
        .with_panel(stat.Panel().title("Now").with_target(query))
        .with_row(dashboard.Row("Collapsed").collapsed(True).with_panel(text.Panel().title("Notes").content("hello")))
    )


def elements(version: str) -> Any:
    """Return a builder of a version with tabs, rows, grids, conditions, a transformation, an annotation and variables."""
    builders, visualization, notes, query, transformation = ELEMENTS[version]
    target = builders.Target().query(query().expr("up")).ref_id("A")
    data = builders.QueryGroup().target(target).transformation(transformation.options({"reducers": ["max"]}))
    load = builders.Panel().id(1).title("Load").description("Now").visualization(visualization().unit("percent")).data(data)
    remarks = builders.Panel().id(2).title("Notes").description("").visualization(notes().content("hello"))
    repeated = builders.GridItem().name("load").x(0).y(0).width(12).height(8).repeat(builders.RepeatOptions().value("job").direction("h"))
    condition = builders.ConditionalRenderingVariable().variable("job").operator("equals").value("a")
    visibility = builders.ConditionalRenderingGroup().visibility("show").condition("and").item(condition)
    row = builders.Row().title("Row").collapse(True).layout(builders.Grid().item(repeated))
    automatic = builders.AutoGrid().item(builders.AutoGridItem().name("notes").conditional_rendering(visibility))
    first = builders.Tab().title("One").layout(builders.Rows().row(row))
    tabs = builders.Tabs().tab(first).tab(builders.Tab().title("Two").layout(automatic).conditional_rendering(visibility))
    return (
        builders.Dashboard("Tabs")
        .tags(["generated"])
        .element("load", load)
        .element("notes", remarks)
        .layout(tabs)
        .time_settings(builders.TimeSettings().from_val("now-30m").to("now").auto_refresh("1m"))
        .annotations(
            [builders.AnnotationQuery().name("Releases").enable(True).hide(False).icon_color("red").query(query().expr("release"))]
        )
        .variable(builders.CustomVariable("job").query("a,b"))
        .variable(builders.QueryVariable("instance").query(query().expr("label_values(instance)")))
        .variable(builders.SwitchVariable("on").enabled_value("1").disabled_value("0").current("1"))
        .variable(builders.AdhocVariable("filters").group("prometheus"))
    )


def document_of(builder: Any) -> Any:
    """Return the JSON document of a builder."""
    return json.loads(JSONEncoder().encode(builder.build()))


def call(method: str, path: str, body: object = None) -> Any:
    """Return the response to a request. Raises AssertionError if it is an error."""
    response = requests.request(method, TARGET + path, headers=HEADERS, data=None if body is None else json.dumps(body), timeout=30)
    assert response.ok, response.text
    return response.json()


def objects_path(manifest: Any, version: str = "") -> str:
    """Return the path of the objects of the kind of a manifest, in another version if one is given."""
    group, _, own_version = manifest["apiVersion"].partition("/")
    return f"/apis/{group}/{version or own_version}/namespaces/default/{PLURALS[manifest['kind']]}"


def create_and_read(manifest: Any) -> Any:
    """Create the object of a manifest, read it and return it."""
    call("POST", objects_path(manifest), manifest)
    return call("GET", f"{objects_path(manifest)}/{manifest['metadata']['name']}")


def check_members_kept(sent: Any, returned: Any) -> None:
    """Check that every member that was sent is returned with an equal value."""
    assert {name: returned.get(name) for name in sent} == sent


def test_the_classic_api_returns_a_built_dashboard() -> None:
    """Every member of a built dashboard is returned as it was sent."""
    sent = document_of(classic().uid("built"))
    call("POST", "/api/dashboards/db", {"dashboard": sent, "overwrite": True})
    check_members_kept(sent, call("GET", "/api/dashboards/uid/built")["dashboard"])


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1", "v1"])
def test_a_classic_manifest_is_returned_as_built(version: str) -> None:
    """Every member of a manifest with panels is returned in its version, and its panels are elements in v2."""
    name = f"manifest-{version}"
    manifest = document_of(
        resource.Manifest()
        .api_version(f"dashboard.grafana.app/{version}")
        .kind("Dashboard")
        .metadata(resource.Metadata().name(name))
        .spec(document_of(classic()))
    )
    check_members_kept(manifest["spec"], create_and_read(manifest)["spec"])
    elements_of_v2 = call("GET", f"{objects_path(manifest, 'v2')}/{name}")["spec"]["elements"]
    assert sorted(element["spec"]["title"] for element in elements_of_v2.values()) == ["Load", "Notes", "Now"]


@pytest.mark.parametrize("version", ELEMENTS)
def test_elements_are_returned_as_built(version: str) -> None:
    """Every member of a manifest with elements is returned in its version, and its elements are panels in v1."""
    name = f"tabs-{version}"
    manifest = document_of(ELEMENTS[version][0].manifest(name, elements(version)))
    assert manifest["apiVersion"] == f"dashboard.grafana.app/{version}"
    check_members_kept(manifest["spec"], create_and_read(manifest)["spec"])
    panels = call("GET", f"{objects_path(manifest, 'v1')}/{name}")["spec"]["panels"]
    collapsed = [panel for row in panels for panel in row.get("panels", [])]
    assert [panel["title"] for panel in panels] == ["One", "Row", "Two", "Notes"]
    assert [panel["title"] for panel in collapsed] == ["Load"]


@pytest.mark.parametrize("builders", [folderv1, folderv1beta1], ids=["v1", "v1beta1"])
def test_a_folder_is_returned_as_built(builders: Any, request: pytest.FixtureRequest) -> None:
    """Every member of a built folder is returned as it was sent."""
    manifest = document_of(builders.manifest(f"folder-{request.node.callspec.id}", builders.Folder("Web").description("Dashboards")))
    check_members_kept(manifest["spec"], create_and_read(manifest)["spec"])


@pytest.mark.parametrize(
    ("version", "playlist", "item"),
    [("v0alpha1", playlistv0alpha1.Playlist, playlistv0alpha1.Item), ("v1", playlistv1.Playlist, playlistv1.PlaylistItem)],
    ids=["v0alpha1", "v1"],
)
def test_a_playlist_is_returned_as_built(version: str, playlist: Any, item: Any) -> None:
    """Every member of a built playlist is returned as it was sent."""
    spec = document_of(playlist("Rotation").interval("5m").item(item().type("dashboard_by_tag").value("generated")))
    manifest = {"apiVersion": f"playlist.grafana.app/{version}", "kind": "Playlist", "metadata": {"name": f"list-{version}"}, "spec": spec}
    check_members_kept(spec, create_and_read(manifest)["spec"])


def test_a_library_panel_is_returned_as_built() -> None:
    """The model of a built library panel is returned as it was sent."""
    model = document_of(text.Panel().title("Shared").content("hello"))
    sent = document_of(librarypanel.LibraryPanel().uid("shared").name("Shared").type("text")) | {"kind": 1, "model": model}
    call("POST", "/api/library-elements", sent)
    returned = call("GET", "/api/library-elements/shared")["result"]
    assert (returned["name"], returned["type"]) == ("Shared", "text")
    check_members_kept(model, returned["model"])

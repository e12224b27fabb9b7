// Prints dashboards of the builders as JSON: a classic one, and one with elements and tabs for each version.
import { DashboardBuilder, RowBuilder } from "@grafana/grafana-foundation-sdk/dashboard";
import * as v2 from "@grafana/grafana-foundation-sdk/dashboardv2";
import * as v2beta1 from "@grafana/grafana-foundation-sdk/dashboardv2beta1";
import * as prometheus from "@grafana/grafana-foundation-sdk/prometheus";
import * as timeseries from "@grafana/grafana-foundation-sdk/timeseries";

const classic = new DashboardBuilder("Hosts")
  .uid("typescript")
  .tags(["generated"])
  .time({ from: "now-30m", to: "now" })
  .withRow(new RowBuilder("Overview"))
  .withPanel(
    new timeseries.PanelBuilder()
      .title("Load")
      .unit("percent")
      .withTarget(new prometheus.DataqueryBuilder().expr("up").refId("A")),
  )
  .build();

const tabs = (elements, Visualization, Query) => {
  const panel = new elements.PanelBuilder()
    .id(1)
    .title("Load")
    .description("Now")
    .visualization(new Visualization().unit("percent"))
    .data(new elements.QueryGroupBuilder().target(new elements.TargetBuilder().query(new Query().expr("up")).refId("A")));
  const grid = new elements.GridBuilder().item(
    new elements.GridItemBuilder().name("load").x(0).y(0).width(12).height(8),
  );
  return new elements.DashboardBuilder("Tabs")
    .element("load", panel)
    .layout(new elements.TabsBuilder().tab(new elements.TabBuilder().title("One").layout(grid)))
    .variable(new elements.CustomVariableBuilder("job").query("a,b"))
    .build();
};

const built = {
  classic,
  v2: tabs(v2, timeseries.VisualizationV2Builder, prometheus.QueryV2Builder),
  v2beta1: tabs(v2beta1, timeseries.VisualizationBuilder, prometheus.QueryBuilder),
};
console.log(JSON.stringify(built));

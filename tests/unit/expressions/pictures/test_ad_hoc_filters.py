"""Ad hoc filters of a dashboard in the queries of its panels."""

from dashwright.expressions.pictures.panel_targets import read_targets
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry
from dashwright.expressions.sources.prometheus.label_filters import LabelFilter
from dashwright.expressions.variables.scope import Scope

CATALOG = Catalog([CatalogEntry("p", "P", "prometheus"), CatalogEntry("q", "Q", "prometheus")])


def test_only_queries_to_the_data_source_of_the_filters_have_them() -> None:
    scope = Scope(filters={"p": [LabelFilter("zone", "=", ["eu"])]})
    targets = [{"refId": uid, "datasource": {"type": "prometheus", "uid": uid}, "expr": "up"} for uid in ("p", "q")]
    found = read_targets({"datasource": "-- Mixed --", "targets": targets}, {}, CATALOG, scope)
    assert [target["expr"] for target in found.targets] == ['up{zone="eu"}', "up"]

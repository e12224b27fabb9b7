"""Data sources of all types, which return generated data for every query of a dashboard."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.dashboards.generated_logs import log_lines
from tests.dashboards.generated_series import series_of_query
from tests.dashboards.generated_tables import table_of_query
from tests.dashboards.panel_names import ReadName, labels_in, names_read

from dashwright.common.errors import DashwrightError
from dashwright.common.json_shapes import list_of, object_of, string_of
from dashwright.common.models.data_source_types import PROMETHEUS, SUPPORTED_TYPES
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.catalog import REPLACED_TYPES, Catalog, CatalogEntry, canonical_type
from dashwright.expressions.sources.registry import BUILT_IN, DataSource
from dashwright.expressions.sources.source import Source

#: Types in references that are not types of data sources.
_OTHER_REFERENCES: Final = frozenset({"datasource", "__expr__", "grafana", "dashboard", "panel"})


@dataclass(frozen=True, slots=True)
class PanelRequirements:
    """The data that a panel requires."""

    type: str = "timeseries"
    names: Sequence[ReadName] = ()
    labels: Sequence[str] = ()  #: Labels to which names of series refer.
    queries: Sequence[str] = ()  #: The queries of the panel, as text.

    @classmethod
    def of(cls, panel: Mapping[str, Any]) -> "PanelRequirements":
        """Return the requirements of a panel in the classic schema."""
        texts = list(_strings([panel.get("targets"), panel.get("fieldConfig"), panel.get("options")]))
        return cls(
            string_of(panel.get("type")), names_read(panel), labels_in(texts), [str(target) for target in list_of(panel.get("targets"))]
        )


class GeneratedSources:
    """The data sources of a dashboard: one for each type that it names, and one for each supported type."""

    def __init__(self, spec: Mapping[str, Any], panels: Mapping[int, Mapping[str, Any]]) -> None:
        """Read the types in a dashboard, and what its panels require. ``panels`` are classic panels by id."""
        self._types = [kind.id for kind in SUPPORTED_TYPES]
        self._types += sorted(
            set(_types_in(spec)) - {name for kind in SUPPORTED_TYPES for name in kind.names} - REPLACED_TYPES.keys() - _OTHER_REFERENCES
        )
        self._requirements = {id_: PanelRequirements.of(panel) for id_, panel in panels.items()}

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> list[DataSource | DashwrightError]:
        """Return a source of generated data for each query."""
        requirements = self._requirements.get(context.panel_id or 0, PanelRequirements())
        return [_source_of(query, requirements) for query in queries]

    async def catalog(self, context: QueryContext) -> Catalog:
        """Return the data sources of all types."""
        return Catalog([CatalogEntry(f"generated-{id_}", id_.title(), id_, is_default=id_ == PROMETHEUS.id) for id_ in self._types])


class GeneratedSource(Source):
    """A source of generated data for the queries of one panel."""

    def __init__(self, source_type: str, requirements: PanelRequirements) -> None:
        self._record = SourceRecord(1, 1, f"generated-{source_type}", source_type, source_type)
        self._requirements = requirements

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return series for queries in PromQL and similar languages, log lines for logs, and tables for all others."""
        requirements, expression = self._requirements, (query.model_extra or {}).get("expr")
        if not isinstance(expression, str):
            return table_of_query(query, requirements.type, requirements.names, requirements.queries, time_range)
        if requirements.type in ("logs", "table") and self._record.type == "loki" and expression.lstrip().startswith("{"):
            return log_lines(query.ref_id, requirements.names, time_range)
        extra_labels = [*requirements.labels, *(read.name for read in requirements.names if _is_label(read))]
        return series_of_query(query, self._record, extra_labels, time_range, limits)

    async def variable_options(self, text: str, time_range: TimeRange, limits: Limits) -> Sequence[tuple[str, str]]:
        """Return three options."""
        return [(f"option-{number}", f"option-{number}") for number in (1, 2, 3)]

    async def health(self) -> str:
        """Return a message that data is generated."""
        return "Data is generated"


def _source_of(query: SourceQuery, requirements: PanelRequirements) -> DataSource:
    """Return the built-in data source of a query, which generates data itself, or a source of generated data."""
    source_type = query.datasource.type
    if source_type in BUILT_IN:
        return DataSource(source_type, BUILT_IN[source_type])
    return DataSource(source_type, GeneratedSource(canonical_type(source_type), requirements))


def _is_label(read: ReadName) -> bool:
    """Return whether a name may be that of a label, and is not that of a column of values or times."""
    return read.name.isidentifier() and read.name not in ("Value", "Time", "Field", "Metric") and read.use != "number"


def _types_in(value: Any) -> Iterator[str]:
    """Yield the types of data sources in a dashboard: of references, of queries, and of variables of data sources."""
    if isinstance(value, dict):
        reference = value.get("datasource")
        if isinstance(reference, dict) and isinstance(reference.get("type"), str):
            yield reference["type"]
        if value.get("type") == "datasource" and isinstance(value.get("query"), str):
            yield value["query"]
        if value.get("kind") in ("DataQuery", "DatasourceVariable"):
            group = value.get("group") or object_of(value.get("spec")).get("pluginId")
            if isinstance(group, str) and group:
                yield group
        for item in value.values():
            yield from _types_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _types_in(item)


def _strings(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON tree."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(item)

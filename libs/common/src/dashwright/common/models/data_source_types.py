"""Data source types that can be queried. A new type needs an entry here and a package in ``expressions/sources``."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DataSourceType:
    """A data source type, with the names used in records and dashboards."""

    id: str
    name: str
    logo: str
    aliases: tuple[str, ...] = ()  #: Earlier ids, which older records and dashboards contain.
    is_http: bool = False  #: True if the address is a URL.
    is_host_and_port: bool = False  #: True if the address is ``host:port``.

    @property
    def names(self) -> tuple[str, ...]:
        """The id and the aliases."""
        return (self.id, *self.aliases)


TESTDATA: Final = DataSourceType(
    "grafana-testdata-datasource",
    "TestData",
    "public/app/plugins/datasource/grafana-testdata-datasource/img/testdata.svg",
    ("testdata",),
)
PROMETHEUS: Final = DataSourceType(
    "prometheus", "Prometheus", "public/app/plugins/datasource/prometheus/img/prometheus_logo.svg", is_http=True
)
POSTGRESQL: Final = DataSourceType(
    "grafana-postgresql-datasource",
    "PostgreSQL",
    "public/app/plugins/datasource/grafana-postgresql-datasource/img/postgresql_logo.svg",
    ("postgres",),
    is_host_and_port=True,
)

#: All types that can be queried. The gateway lists and validates them, and lint accepts them in dashboards.
SUPPORTED_TYPES: Final = (TESTDATA, PROMETHEUS, POSTGRESQL)

#: The supported types by their ids and aliases.
TYPE_BY_NAME: Final = {name: source_type for source_type in SUPPORTED_TYPES for name in source_type.names}

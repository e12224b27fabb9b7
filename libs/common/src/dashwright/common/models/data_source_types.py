"""Types of data sources that queries are served for. A new type is one entry here and one room in ``expressions/sources``."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DataSourceType:
    """A type of data sources, as records and dashboards name it."""

    id: str
    name: str
    logo: str
    aliases: tuple[str, ...] = ()  #: Earlier ids, which older records and dashboards have.
    is_http: bool = False  #: The address is a URL.
    is_place: bool = False  #: The address is ``host:port``.

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
    is_place=True,
)

#: All types that are served: what the gateway lists and checks, what dashboards may query without a lint finding.
SERVED: Final = (TESTDATA, PROMETHEUS, POSTGRESQL)

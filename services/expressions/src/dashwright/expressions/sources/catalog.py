"""The data sources of an organization, and the resolution of references to them by Grafana's rules."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dashwright.common.models.data_source_types import PROMETHEUS, TYPE_BY_NAME

#: The maximum number of data sources that a message names.
_MAX_LISTED: Final = 5
#: The maximum number of characters of each name in a message.
_MAX_NAME_LENGTH: Final = 60
#: References to the default data source, in place of a uid.
DEFAULT_NAMES: Final = frozenset({"", "default", "null"})
#: A reference to a variable, or to an input of a dashboard that was shared, such as ``${DS_PROMETHEUS}``.
PLACEHOLDER: Final = re.compile(r"\$\{?\w|\[\[\w")
#: Types of plugins that send queries in PromQL, and the served type that takes their place.
REPLACED_TYPES: Final[Mapping[str, str]] = dict.fromkeys(
    (
        "grafana-amazonprometheus-datasource",
        "grafana-azureprometheus-datasource",
        "victoriametrics-datasource",
        "victoriametrics-metrics-datasource",
    ),
    PROMETHEUS.id,
)


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A data source without its settings."""

    uid: str
    name: str
    type: str
    is_default: bool = False
    can_query: bool = True  #: True if the caller may query it.
    scrape_interval: str = ""  #: ``jsonData.timeInterval``.


@dataclass(frozen=True, slots=True)
class Catalog:
    """The data sources of an organization, by name."""

    entries: Sequence[CatalogEntry] = field(default=())

    def find(self, reference: str) -> CatalogEntry | None:
        """Return the data source with this uid, else with this name, or None."""
        by_uid = (entry for entry in self.entries if entry.uid == reference)
        by_name = (entry for entry in self.entries if entry.name == reference)
        return next(by_uid, None) or next(by_name, None)

    def of_type(self, source_type: str) -> list[CatalogEntry]:
        """Return the data sources of a type that the caller may query, or else the data sources of the type that replaces it."""
        entries = [entry for entry in self.entries if entry.can_query and canonical_type(entry.type) == canonical_type(source_type)]
        replacement = REPLACED_TYPES.get(source_type)
        return entries if entries or replacement is None else self.of_type(replacement)

    def default(self, source_type: str = "") -> CatalogEntry | None:
        """Return the default data source, or None. With a type, return the default of that type, or else the first of that type."""
        candidates = self.of_type(source_type) if source_type else [entry for entry in self.entries if entry.can_query]
        first_of_type = candidates[0] if source_type and candidates else None
        return next((entry for entry in candidates if entry.is_default), first_of_type)

    def resolve(self, reference: str, source_type: str = "") -> CatalogEntry | None:
        """Return the data source of a uid or name without variables, or None.

        An unknown reference with a type means the default of the type, which a dashboard from another installation needs. Without
        a type, only one of DEFAULT_NAMES or a placeholder means the default data source.
        """
        if reference not in DEFAULT_NAMES and (entry := self.find(reference)):
            return entry
        if source_type:
            return self.default(source_type)
        return self.default() if reference in DEFAULT_NAMES or PLACEHOLDER.search(reference) else None


def canonical_type(source_type: str) -> str:
    """Return the current id of a type, for an id that was used earlier."""
    data_source_type = TYPE_BY_NAME.get(source_type)
    return data_source_type.id if data_source_type else source_type


def names_of(entries: Iterable[CatalogEntry]) -> str:
    """Return the names of the first data sources for a message; ``none`` without data sources."""
    return ", ".join(repr(entry.name[:_MAX_NAME_LENGTH]) for entry in list(entries)[:_MAX_LISTED]) or "none"

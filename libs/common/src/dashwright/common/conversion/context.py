"""Objects of the organization that a conversion looks up: data sources and library panels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class KnownDataSource:
    """Data source as far as conversions need it."""

    uid: str
    type: str
    name: str
    api_version: str = ""  #: Version of the plugin's API. References to the data source contain this version, unless it is empty.
    is_default: bool = False


class DataSourceIndex:
    """The data sources of an organization, by name and by uid."""

    def __init__(self, data_sources: Iterable[KnownDataSource] = ()) -> None:
        all_sources = tuple(data_sources)
        self._by_name = {source.name: source for source in all_sources}
        self._by_uid = {source.uid: source for source in all_sources}
        #: The data source of panels that name none.
        self.default = next((source for source in all_sources if source.is_default), None)

    def find(self, name_or_uid: str) -> KnownDataSource | None:
        """Return the data source with a name or, if no name matches, with a uid. Return None if both are unknown."""
        return self._by_name.get(name_or_uid) or self._by_uid.get(name_or_uid)

    def with_uid(self, uid: str) -> KnownDataSource | None:
        """Return the data source with a uid, or None."""
        return self._by_uid.get(uid)


@dataclass(frozen=True, slots=True)
class ConversionContext:
    """Objects of one organization that references in a dashboard may name."""

    data_sources: DataSourceIndex = field(default_factory=DataSourceIndex)
    #: Bodies of library panels, by uid. A panel that refers to a library panel is repeated as the body of the library panel says.
    library_panels: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    #: Text that identifies the content of the context, as a part of the cache key of converted dashboards.
    fingerprint: str = ""


#: Context in which no data source and no library panel exists.
EMPTY_CONTEXT = ConversionContext()

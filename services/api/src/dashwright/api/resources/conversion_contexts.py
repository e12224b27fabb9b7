"""Contexts of conversions: the data sources and library panels to which dashboards refer."""

import asyncio
from collections.abc import Mapping
from typing import Final

import orjson

from dashwright.api.stores import library_elements
from dashwright.common.conversion.context import ConversionContext, DataSourceIndex, KnownDataSource
from dashwright.common.conversion.scope import ConversionScope, enter_scope
from dashwright.common.database.pool import Database
from dashwright.common.identity import org_of
from dashwright.common.single_flight import SingleFlight
from dashwright.common.stores import changes, data_sources
from dashwright.common.stores.changes import StreamName

#: Seconds after which the data sources and library panels of a namespace are read again. Other gateways may have changed them.
_MAX_AGE_SECONDS: Final = 5.0


class ConversionContexts:
    """The context of each namespace, read from the database when requests need it."""

    def __init__(self, database: Database, cache_bytes: int) -> None:
        self._database = database
        #: The contexts, and the cache of converted dashboards, as conversions find them.
        self._scope = ConversionScope(cache_bytes)
        #: Time of the event loop at the last read, by namespace.
        self._read_at: dict[str, float] = {}
        #: Resource version of the namespace when its library panels were read, by namespace. Only a newer version is read again.
        self._panel_versions: dict[str, int] = {}
        #: Bodies of the repeated library panels, as JSON by name, by namespace. Conversions need only these.
        self._panels: dict[str, Mapping[str, str]] = {}
        self._reads: SingleFlight[str, None] = SingleFlight()

    async def enter(self, namespace: str) -> None:
        """Let the running request convert dashboards of a namespace. A name that is not one of a namespace has an empty context."""
        read_at = self._read_at.get(namespace)
        if read_at is None or asyncio.get_running_loop().time() - read_at > _MAX_AGE_SECONDS:
            await self._reads.run(namespace, lambda: self._read(namespace))
        enter_scope(self._scope)

    async def _read(self, namespace: str) -> None:
        """Read the context of a namespace, with the library panels only if objects of the namespace have changed."""
        org_id = org_of(namespace)
        if org_id is None:
            return
        async with self._database.connection() as connection:
            stored_sources = await data_sources.list_all(connection, org_id)
            version = await changes.visible_version(connection, StreamName.OBJECTS, namespace)
            if version != self._panel_versions.get(namespace):
                self._panels[namespace] = await library_elements.list_repeated(connection, namespace)
                self._panel_versions[namespace] = version
        known_sources = tuple(
            KnownDataSource(source.uid, source.fields.type, source.name, is_default=source.fields.is_default) for source in stored_sources
        )
        panels = self._panels[namespace]
        context = ConversionContext(
            data_sources=DataSourceIndex(known_sources),
            library_panels={name: orjson.loads(body) for name, body in panels.items()},
            fingerprint=repr((known_sources, panels)),
        )
        self._scope.set_context(namespace, context)
        self._read_at[namespace] = asyncio.get_running_loop().time()

"""The renderer of dashboards: the expressions worker draws a picture, which is stored and has a public address."""

import asyncio
import uuid
from typing import Final

from dashwright.common.database.pool import Database
from dashwright.common.errors import NotFound
from dashwright.common.identity import org_of
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.messaging.signing import Signer
from dashwright.common.models.pictures import PictureOptions, request_of
from dashwright.common.models.query_context import QueryContext
from dashwright.common.stores import library_panels, pictures
from dashwright.common.stores.pictures import StoredPicture
from dashwright.jobs_worker.domain.objects import Repository

_TIMEOUT_SECONDS: Final = 30.0
_PICTURE_OPTIONS: Final = PictureOptions(width=800, theme="light")


class PictureRenderer:
    """A renderer that calls the expressions worker. ``gateway_address`` is the public address of the gateway."""

    def __init__(self, database: Database, broker: Broker, signer: Signer, gateway_address: str) -> None:
        self._database = database
        self._queue = broker.topology.pictures
        self._rpc = RpcClient(broker, signer)
        self._gateway_address = gateway_address

    async def start(self) -> None:
        """Start receiving replies."""
        await self._rpc.start()

    async def stop(self) -> None:
        """Stop receiving replies."""
        await self._rpc.close()

    async def render(self, repository: Repository, spec: bytes) -> str:
        """Render a dashboard and return the public address of the picture; see ``Renderer.render``."""
        # A picture is public, so errors in it must not show the addresses of data sources.
        context = QueryContext(org_id=org_of(repository.namespace) or 0, readable=frozenset())
        request = request_of(spec, await self._options(repository.namespace, spec.decode()))
        response = await self._rpc.call(self._queue, request, timeout=_TIMEOUT_SECONDS, headers=context.headers())
        picture = StoredPicture(str(response.headers.get("content_type", "")), await response.read())
        async with self._database.transaction() as connection:
            picture_id = await pictures.insert(connection, uuid.UUID(repository.uid), picture)
        if picture_id is None:
            raise NotFound(f"repository {repository.name!r} is gone")
        namespace_address = f"{self._gateway_address}/apis/{REPOSITORY.api_version()}/namespaces/{repository.namespace}"
        return f"{namespace_address}/{REPOSITORY.plural}/{repository.name}/render/{picture_id}"

    async def _options(self, namespace: str, spec: str) -> PictureOptions:
        """Return the options of a picture with the stored library panels of the organization to which the dashboard refers."""
        if not library_panels.may_refer(spec):
            return _PICTURE_OPTIONS
        uids = await asyncio.to_thread(library_panels.referenced_uids, spec)
        async with self._database.connection() as connection:
            # The repository has no user whose rights could exclude a library panel.
            models = await library_panels.find_models(connection, namespace, uids, lambda _: True)
        return _PICTURE_OPTIONS.model_copy(update={"library_panels": models})

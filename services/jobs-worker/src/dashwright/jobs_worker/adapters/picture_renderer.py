"""The renderer of dashboards: the expressions service draws, and the picture is stored under a public address."""

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
from dashwright.common.stores import pictures
from dashwright.common.stores.pictures import StoredPicture
from dashwright.jobs_worker.domain.objects import Repository

_SECONDS: Final = 30.0
_DRAWING: Final = PictureOptions(width=800, theme="light")


class PictureRenderer:
    """Renders pictures by RPC. ``address`` is the public address of the gateway."""

    def __init__(self, database: Database, broker: Broker, signer: Signer, address: str) -> None:
        self._database = database
        self._queue = broker.topology.pictures
        self._rpc = RpcClient(broker, signer)
        self._address = address

    async def start(self) -> None:
        """Start receiving replies."""
        await self._rpc.start()

    async def stop(self) -> None:
        """Stop receiving replies."""
        await self._rpc.close()

    async def render(self, repository: Repository, spec: bytes) -> str:
        """Render a dashboard, as the port describes."""
        context = QueryContext(org_id=org_of(repository.namespace) or 0, readable=frozenset())
        answer = await self._rpc.call(self._queue, request_of(spec, _DRAWING), timeout=_SECONDS, headers=context.headers())
        picture = StoredPicture(str(answer.headers.get("content_type", "")), await answer.read())
        async with self._database.transaction() as connection:
            made = await pictures.put(connection, uuid.UUID(repository.uid), picture)
        if made is None:
            raise NotFound(f"repository {repository.name!r} is gone")
        group = REPOSITORY.api_version()
        return f"{self._address}/apis/{group}/namespaces/{repository.namespace}/{REPOSITORY.plural}/{repository.name}/render/{made}"

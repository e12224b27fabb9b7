"""What the jobs worker does with a repository while somebody waits: it alone reads folders, talks to git hosts and writes to either."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from dashwright.api.workers.repository_health import RepositoryHealthClient
from dashwright.common.database.pool import Database
from dashwright.common.errors import DeadlineExceeded, Unhealthy
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.shape import Shape
from dashwright.common.single_flight import SingleFlight
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

Done = TypeVar("Done")

READ: Final = REPOSITORY.actions["get"]

SECONDS: Final = 33.0
"""How long the worker may take for all that one request asks of it: the git host has 30 of them to answer it."""


class RepositoryClient:
    def __init__(self, database: Database, broker: Broker, rpc: RpcClient, probe: RepositoryHealthClient) -> None:
        self._database = database
        self._queue = broker.topology.repositories
        self._rpc = rpc
        self._probe = probe
        self._under_way: SingleFlight[object, Any] = SingleFlight()

    async def require_ready(self, caller: Identity, namespace: str, name: str) -> StoredObject:
        """The repository, which can be worked with. Raises NotFound, and Unhealthy for one that failed its probe.

        Why it did, with addresses and folders, is told to who may read repositories.
        """
        async with self._database.connection() as connection:
            repository = await resources.get(connection, REPOSITORY, namespace, name)
        try:
            await self._probe.require_healthy(namespace, [repository])
        except Unhealthy as error:
            if caller.may(READ):
                raise
            raise Unhealthy("The repository configuration is not healthy", details=error.details) from error
        return repository

    async def call(self, request: Shape, *, deadline: float) -> bytes:
        """The worker's answer, until ``due`` by the loop's clock. Raises what the worker raises, DeadlineExceeded and Unavailable."""
        left = deadline - asyncio.get_running_loop().time()
        answer = await self._rpc.call(self._queue, request.to_json(), timeout=max(left, 0.001))
        return await answer.read()

    async def complete(self, work: Callable[[], Coroutine[Any, Any, Done]], *, deadline: float) -> Done:
        """Waits until ``due`` for a change to be made and recorded; it goes on after that, and is recorded as what it became.

        Raises DeadlineExceeded, and what the work does.
        """
        try:
            async with asyncio.timeout_at(deadline):
                done: Done = await self._under_way.once(object(), work)
        except TimeoutError as error:
            text = f"The change took longer than {SECONDS:g} seconds; look whether it has come before you ask for it again"
            raise DeadlineExceeded(text) from error
        return done


def recording_deadline(deadline: float) -> float:
    """Until when an answer to a change is worth having that was waited for until ``due``: what it became is recorded then."""
    return deadline + SECONDS


def deadline_after(seconds: float = SECONDS) -> float:
    """When an answer that is asked for now has to be there."""
    return asyncio.get_running_loop().time() + seconds

"""A client of the jobs worker for requests about a repository. Only the worker reads directories and talks to git hosts."""

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
"""Seconds that the worker may take for one request of a client. The git host has 30 of them."""


class RepositoryClient:
    """The client."""

    def __init__(self, database: Database, broker: Broker, rpc: RpcClient, probe: RepositoryHealthClient) -> None:
        self._database = database
        self._queue = broker.topology.repositories
        self._rpc = rpc
        self._probe = probe
        self._under_way: SingleFlight[object, Any] = SingleFlight()

    async def require_ready(self, caller: Identity, namespace: str, name: str) -> StoredObject:
        """Return the stored repository if it is healthy. Raises NotFound, and Unhealthy for a repository that failed its probe.

        Only callers who may read repositories get the reason, since it may name addresses and directories.
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
        """Return the worker's response. ``deadline`` is a time of the loop's clock.

        Raises what the worker raises, DeadlineExceeded and Unavailable.
        """
        left = deadline - asyncio.get_running_loop().time()
        # A deadline that has passed becomes DeadlineExceeded, too.
        response = await self._rpc.call(self._queue, request.to_json(), timeout=max(left, 0.001))
        return await response.read()

    async def complete(self, work: Callable[[], Coroutine[Any, Any, Done]], *, deadline: float) -> Done:
        """Return the result of a change. After ``deadline`` the change continues in the background and is still recorded.

        Raises DeadlineExceeded, and what ``work`` raises.
        """
        try:
            async with asyncio.timeout_at(deadline):
                # The key is unique, so nothing is shared: single flight keeps the change running if the caller is cancelled.
                done: Done = await self._under_way.once(object(), work)
        except TimeoutError as error:
            text = f"The change took longer than {SECONDS:g} seconds; check if it was made before you request it again"
            raise DeadlineExceeded(text) from error
        return done


def recording_deadline(deadline: float) -> float:
    """Return the time until which the result of a change is awaited in the background, in order to record it."""
    return deadline + SECONDS


def deadline_after(seconds: float | None = None) -> float:
    """Return the time of the loop's clock that is ``seconds`` from now; by default ``SECONDS``."""
    return asyncio.get_running_loop().time() + (SECONDS if seconds is None else seconds)

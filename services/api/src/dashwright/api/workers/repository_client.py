"""A client of the jobs worker for requests about a repository. Only the worker reads directories and connects to git hosts."""

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
from dashwright.common.models.api_model import ApiModel
from dashwright.common.single_flight import SingleFlight
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

Result = TypeVar("Result")

#: The permission to read repositories.
READ_ACTION: Final = REPOSITORY.actions["get"]

TIMEOUT_SECONDS: Final = 33.0
"""Time limit of one request to the worker in seconds. The worker waits up to 30 seconds for the git host."""


class RepositoryClient:
    """A client that sends requests about repositories to the jobs worker."""

    def __init__(self, database: Database, broker: Broker, rpc: RpcClient, health_client: RepositoryHealthClient) -> None:
        self._database = database
        self._queue = broker.topology.repositories
        self._rpc = rpc
        self._health_client = health_client
        self._running_changes: SingleFlight[object, Any] = SingleFlight()

    async def get_healthy(self, caller: Identity, namespace: str, name: str) -> StoredObject:
        """Return the stored repository. Raises NotFound, and Unhealthy if its probe failed.

        Only callers who may read repositories get the reason, because it may contain addresses and directories.
        """
        async with self._database.connection() as connection:
            repository = await resources.get(connection, REPOSITORY, namespace, name)
        try:
            await self._health_client.require_healthy(namespace, [repository])
        except Unhealthy as error:
            if caller.may(READ_ACTION):
                raise
            raise Unhealthy("The repository configuration is not healthy", details=error.details) from error
        return repository

    async def call(self, request: ApiModel, *, deadline: float) -> bytes:
        """Return the body of the worker's response. ``deadline`` is a time of the event loop's clock.

        Raises the errors of the worker, DeadlineExceeded and Unavailable.
        """
        remaining_seconds = deadline - asyncio.get_running_loop().time()
        # A timeout above 0 lets the call raise DeadlineExceeded for a deadline that has passed.
        response = await self._rpc.call(self._queue, request.to_json(), timeout=max(remaining_seconds, 0.001))
        return await response.read()

    async def run_to_completion(self, change: Callable[[], Coroutine[Any, Any, Result]], *, deadline: float) -> Result:
        """Return the result of ``change``, which continues in the background after ``deadline``.

        Raises DeadlineExceeded, and the errors of ``change``.
        """
        try:
            async with asyncio.timeout_at(deadline):
                # Single flight keeps the change running if the caller is cancelled. The key is unique, because no result may be shared.
                result: Result = await self._running_changes.run(object(), change)
        except TimeoutError as error:
            message = f"The change took longer than {TIMEOUT_SECONDS:g} seconds; check if it was made before you request it again"
            raise DeadlineExceeded(message) from error
        return result


def background_deadline(deadline: float) -> float:
    """Return the deadline of a change that continues in the background after the client's ``deadline``, to record its result."""
    return deadline + TIMEOUT_SECONDS


def deadline_after(seconds: float | None = None) -> float:
    """Return the time of the event loop's clock after ``seconds``, by default ``TIMEOUT_SECONDS``."""
    return asyncio.get_running_loop().time() + (TIMEOUT_SECONDS if seconds is None else seconds)

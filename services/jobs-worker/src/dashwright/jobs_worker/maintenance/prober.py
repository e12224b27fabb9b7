"""Probes of repositories. A probe checks whether a repository can be read, and records the result as its health.

The gateway and every job on a local folder request probes.
"""

from collections.abc import Awaitable, Callable, Sequence

import structlog
from pydantic import ValidationError

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, DashwrightError, SourceFailed, TooManyRequests
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.messaging.rpc import Reply, Request
from dashwright.common.models.probe import ProbeRequest
from dashwright.common.models.provisioning import HealthStatus, RepositorySpec, RepositoryStatus
from dashwright.common.stores import resources
from dashwright.common.stores.repository_events import Announcement, announce, health_announcements
from dashwright.common.stores.resources import StoredObject
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.domain.readiness import set_readiness
from dashwright.jobs_worker.stored_repositories import load

log = structlog.get_logger()

CheckReadable = Callable[[Repository], Awaitable[None]]
"""Checks that a repository can be read. Raises SourceFailed, or an error with a status below 500, with the reason why it cannot."""


class Prober:
    """The prober of repositories. It records each result in the repository's status."""

    def __init__(self, database: Database, clock: Clock, check_readable: CheckReadable) -> None:
        self._database = database
        self._clock = clock
        self._check_readable = check_readable

    async def handle(self, request: Request) -> Reply:
        """Handle an RPC: its body is a ProbeRequest, its reply the HealthStatus."""
        try:
            target = ProbeRequest.model_validate_json(request.body)
        except ValidationError as error:
            raise BadRequest("the request names no repository to probe") from error
        health = await self.probe(target.namespace, target.name)
        return Reply(body=health.to_json())

    async def probe(self, namespace: str, name: str) -> HealthStatus:
        """Probe a repository and return the recorded health. Raises NotFound for an unknown repository.

        If requests to the host are paused, the health is unchanged and its message says why.
        """
        async with self._database.connection() as connection:
            repository = await load(connection, namespace, name)
        try:
            fault = await self._fault(repository)
        except TooManyRequests as error:
            return await self._record_wait(namespace, name, error)
        return await self._record_result(namespace, name, fault)

    async def record(self, namespace: str, name: str, error: DashwrightError | None) -> None:
        """Record that a repository was read (``error`` None), or why it was not. An error of the database or broker is ignored."""
        if isinstance(error, TooManyRequests):
            await self._record_wait(namespace, name, error)
        elif error is None or not error.is_server_error or isinstance(error, SourceFailed):
            await self._record_result(namespace, name, error)

    async def _record_result(self, namespace: str, name: str, error: DashwrightError | None) -> HealthStatus:
        """Write whether a repository could be read into its status, announce a change, and return the health."""
        now, reason = self._clock.milliseconds(), None if error is None else error.message
        changes: list[tuple[StoredObject, Sequence[Announcement]]] = []

        def change(status: RepositoryStatus, stored_object: StoredObject) -> None:
            if status.health.healthy != (error is None):
                log.info("repository_health_changed", repository=name, healthy=error is None, reason=reason)
            was_healthy = None if status.health.checked is None else status.health.healthy
            announcements = health_announcements(
                stored_object, was_healthy=was_healthy, healthy=error is None, message=reason, commit=status.sync.last_ref, milliseconds=now
            )
            changes.append((stored_object, announcements))
            spec = RepositorySpec.model_validate_json(stored_object.spec)
            set_readiness(status, spec, error, generation=stored_object.generation, now=now)

        async with self._database.transaction() as connection:
            status = await resources.update_status(connection, REPOSITORY, namespace, name, RepositoryStatus, change)
            # After the update, because ``change`` is not a coroutine and cannot write to the database.
            for repository, announcements in changes:
                await announce(connection, repository, announcements)
        return status.health

    async def _record_wait(self, namespace: str, name: str, error: TooManyRequests) -> HealthStatus:
        """Write into the status that requests to the host are paused, and return the health, which is otherwise unchanged."""

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            # The message of an unhealthy repository remains: it names the fault to correct.
            if status.health.healthy or status.health.checked is None:
                status.health.message = [error.message]

        async with self._database.transaction() as connection:
            status = await resources.update_status(connection, REPOSITORY, namespace, name, RepositoryStatus, change)
        return status.health

    async def _fault(self, repository: Repository) -> DashwrightError | None:
        """Return why a repository cannot be read, None if it can. Raises errors that neither the repository nor its host caused."""
        try:
            await self._check_readable(repository)
        except TooManyRequests:
            raise
        except DashwrightError as error:
            if error.is_server_error and not isinstance(error, SourceFailed):
                raise
            return error
        return None

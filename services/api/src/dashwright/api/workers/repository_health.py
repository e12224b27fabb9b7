"""A client of the jobs worker that checks the health of a repository before jobs and requests for it are accepted."""

import asyncio
from collections.abc import Sequence

import structlog

from dashwright.common.clock import Clock
from dashwright.common.errors import DeadlineExceeded, Unavailable, Unhealthy
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.probe import ProbeRequest
from dashwright.common.models.provisioning import HealthStatus, RepositoryStatus
from dashwright.common.stores.resources import StoredObject

log = structlog.get_logger()

_MAX_CONCURRENT_PROBES = 32

HEALTHY_TTL_SECONDS = 25
"""Seconds for which the result of a successful probe is reused."""

UNHEALTHY_TTL_SECONDS = 5
"""Seconds for which the result of a failed probe is reused; short, because a user who fixed the cause retries soon."""


class RepositoryHealthClient:
    """A client that reuses recent results of probes from the stored status of the repository."""

    def __init__(self, broker: Broker, rpc: RpcClient, clock: Clock, *, timeout: float = 2.0) -> None:
        """Create the client. A probe waits up to ``timeout`` seconds for the worker."""
        self._broker = broker
        self._queue = broker.topology.probe
        self._rpc = rpc
        self._clock = clock
        self._timeout = timeout

    async def require_healthy(self, namespace: str, repositories: Sequence[StoredObject]) -> None:
        """Raise Unhealthy for the first repository whose probe failed. Probe the repositories without a recent result.

        A probe without a response does not count as failed.
        """
        health_by_name = {
            repository.name: RepositoryStatus.model_validate_json(repository.status or "{}").health for repository in repositories
        }
        stale_names = [name for name, health in health_by_name.items() if self._is_stale(health)]
        for start in range(0, len(stale_names), _MAX_CONCURRENT_PROBES):
            names = stale_names[start : start + _MAX_CONCURRENT_PROBES]
            results = await asyncio.gather(*(self._probe(namespace, name) for name in names))
            health_by_name |= {name: health for name, health in zip(names, results, strict=True) if health is not None}
            if None in results:  # Without a worker, each further batch would only wait for its timeout.
                break
        for name, health in health_by_name.items():
            if health.checked is not None and not health.healthy:
                reasons = "; ".join(health.message or ())
                raise Unhealthy(f"The repository configuration is not healthy: {reasons}", details={"name": name})

    def _is_stale(self, health: HealthStatus) -> bool:
        """Return whether the repository must be probed again: its last probe is too old, or it was never probed."""
        ttl_milliseconds = 1000 * (HEALTHY_TTL_SECONDS if health.healthy else UNHEALTHY_TTL_SECONDS)
        return health.checked is None or health.checked < self._clock.milliseconds() - ttl_milliseconds

    async def _probe(self, namespace: str, name: str) -> HealthStatus | None:
        """Return the result of a new probe, or None without a response of the worker."""
        request = ProbeRequest(namespace=namespace, name=name)
        try:
            await self._broker.check()  # Fails immediately without a broker, where the call would wait for its timeout.
            response = await self._rpc.call(self._queue, request.to_json(), timeout=self._timeout)
            return HealthStatus.model_validate_json(await response.read())
        except (Unavailable, DeadlineExceeded) as error:
            log.info("repository_not_probed", repository=name, error=error.message)
            return None

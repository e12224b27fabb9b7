"""A client of the jobs worker that checks the health of a repository before work for it is accepted."""

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

_CONCURRENT_PROBES = 32

FRESH_SECONDS = 25
"""Seconds for which a successful probe is reused; after that the next request probes again."""

UNHEALTHY_SECONDS = 5
"""Seconds for which a failed probe is reused; it is short because a user who fixed the cause retries soon."""


class RepositoryHealthClient:
    """The client. Results of probes are reused from the stored status of the repository."""

    def __init__(self, broker: Broker, rpc: RpcClient, clock: Clock, *, timeout: float = 2.0) -> None:
        """Create the client. A request waits up to ``timeout`` seconds for the worker."""
        self._broker = broker
        self._queue = broker.topology.probe
        self._rpc = rpc
        self._clock = clock
        self._timeout = timeout

    async def require_healthy(self, namespace: str, repositories: Sequence[StoredObject]) -> None:
        """Raise Unhealthy for the first repository whose probe failed. A probe without response does not count as failed."""
        known = {item.name: RepositoryStatus.model_validate_json(item.status or "{}").health for item in repositories}
        stale = [name for name, health in known.items() if self._is_stale(health)]
        for start in range(0, len(stale), _CONCURRENT_PROBES):
            names = stale[start : start + _CONCURRENT_PROBES]
            seen = await asyncio.gather(*(self._probe(namespace, name) for name in names))
            known |= {name: health for name, health in zip(names, seen, strict=True) if health is not None}
            if None in seen:  # Without a worker, each further batch would only wait for its timeout.
                break
        for name, health in known.items():
            if health.checked is not None and not health.healthy:
                reasons = "; ".join(health.message or ())
                raise Unhealthy(f"The repository configuration is not healthy: {reasons}", details={"name": name})

    def _is_stale(self, health: HealthStatus) -> bool:
        believed = FRESH_SECONDS if health.healthy else UNHEALTHY_SECONDS
        return health.checked is None or health.checked < self._clock.milliseconds() - believed * 1000

    async def _probe(self, namespace: str, name: str) -> HealthStatus | None:
        request = ProbeRequest(namespace=namespace, name=name)
        try:
            await self._broker.check()  # Fails immediately without a broker, where the call would wait for its timeout.
            response = await self._rpc.call(self._queue, request.to_json(), timeout=self._timeout)
            return HealthStatus.model_validate_json(await response.read())
        except (Unavailable, DeadlineExceeded) as error:
            log.info("repository_not_probed", repository=name, error=error.message)
            return None

"""Asks whether a repository is healthy before work for it is accepted. The jobs worker looks; the gateway remembers for a moment."""

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

_AT_ONCE = 32

FRESH_SECONDS = 25
"""How long it is believed that a repository is healthy; after that the next request probes again."""

UNHEALTHY_SECONDS = 5
"""How long it is believed that it is not: who has mended what was wrong asks again soon."""


class RepositoryHealthClient:
    """``patience`` is how long a request waits for the worker, in seconds."""

    def __init__(self, broker: Broker, rpc: RpcClient, clock: Clock, *, patience: float = 2.0) -> None:
        self._broker = broker
        self._queue = broker.topology.probe
        self._rpc = rpc
        self._clock = clock
        self._patience = patience

    async def require_healthy(self, namespace: str, repositories: Sequence[StoredObject]) -> None:
        """Raises Unhealthy for the first repository whose probe failed. Nobody there to probe is no failed probe."""
        known = {item.name: RepositoryStatus.model_validate_json(item.status or "{}").health for item in repositories}
        stale = [name for name, health in known.items() if self._is_stale(health)]
        for start in range(0, len(stale), _AT_ONCE):
            asked = stale[start : start + _AT_ONCE]
            seen = await asyncio.gather(*(self._probe(namespace, name) for name in asked))
            known |= {name: health for name, health in zip(asked, seen, strict=True) if health is not None}
            if None in seen:  # nobody there to probe: waiting for each of the others would tell no more
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
            await self._broker.check()
            answer = await self._rpc.call(self._queue, request.to_json(), timeout=self._patience)
            return HealthStatus.model_validate_json(await answer.read())
        except (Unavailable, DeadlineExceeded) as error:
            log.info("repository_not_probed", repository=name, error=error.message)
            return None

"""A client of the expressions service that validates the panel of an evaluation before its submission is accepted."""

import asyncio
from typing import Any, Final

import orjson
import structlog

from dashwright.api.domain.submissions import EvaluationSubmission, invalid
from dashwright.common.errors import Cause, DeadlineExceeded, TooManyRequests, Unavailable
from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.kinds.registry import EVALUATION
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.evaluation import EvaluationSpec, panel_request
from dashwright.common.models.query_context import QueryContext, QueryEndpoint

log = structlog.get_logger()

_TIMEOUT: Final = 2.0
"""Seconds that a submission waits for a slot, and then for the service."""

_SILENT_SECONDS: Final = 5.0
"""Seconds without requests to a service that did not respond, so that a batch of 1,000 does not wait 1,000 times."""

_SLOTS: Final = 16
_WAITING: Final = 1000


class PanelValidationClient:
    """Validation of panels by the expressions service.

    While the service is unavailable or busy, every panel is accepted; the run of the evaluation then finds the same faults.
    """

    def __init__(self, broker: Broker, rpc: RpcClient) -> None:
        self._broker = broker
        self._queue = broker.topology.query
        self._rpc = rpc
        self._limiter = FairLimiter(_SLOTS, waiting=_WAITING, seconds=_TIMEOUT, subject="panels to validate")
        self._silent_until = 0.0

    async def check(self, org_id: int, wanted: EvaluationSubmission) -> None:
        """Raise Invalid, with a cause for each fault, for a panel that ``/api/panels/validate`` calls invalid, or without queries."""
        request = panel_request(wanted.spec)
        causes = [
            Cause(_field(fault["pointer"], wanted.spec), "FieldValueInvalid", fault["message"])
            for fault in await self._faults(org_id, request)
        ]
        if not causes and not (request.get("targets") or request.get("queries")):
            causes.append(Cause("spec.panel.targets", "FieldValueRequired", "Required value: No queries found; give at least one"))
        if causes:
            raise invalid(causes, EVALUATION, wanted.metadata.name)

    async def _faults(self, org_id: int, request: dict[str, Any]) -> list[dict[str, str]]:
        loop = asyncio.get_running_loop()
        if loop.time() < self._silent_until:
            return []
        headers = QueryContext(QueryEndpoint.VALIDATION, org_id=org_id).headers()
        try:
            async with self._limiter.slot(org_id):
                await self._broker.check()  # Fails immediately without a broker, where the call would wait for its timeout.
                response = await self._rpc.call(self._queue, orjson.dumps(request), timeout=_TIMEOUT, headers=headers)
                faults: list[dict[str, str]] = orjson.loads(await response.read()).get("faults", [])
                return faults
        except TooManyRequests as error:
            # A full limiter does not mean that the service is unavailable, so the next panel is tried.
            log.info("panel_not_validated", error=error.message)
        except (Unavailable, DeadlineExceeded) as error:
            self._silent_until = loop.time() + _SILENT_SECONDS
            log.info("panel_not_validated", error=error.message)
        return []


def _field(pointer: str, spec: EvaluationSpec) -> str:
    """Return the path in an Evaluation that a JSON pointer into the request of its panel leads to."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    own = bool(steps) and steps[0] in spec.model_dump(by_alias=True, exclude_none=True, exclude={"panel"})
    return ("spec" if own else "spec.panel") + "".join(f"[{step}]" if step.isdigit() else f".{step}" for step in steps)

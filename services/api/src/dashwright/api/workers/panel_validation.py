"""A client of the expressions worker that validates the panel of an evaluation before its submission is accepted."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import orjson
import structlog

from dashwright.api.domain.submissions import EvaluationSubmission, invalid_error
from dashwright.common.errors import BadRequest, Cause, DeadlineExceeded, TooManyRequests, Unavailable
from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.group_commit import GroupCommit
from dashwright.common.kinds.registry import EVALUATION
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.evaluation import EvaluationSpec, panel_request
from dashwright.common.models.query_context import QueryContext, QueryEndpoint

log = structlog.get_logger()

_TIMEOUT_SECONDS: Final = 2.0
"""Time limit in seconds of each of two waits: for a slot of the limiter, and then for the response of the worker."""

_PAUSE_SECONDS: Final = 5.0
"""Seconds without validation after the worker did not respond, so that not every waiting submission waits for its own timeout."""

_MAX_CONCURRENT: Final = 16
"""Limit on the concurrent requests to workers."""
_MAX_WAITING: Final = 1000
"""Limit on the requests that wait for a slot."""

_MAX_GROUP: Final = 64
"""Limit on the panels of one request to a worker."""

_MAX_GROUPED_BYTES: Final = 16_384
"""Maximum size in bytes of a panel that is validated together with others. A larger panel is sent alone."""

#: The faults of one panel. Each has the members ``pointer``, a JSON pointer, and ``message``.
_Faults = list[dict[str, str]]


class PanelValidationClient:
    """A client of the expressions worker that validates panels.

    Panels of an organization that arrive while others are validated are sent together in the next request, and equal ones only once.
    While the worker is unavailable or busy, every panel is accepted; the evaluation itself then reports the same faults.
    """

    def __init__(self, broker: Broker, rpc: RpcClient) -> None:
        self._broker = broker
        self._queue = broker.topology.query
        self._rpc = rpc
        self._limiter = FairLimiter(_MAX_CONCURRENT, waiting=_MAX_WAITING, seconds=_TIMEOUT_SECONDS, subject="panels to validate")
        #: Panels that wait, by organization id. An organization without any has no group.
        self._groups: dict[int, GroupCommit[bytes, _Faults]] = {}
        #: The time of the event loop's clock until which panels are accepted without validation.
        self._paused_until = 0.0

    async def check(self, org_id: int, submission: EvaluationSubmission) -> None:
        """Raise Invalid, with a cause for each fault that ``/api/panels/validate`` finds, and for a panel without queries."""
        request = panel_request(submission.spec)
        causes = [
            Cause(_field_path(fault["pointer"], submission.spec), "FieldValueInvalid", fault["message"])
            for fault in await self._fetch_faults(org_id, request)
        ]
        if not causes and not (request.get("targets") or request.get("queries")):
            causes.append(Cause("spec.panel.targets", "FieldValueRequired", "Required value: No queries found; give at least one"))
        if causes:
            raise invalid_error(causes, EVALUATION, submission.metadata.name)

    async def _fetch_faults(self, org_id: int, request: dict[str, Any]) -> _Faults:
        """Return the faults of one panel, which is sent together with others of its organization unless it is large."""
        body = orjson.dumps(request)
        if len(body) > _MAX_GROUPED_BYTES:
            return (await self._validate(org_id, [body]))[0]
        group = self._groups.setdefault(org_id, GroupCommit(partial(self._validate, org_id), max_items=_MAX_GROUP))
        try:
            return await group.add(body)
        finally:
            if group.is_idle:
                self._groups.pop(org_id, None)

    async def _validate(self, org_id: int, bodies: Sequence[bytes]) -> Sequence[_Faults]:
        """Return the faults of each panel. The lists are empty if no worker validates the panels."""
        distinct = [*dict.fromkeys(bodies)]
        faults = dict(zip(distinct, await self._validate_distinct(org_id, distinct), strict=True))
        return [faults[body] for body in bodies]

    async def _validate_distinct(self, org_id: int, bodies: Sequence[bytes]) -> Sequence[_Faults]:
        """Return the faults of each panel, as ``_validate`` does. The panels differ from each other."""
        loop = asyncio.get_running_loop()
        without_faults: Sequence[_Faults] = [[] for _ in bodies]
        if loop.time() < self._paused_until:
            return without_faults
        headers = QueryContext(QueryEndpoint.VALIDATIONS, org_id=org_id).headers()
        try:
            async with self._limiter.slot(org_id):
                await self._broker.check()  # Fails immediately without a broker, where the call would wait for its timeout.
                response = await self._rpc.call(self._queue, b"\n".join(bodies), timeout=_TIMEOUT_SECONDS, headers=headers)
                lines = (await response.read()).split(b"\n")
                if len(lines) == len(bodies):
                    return [orjson.loads(line).get("faults", []) if line else [] for line in lines]
        except (TooManyRequests, BadRequest) as error:
            # A full limiter does not mean that the worker is unavailable, so the next panel is tried. A worker of the previous
            # version refuses requests with several panels.
            log.info("panels_not_validated", panels=len(bodies), error=error.message)
        except (Unavailable, DeadlineExceeded) as error:
            self._paused_until = loop.time() + _PAUSE_SECONDS
            log.info("panels_not_validated", panels=len(bodies), error=error.message)
        return without_faults


def _field_path(pointer: str, spec: EvaluationSpec) -> str:
    """Return the path of a field in the Evaluation object. ``pointer`` is the JSON pointer to the field in the validation request.

    The request has the members of the panel and the other members of the spec on one level.
    """
    segments = [segment.replace("~1", "/").replace("~0", "~") for segment in pointer.split("/")[1:]]
    spec_fields_next_to_panel = spec.model_dump(by_alias=True, exclude_none=True, exclude={"panel"}).keys()
    parent_path = "spec" if segments and segments[0] in spec_fields_next_to_panel else "spec.panel"
    return parent_path + "".join(f"[{segment}]" if segment.isdigit() else f".{segment}" for segment in segments)

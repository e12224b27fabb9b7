"""Batches of evaluations, whose items are uploaded over HTTP, and the notifications of their ends."""

import json
from typing import Any
from uuid import uuid4

from tests.faults.audit import Audit
from tests.faults.loads.batch_checks import BATCHES, EndEvents, audit_batches, new_items
from tests.faults.loads.load import Database
from tests.faults.system import System

_QUEUE = "notify.default.walk"
#: Requests for one step of a batch, before its result is unknown.
_ATTEMPTS = 20


class Batches:
    """Batches that are created, filled and closed. Each request is repeated until a gateway responds."""

    name = "batches"

    def __init__(self, system: System, exchange: EndEvents) -> None:
        self._system = system
        self._audit = Audit(self.name)
        self._receivers = [EndEvents(system, _QUEUE), exchange]
        #: Names of the batches that were closed, so that they must end and their receivers must be notified.
        self._closed: list[str] = []

    async def prepare(self) -> None:
        """Declare the queues of the notifications."""
        for receiver in self._receivers:
            await receiver.declare()

    async def run(self) -> bool:
        """Create a batch, upload its items and close it."""
        name = f"batch-{uuid4().hex}"
        body = {"metadata": {"name": name}, "spec": {"notify": {"queue": _QUEUE}}}
        lines = (json.dumps({"id": str(index), **item}) for index, item in enumerate(new_items()))
        path = f"{BATCHES}/{name}"
        ndjson = {"data": "\n".join(lines), "headers": {"Content-Type": "application/x-ndjson"}}
        for address, options in ((BATCHES, {"json": body}), (f"{path}/items", ndjson), (f"{path}/close", {})):
            if not await self._send(address, **options):
                return False
        self._closed.append(name)
        self._audit.accepted += 1
        return True

    async def _send(self, path: str, **options: Any) -> bool:
        """Send a request until it is accepted, and return whether it was."""
        for attempt in range(_ATTEMPTS):
            response = await self._system.request("POST", path, **options)
            if response is None:
                continue
            # The response to an upload has a line of text for each item.
            has_refused_items = isinstance(response.body, str) and '"refused"' in response.body
            # An earlier attempt without a response may have been successful.
            was_done_before = attempt > 0 and response.status == 409
            if (response.is_accepted and not has_refused_items) or was_done_before:
                return True
            if response.status == 429:
                self._audit.refused += 1
            else:
                self._audit.wrong.append(f"{path}: {response}")
            return False
        self._audit.unknown += 1
        return False

    async def audit(self, database: Database) -> Audit:
        """Check the items of each batch, their results, and the notifications of its end."""
        audit = self._audit.copy()
        await audit_batches(self._system, database, self._closed, audit)
        for receiver in self._receivers:
            await receiver.audit(self._closed, audit)
        return audit

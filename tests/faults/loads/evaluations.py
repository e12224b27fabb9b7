"""Evaluations, each of an expression of its own, submitted over HTTP and through the queue."""

import json
import random
from typing import Any
from uuid import uuid4

from tests.faults.audit import Audit
from tests.faults.loads.load import Database, audit_jobs
from tests.faults.loads.queue import QueueSubmitter
from tests.faults.system import System

EVALUATIONS = "/apis/expressions.dashwright.io/v0alpha1/namespaces/default/evaluations"
#: Requests for one named evaluation, before its result is unknown.
_ATTEMPTS = 20
_SOURCE = {"type": "__expr__", "uid": "__expr__"}


def _evaluation(name: str | None, operation: str, number: int) -> dict[str, Any]:
    """Return an evaluation whose result is ``number`` plus one."""
    metadata = {"labels": {"operation": operation, "number": str(number)}} | ({"name": name} if name else {})
    return {
        "kind": "Evaluation",
        "apiVersion": "expressions.dashwright.io/v0alpha1",
        "metadata": metadata,
        "spec": evaluation_spec(number),
    }


def evaluation_spec(number: int) -> dict[str, Any]:
    """Return the spec of an evaluation whose result is ``number`` plus one."""
    target = {"refId": "A", "datasource": _SOURCE, "type": "math", "expression": f"{number} + 1"}
    return {"panel": {"type": "timeseries", "targets": [target]}}


async def _audit_results(database: Database, operations: dict[str, bool], audit: Audit) -> None:
    """Add findings about operations to the audit. An accepted operation must have one evaluation with its result."""
    labelled = "select uid::text, labels ->> 'operation' as operation from job where labels ->> 'operation' = any($1)"
    jobs = {row["uid"]: row["operation"] for row in await database.fetch(labelled, list(operations))}
    await audit_jobs(database, jobs, audit)
    rows = await database.fetch(
        "select job.uid::text, labels ->> 'operation' as operation, labels ->> 'number' as number, evaluation.status, body "
        "from job left join evaluation using (uid) left join evaluation_piece piece on piece.uid = job.uid and format = 'json' "
        "where labels ->> 'operation' = any($1)",
        list(operations),
    )
    stored_uids: dict[str, list[str]] = {}
    for row in rows:
        stored_uids.setdefault(row["operation"], []).append(row["uid"])
        expected = int(row["number"]) + 1
        if row["body"] is not None and result_of(json.loads(row["body"])) != expected:
            audit.wrong.append(f"the result of {row['operation']} is not {expected}: {row['body'][:200]!r}")
        elif row["body"] is None:
            audit.wrong.append(f"{row['operation']} has no result")
    audit.lost += [
        f"{operation} is not stored" for operation, is_accepted in operations.items() if is_accepted and operation not in stored_uids
    ]
    audit.doubled += [f"{operation} is stored as {uids}" for operation, uids in stored_uids.items() if len(uids) > 1]


def result_of(body: Any) -> Any:
    """Return the number in the result of an evaluation."""
    return body["results"]["A"]["frames"][0]["data"]["values"][-1][0]


class EvaluationsOverHttp:
    """Evaluations over HTTP. One with a name is requested again until a gateway responds, one without a name only once."""

    name = "evaluations over HTTP"

    def __init__(self, system: System) -> None:
        self._system = system
        self._audit = Audit(self.name)
        #: Whether an operation was accepted, by its label.
        self._operations: dict[str, bool] = {}

    async def prepare(self) -> None:
        """Do nothing: evaluations need no preparation."""

    async def run(self) -> bool:
        """Submit an evaluation."""
        operation = f"http-{uuid4().hex}"
        self._operations[operation] = False
        is_named = random.random() < 0.5
        body = _evaluation(operation if is_named else None, operation, random.randrange(1_000_000))
        for attempt in range(_ATTEMPTS if is_named else 1):
            response = await self._system.request("POST", EVALUATIONS, json=body)
            if response is None:
                continue
            # An earlier attempt without a response may have been successful.
            was_done_before = attempt > 0 and response.status == 409
            if response.is_accepted or was_done_before:
                self._operations[operation] = True
                self._audit.accepted += 1
            elif response.status in (424, 429):
                self._audit.refused += 1
            else:
                self._audit.wrong.append(f"{operation}: {response}")
            return response.is_accepted
        self._audit.unknown += 1
        return False

    async def audit(self, database: Database) -> Audit:
        """Check the evaluations and their results."""
        audit = self._audit.copy()
        await _audit_results(database, self._operations, audit)
        return audit


class EvaluationsByQueue:
    """Evaluations through the queue, some of them delivered repeatedly."""

    name = "evaluations by queue"

    def __init__(self, queue: QueueSubmitter) -> None:
        self._queue = queue
        #: Whether an operation was accepted, by its label.
        self._operations: dict[str, bool] = {}

    async def prepare(self) -> None:
        """Do nothing: evaluations need no preparation."""

    async def run(self) -> bool:
        """Publish an evaluation once or twice."""
        operation = f"evaluation-{uuid4().hex}"
        body = _evaluation(None, operation, random.randrange(1_000_000))
        is_accepted = await self._queue.publish(operation, body)
        if random.random() < 0.2:
            is_accepted = await self._queue.publish(operation, body) or is_accepted
        self._operations[operation] = is_accepted
        return is_accepted

    async def audit(self, database: Database) -> Audit:
        """Check the messages, the evaluations and their results."""
        audit = await self._queue.audit(database, Audit(self.name), prefix="evaluation-")
        await _audit_results(database, self._operations, audit)
        return audit

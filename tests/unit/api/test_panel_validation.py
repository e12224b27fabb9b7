"""Validation of the panels of submitted evaluations, by a fake worker."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import orjson
import pytest

from dashwright.api.domain.submissions import NO_METADATA, EvaluationSubmission
from dashwright.api.workers.panel_validation import PanelValidationClient
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import Reply, Request, RpcClient, RpcServer
from dashwright.common.messaging.signing import Signer
from dashwright.common.models.evaluation import EvaluationSpec


@dataclass
class FakeWorker:
    """A worker that reports a fault in each panel whose title is ``bad``, when the test permits a response."""

    client: PanelValidationClient
    #: The panels of each request, by the first nine characters of their titles.
    requests: list[list[str]] = field(default_factory=list)
    #: Released by each request that arrives.
    arrived: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    #: Acquired before each response.
    may_respond: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    is_previous_version: bool = False

    async def respond(self, request: Request) -> Reply:
        """Record the titles in a request, and reply when the test permits it. A previous version does not know the endpoint."""
        titles = [orjson.loads(line)["title"] for line in request.body.split(b"\n")]
        self.requests.append([title[:9] for title in titles])
        self.arrived.release()
        await self.may_respond.acquire()
        if self.is_previous_version:
            raise BadRequest("the message names an endpoint that this worker does not know")
        faults = [[{"pointer": "/title", "message": "it is bad"}] if title == "bad" else [] for title in titles]
        return Reply(b"\n".join(orjson.dumps({"faults": panel_faults}) for panel_faults in faults))

    async def check_panel(self, title: str, *, org_id: int = 1) -> str:
        """Return ``accepted``, or the field of the fault."""
        panel = {"type": "timeseries", "title": title, "targets": [{"refId": "A", "type": "math", "expression": "1"}]}
        try:
            await self.client.check(org_id, EvaluationSubmission(NO_METADATA, EvaluationSpec(panel=panel)))
        except Invalid as error:
            return error.causes[0].field
        return "accepted"


@pytest.fixture
async def worker() -> AsyncIterator[FakeWorker]:
    """Yield a worker that is connected to a broker."""
    broker, signer = MemoryBroker(), Signer("of tests only")
    await broker.start()
    client = RpcClient(broker, signer)
    await client.start()
    worker = FakeWorker(PanelValidationClient(broker, client))
    server = RpcServer(broker, broker.topology.query, worker.respond, signer, prefetch=8)
    await server.start()
    yield worker
    await server.stop(drain=0)
    await client.close()
    await broker.close()


async def test_panels_that_arrive_during_a_validation_share_the_next_request(worker: FakeWorker) -> None:
    """An organization has one request at a time, with each distinct panel once. Each caller receives the faults of its own panel."""
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(worker.check_panel("first"))
        await worker.arrived.acquire()
        others = [tasks.create_task(worker.check_panel(title)) for title in ("good", "bad", "good", "bad")]
        another_org = tasks.create_task(worker.check_panel("other", org_id=2))
        await worker.arrived.acquire()
        # The responses to the first panel, to the other organization, and to the four panels together.
        for _ in range(3):
            worker.may_respond.release()
    assert worker.requests == [["first"], ["other"], ["good", "bad"]]
    assert first.result() == another_org.result() == "accepted"
    good, bad = "accepted", "spec.panel.title"
    assert [task.result() for task in others] == [good, bad, good, bad]


async def test_a_large_panel_has_a_request_of_its_own(worker: FakeWorker) -> None:
    """A panel of more than 16 KiB has its own request, which is sent concurrently with that of the small panels."""
    async with asyncio.TaskGroup() as tasks:
        large_title = "large" + "!" * 17_000
        for title in ("first", large_title, "good"):
            tasks.create_task(worker.check_panel(title))
        for _ in range(2):
            await worker.arrived.acquire()
        # Two responses are expected; a third one is permitted, so that a wrong request fails the test instead of waiting.
        for _ in range(3):
            worker.may_respond.release()
    # The worker records only the first nine characters of a title.
    assert sorted(worker.requests) == [["first", "good"], ["large!!!!"]]


async def test_a_worker_of_the_previous_version_validates_nothing(worker: FakeWorker) -> None:
    """A panel is accepted without a validation if the worker does not know the endpoint. A later worker validates panels."""
    worker.is_previous_version = True
    worker.may_respond.release()
    assert await worker.check_panel("bad") == "accepted"
    worker.is_previous_version = False
    worker.may_respond.release()
    assert await worker.check_panel("bad") == "spec.panel.title"

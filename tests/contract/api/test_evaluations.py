"""Evaluations as jobs, over a gateway and an expressions worker with a real database and the in-memory broker."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pyarrow as pa
import pytest
from tests.contract.api.conftest import StartApi

from dashwright.api.main import Gateway
from dashwright.api.workers import panel_validation
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.message import Message
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker
from dashwright.jobs_worker.maintenance.cleaner import Cleaner

EVALUATIONS = "/apis/expressions.dashwright.io/v0alpha1/namespaces/default/evaluations"
ARROW = "application/vnd.apache.arrow.stream"
#: What a message needs in addition to the body of an HTTP request.
TYPE_META = {"kind": "Evaluation", "apiVersion": "expressions.dashwright.io/v0alpha1"}
VALID_CREDENTIALS = aiohttp.encode_basic_auth("admin", "admin")
SOURCE = {"type": "grafana-testdata-datasource"}


def raw_query(ref_id: str, values: list[float]) -> dict[str, Any]:
    """Return a hidden query for these values, one for each second."""
    times = [1_700_000_000_000 + 1000 * index for index in range(len(values))]
    fields = [{"name": "time", "type": "time"}, {"name": "value", "type": "number"}]
    frames = json.dumps([{"schema": {"fields": fields}, "data": {"values": [times, values]}}])
    return {"refId": ref_id, "datasource": SOURCE, "scenarioId": "raw_frame", "rawFrameContent": frames, "hide": True}


def spec(expression: str = "$A * 2", values: list[float] | None = None) -> dict[str, Any]:
    """Return the spec of an evaluation of a math expression over the query ``A``."""
    panel = {"type": "timeseries", "targets": [{"refId": "B", "type": "math", "expression": expression}]}
    return {"panel": panel, "queries": [raw_query("A", values or [1, 2, 3])]}


async def run_cleaner(database: Database) -> None:
    """Run one round of the cleaner, which keeps one job of a history and results for an hour."""
    hour = timedelta(hours=1)
    await Cleaner(database, history=1, versions=1, results=hour, changes=hour, trash=hour).clean()


class EvaluationClient:
    """A client of evaluations over the gateway."""

    def __init__(self, session: aiohttp.ClientSession, broker: MemoryBroker) -> None:
        self._session = session
        self.broker = broker

    async def call(self, method: str, path: str, *, accept: str = "*/*", **options: Any) -> tuple[int, bytes]:
        """Return the status and the body of a response to the server admin."""
        headers = {"Authorization": aiohttp.encode_basic_auth("admin", "admin"), "Accept": accept}
        async with self._session.request(method, path, headers=headers, **options) as response:
            return response.status, await response.read()

    async def submit(self, evaluation_spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        """Create an evaluation and return it."""
        body = io.BytesIO(orjson.dumps({"metadata": metadata, "spec": evaluation_spec}))
        status, response = await self.call("POST", EVALUATIONS, data=aiohttp.BytesIOPayload(body, content_type="application/json"))
        assert status == 202, response
        created: dict[str, Any] = orjson.loads(response)
        return created

    async def publish(self, body: Any, *, message_id: str | None = None, **headers: str) -> dict[str, Any]:
        """Publish a submission and return the reply, which carries its correlation id."""
        responses: asyncio.Queue[Message] = asyncio.Queue()
        inbox = await self.broker.inbox(responses.put_nowait, lambda: None, confirmed=True)
        message = Message(
            body=orjson.dumps(body), reply_to=inbox._address, correlation_id="7", message_id=message_id, headers=dict(headers)
        )
        await self.broker.publish(self.broker.topology.jobs, "submit.default", message)
        reply = await asyncio.wait_for(responses.get(), 10)
        await inbox.close()
        assert reply.correlation_id == "7"
        document: dict[str, Any] = orjson.loads(reply.body)
        return document

    async def wait_for_end(self, name: str) -> dict[str, Any]:
        """Wait until an evaluation has ended and return it."""
        async with asyncio.timeout(30):
            while True:
                evaluation: dict[str, Any] = orjson.loads((await self.call("GET", f"{EVALUATIONS}/{name}"))[1])
                if evaluation["status"]["state"] in ("success", "error"):
                    return evaluation
                await asyncio.sleep(0.01)


@pytest.fixture
async def evaluation_client(tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EvaluationClient]:
    """Start a gateway and an expressions worker, and yield a client of them."""
    monkeypatch.setattr(panel_validation, "_TIMEOUT_SECONDS", 30.0)  # A busy test machine must not look like an unavailable service.
    settings, broker = load(http_port=0, data_dir=tmp_path, secret_key="of tests only"), MemoryBroker()
    await broker.start()
    gateway, worker = Gateway(settings, database, broker, Clock()), ExpressionsWorker(settings, database, broker, Clock())
    await worker.start()
    async with aiohttp.ClientSession(await gateway.start()) as session:
        yield EvaluationClient(session, broker)
    await gateway.stop()
    await worker.stop()
    await broker.close()


async def test_an_evaluation_ends_with_a_result(evaluation_client: EvaluationClient) -> None:
    """A submitted evaluation is pending. Once it has ended, its status is success, and its result is returned as JSON or Arrow."""
    created = await evaluation_client.submit(spec(), labels={"ci": "42"})
    assert (created["status"]["state"], created["metadata"]["labels"]) == ("pending", {"ci": "42"})
    name = created["metadata"]["name"]
    status = (await evaluation_client.wait_for_end(name))["status"]
    assert (status["state"], status["message"], status["progress"]) == ("success", "completed successfully", 100)
    code, body = await evaluation_client.call("GET", f"{EVALUATIONS}/{name}/result")
    assert (code, orjson.loads(body)["results"]["B"]["frames"][0]["data"]["values"][1]) == (200, [2, 4, 6])
    assert (await evaluation_client.call("GET", f"{EVALUATIONS}/{name}/result", accept=f"{ARROW};q=0.5, application/json"))[1] == body
    code, body = await evaluation_client.call("GET", f"{EVALUATIONS}/{name}/result", accept=ARROW)
    table = pa.ipc.open_stream(body).read_all()
    assert (code, table.column(1).to_pylist()) == (200, [2, 4, 6])


async def test_an_evaluation_with_errors_has_a_result(evaluation_client: EvaluationClient) -> None:
    """An evaluation whose query ``B`` fails ends in the state error, and the result has the error of ``B``."""
    evaluation_spec = spec()
    evaluation_spec["queries"][0]["rawFrameContent"] = "[{"
    created = await evaluation_client.submit(evaluation_spec, name="broken")
    status = (await evaluation_client.wait_for_end("broken"))["status"]
    assert (status["state"], status["message"]) == ("error", "completed with errors")
    assert status["errors"][0].startswith("B: ")
    code, body = await evaluation_client.call("GET", f"{EVALUATIONS}/broken/result")
    assert code == 400
    assert "error" in orjson.loads(body)["results"]["B"]
    assert created["metadata"]["name"] == "broken"


def broken_spec(**panel: Any) -> dict[str, Any]:
    """Return a spec whose panel has three faults: an unlisted field, a syntax error and a missing input."""
    evaluation_spec = spec()
    math = {"type": "math", "refId": "C", "expression": "$A +"}
    evaluation_spec["panel"] |= {
        "targets": [{**evaluation_spec["panel"]["targets"][0], "un/listed": 1}, math, {**math, "refId": "D", "expression": "$X"}]
    }
    evaluation_spec["panel"] |= panel
    return evaluation_spec


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (broken_spec(), ["spec.panel.targets[0].un/listed", "spec.panel.targets[1].expression", "spec.panel.targets[2].expression"]),
        ({"panel": {"type": "t", "targets": [{"type": "math"}]}}, ["spec.panel.targets[0].refId", "spec.panel.targets[0].expression"]),
        ({"panel": {"targets": []}, "from": "now", "to": "then"}, ["spec.panel.type", "spec.to"]),
        ({"panel": {"type": "t", "targets": [], "queries": [5]}}, ["spec.panel.queries[0]"]),
        ({**spec(), "queries": [raw_query("B", [1])]}, ["spec.panel.targets[0].expression", "spec.queries[0].refId"]),
        ({"panel": {"type": "t", "targets": []}}, ["spec.panel.targets"]),
    ],
    ids=["three faults", "incomplete query", "panel without a type", "query that is a number", "refId used twice", "no queries"],
)
async def test_an_invalid_panel_is_rejected(evaluation_client: EvaluationClient, value: dict[str, Any], fields: list[str]) -> None:
    """An invalid panel is rejected with the path of each fault, in HTTP requests, dry runs and messages. No evaluation is created."""
    for path in (EVALUATIONS, f"{EVALUATIONS}?dryRun=All"):
        status, body = await evaluation_client.call("POST", path, json={"spec": value})
        assert status == 422, body
        assert sorted(cause["field"] for cause in orjson.loads(body)["details"]["causes"]) == sorted(fields)
    refusal = await evaluation_client.publish({**TYPE_META, "spec": value}, authorization=VALID_CREDENTIALS)
    assert (refusal["code"], sorted(cause["field"] for cause in refusal["details"]["causes"])) == (422, sorted(fields))
    assert orjson.loads((await evaluation_client.call("GET", EVALUATIONS))[1])["items"] == []


async def test_evaluations_wait_for_the_expressions_worker(
    start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While no expressions worker runs, evaluations are accepted without validation. Invalid evaluations end in the state error later."""
    monkeypatch.setattr(panel_validation, "_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setattr(panel_validation, "_PAUSE_SECONDS", 60.0)
    api = await start_api()
    # Less than 30 timeouts of 0.2 s: after the first timeout, the gateway pauses validation.
    async with asyncio.timeout(5):
        for index in range(30):
            evaluation_spec = spec() if index == 0 else broken_spec()
            status, created = await api("POST", EVALUATIONS, {"metadata": {"name": f"e{index}"}, "spec": evaluation_spec})
            assert status == 202, created
    worker = ExpressionsWorker(load(data_dir=tmp_path, secret_key="of tests only"), database, broker, Clock())
    await worker.start()
    evaluation_client = EvaluationClient(api.session, broker)
    assert (await evaluation_client.wait_for_end("e0"))["status"]["state"] == "success"
    status = (await evaluation_client.wait_for_end("e1"))["status"]
    assert status["state"] == "error"
    # The message has the path as a JSON pointer, in which a slash of a name is written as ~1.
    assert "un~1listed" in status["message"]
    assert (await evaluation_client.call("GET", f"{EVALUATIONS}/e1/result"))[0] == 410
    await worker.stop()


async def test_a_large_result_is_stored_in_chunks(evaluation_client: EvaluationClient, database: Database) -> None:
    """A result of several megabytes is stored in chunks of at most one megabyte, and is returned completely."""
    values = [index + 0.123456789 for index in range(60_000)]
    await evaluation_client.submit(spec("$A + 0", values), name="large")
    assert (await evaluation_client.wait_for_end("large"))["status"]["state"] == "success"
    async with database.connection() as connection:
        sizes = [row["size"] for row in await connection.fetch("select length(body) as size from evaluation_piece where format = 'json'")]
    assert len(sizes) > 1
    assert max(sizes) <= 1024 * 1024
    body = (await evaluation_client.call("GET", f"{EVALUATIONS}/large/result"))[1]
    assert orjson.loads(body)["results"]["B"]["frames"][0]["data"]["values"][1] == values


async def test_names_are_unique(evaluation_client: EvaluationClient) -> None:
    """A second evaluation with the same name gets 409. Evaluations without a name receive unique names."""
    await evaluation_client.submit(spec(), name="mine")
    status, body = await evaluation_client.call("POST", EVALUATIONS, json={"metadata": {"name": "mine"}, "spec": spec()})
    assert (status, orjson.loads(body)["reason"]) == (409, "AlreadyExists")
    assert (await evaluation_client.submit(spec()))["metadata"]["name"] != (await evaluation_client.submit(spec()))["metadata"]["name"]


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({}, "spec.panel"),
        ({"panel": []}, "spec.panel"),
        ({"panel": {}, "from": {}}, "spec.from"),
    ],
    ids=["no panel", "panel that is a list", "time that is an object"],
)
async def test_an_invalid_spec_is_rejected(evaluation_client: EvaluationClient, value: Any, field: str) -> None:
    """A missing panel or a value of the wrong type is a cause of a 422."""
    status, body = await evaluation_client.call("POST", EVALUATIONS, json={"spec": value})
    assert status == 422
    assert any(cause["field"].startswith(field) for cause in orjson.loads(body)["details"]["causes"])


async def test_an_evaluation_can_be_submitted_as_a_message(evaluation_client: EvaluationClient) -> None:
    """A published Evaluation creates a job and is returned as the reply.

    A message that is delivered twice is one audit event.
    """
    for _ in range(2):
        created = await evaluation_client.publish({**TYPE_META, "spec": spec()}, message_id="once", authorization=VALID_CREDENTIALS)
    assert created["kind"] == "Evaluation"
    (event,) = orjson.loads((await evaluation_client.call("GET", "/api/audit?requestId=once"))[1])["events"]
    assert (event["action"], event["object"]) == ("evaluation.create", f"evaluation:{created['metadata']['name']}")
    assert (event["actor"], event["orgId"], event["address"]) == ("user:1", 1, "")
    assert (await evaluation_client.wait_for_end(created["metadata"]["name"]))["status"]["state"] == "success"


async def test_a_message_without_credentials_submits_no_evaluation(evaluation_client: EvaluationClient) -> None:
    """A message without credentials is rejected, and the error names the missing header."""
    refusal = await evaluation_client.publish({**TYPE_META, "spec": spec()})
    assert (refusal["kind"], refusal["code"]) == ("Status", 403)
    assert "queue:default may not submit evaluations" in refusal["message"]
    assert "header authorization" in refusal["message"]


async def test_deleting_an_evaluation_deletes_its_result(evaluation_client: EvaluationClient) -> None:
    """Deleting an ended evaluation deletes its result too."""
    await evaluation_client.submit(spec(), name="brief")
    await evaluation_client.wait_for_end("brief")
    assert (await evaluation_client.call("DELETE", f"{EVALUATIONS}/brief"))[0] == 200
    assert (await evaluation_client.call("GET", f"{EVALUATIONS}/brief/result"))[0] == 404


async def test_results_are_kept_until_they_expire(evaluation_client: EvaluationClient, database: Database) -> None:
    """A result is kept until it expires, regardless of the job history. A request for an expired result gets 410 with the time."""
    names = [(await evaluation_client.submit(spec()))["metadata"]["name"] for _ in range(4)]
    for name in names:
        await evaluation_client.wait_for_end(name)
    await run_cleaner(database)
    assert [(await evaluation_client.call("GET", f"{EVALUATIONS}/{name}/result"))[0] for name in names] == [200] * 4
    expire = """update evaluation set expires_at = now() - interval '1 minute'
        from job where job.uid = evaluation.uid and job.name = $1 returning expires_at"""
    async with database.connection() as connection:
        expired_at = await connection.fetchval(expire, names[0])
    for _ in range(2):  # The status is the same before and after a round of the cleaner.
        status, body = await evaluation_client.call("GET", f"{EVALUATIONS}/{names[0]}/result")
        assert (status, orjson.loads(body)["reason"]) == (410, "Expired")
        assert f"expired at {expired_at:%Y-%m-%dT%H:%M:%SZ}" in orjson.loads(body)["message"]
        await run_cleaner(database)
    assert (await evaluation_client.call("GET", f"{EVALUATIONS}/{names[0]}"))[0] == 404
    assert (await evaluation_client.call("GET", f"{EVALUATIONS}/{names[1]}/result"))[0] == 200
    assert (await evaluation_client.call("GET", f"{EVALUATIONS}/never/result"))[0] == 404


async def test_an_evaluation_without_a_result_expires(evaluation_client: EvaluationClient, database: Database) -> None:
    """An evaluation without a result expires as late as results do. For a week after that, a request for its result gets 410."""
    await evaluation_client.submit(spec(), name="failed")
    await evaluation_client.wait_for_end("failed")
    async with database.connection() as connection:
        await connection.execute("delete from evaluation")
        await run_cleaner(database)
        assert (await evaluation_client.call("GET", f"{EVALUATIONS}/failed/result"))[0] == 410
        assert (await evaluation_client.call("GET", f"{EVALUATIONS}/failed"))[0] == 200
        await connection.execute("update job set finished_at = now() - interval '2 hours'")
    await run_cleaner(database)
    assert (await evaluation_client.call("GET", f"{EVALUATIONS}/failed"))[0] == 404
    assert "expired at" in orjson.loads((await evaluation_client.call("GET", f"{EVALUATIONS}/failed/result"))[1])["message"]
    async with database.connection() as connection:
        await connection.execute("update expired_evaluation set expired_at = now() - interval '8 days'")
    await run_cleaner(database)
    assert (await evaluation_client.call("GET", f"{EVALUATIONS}/failed/result"))[0] == 404


async def test_the_number_of_evaluations_is_limited(start_api: StartApi, unvalidated_panels: None) -> None:
    """An evaluation above the organization's limit, or its dry run, is rejected with the name of the setting until one is deleted."""
    api = await start_api(evaluations_kept=2)
    body = {"spec": spec()}
    for name in ("a", "b"):
        assert (await api("POST", EVALUATIONS, {"metadata": {"name": name}, **body}))[0] == 202
    for path in (EVALUATIONS, f"{EVALUATIONS}?dryRun=All"):
        status, refusal = await api("POST", path, body)
        assert (status, refusal["reason"]) == (403, "Forbidden")
        assert "DASHWRIGHT_EVALUATIONS_KEPT" in refusal["message"]
    await api("DELETE", f"{EVALUATIONS}/a")  # the evaluation ends, but is kept
    assert (await api("POST", EVALUATIONS, body))[0] == 403
    await api("DELETE", f"{EVALUATIONS}/a")  # an ended evaluation is deleted
    assert (await api("POST", EVALUATIONS, body))[0] == 202
    other = await api.organization("other")
    member = await api.person("member", Role.VIEWER, org_id=other)
    assert (await api("POST", EVALUATIONS.replace("default", f"org-{other}"), body, auth=member))[0] == 202

"""Submission of jobs through a real RabbitMQ, as docs/reference/queue.md describes it."""

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import jsonschema_rs
import pytest
import pytest_asyncio
from tests.acceptance import dashboard_files
from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.processes import Stack
from tests.acceptance.queue_client import JOB_SPEC, Submitter, wait_for_letter

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
VALID_CREDENTIALS = aiohttp.encode_basic_auth("admin", "admin")
WRONG_CREDENTIALS = aiohttp.encode_basic_auth("admin", "wrong")


@pytest_asyncio.fixture(loop_scope="module")
async def submitter(shared_stack: Stack) -> AsyncIterator[Submitter]:
    """Yield a client of the job queue."""
    async with Submitter(shared_stack.amqp_url) as opened:
        yield opened


async def create_repositories(shared_stack: Stack, user: Client, *names: str) -> None:
    """Create repositories with one dashboard each."""
    for name in names:
        dashboard_files.write(shared_stack.repositories / name / f"{name}.json", dashboard_files.classic(name, name))
        await user.create_repository(name, name)


def job_spec(repository: str) -> dict[str, object]:
    """Return the spec of a sync."""
    return JOB_SPEC | {"repository": repository}


def causes(status: Any) -> list[tuple[str, str]]:
    """Return field and reason of each cause in a Status."""
    return [(cause["field"], cause["reason"]) for cause in status["details"]["causes"]]


async def jobs_of(user: Client, repository: str) -> list[Any]:
    """Return the jobs of a repository."""
    jobs: list[Any] = (await user.call("GET", f"{PROVISIONING}/repositories/{repository}/jobs"))["items"]
    return jobs


async def test_each_form_of_a_submission_gets_its_reply(shared_stack: Stack, user: Client, submitter: Submitter) -> None:
    """The reply to a JobSpec or a Job is a pending Job, and the reply to a list a JobList in the order of the list. All jobs succeed."""
    await create_repositories(shared_stack, user, "spec", "whole", "list-a", "list-b")
    single = await submitter.submit(job_spec("spec"))
    assert single["kind"] == "Job"
    assert single["status"] == {"state": "pending"}
    assert single["spec"]["repository"] == "spec"
    job = {"kind": "Job", "apiVersion": single["apiVersion"], "metadata": {}, "spec": job_spec("whole")}
    complete = await submitter.submit(job)
    assert complete["kind"] == "Job"
    assert complete["spec"]["repository"] == "whole"
    job_list = await submitter.submit([job_spec("list-b"), job_spec("list-a"), job_spec("list-b")])
    assert job_list["kind"] == "JobList"
    assert [item["spec"]["repository"] for item in job_list["items"]] == ["list-b", "list-a", "list-b"]
    # The two equal items share a job.
    first, _, third = job_list["items"]
    assert first["metadata"]["uid"] == third["metadata"]["uid"]
    for submitted in (single, complete, *job_list["items"]):
        assert (await user.wait_for_job(submitted))["status"]["state"] == "success"


async def test_a_list_with_a_bad_item_creates_no_job(shared_stack: Stack, user: Client, submitter: Submitter) -> None:
    """Each fault of an item is a cause with the item's index, and no job is created, also for valid items."""
    await create_repositories(shared_stack, user, "valid")
    refusal = await submitter.submit([job_spec("valid"), job_spec("nowhere"), {"repository": "valid"}, 7])
    assert refusal["kind"] == "Status"
    assert refusal["status"] == "Failure"
    assert refusal["code"] == 422
    assert causes(refusal) == [("[2].action", "FieldValueRequired"), ("[3]", "FieldValueTypeInvalid")]
    # Repositories are looked up only if all items are well-formed.
    refusal = await submitter.submit([job_spec("valid"), job_spec("nowhere")])
    assert causes(refusal) == [("[1].repository", "FieldValueNotFound")]
    assert await jobs_of(user, "valid") == []


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        (b'{"action": ', 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b"", 400, "not JSON"),
        ([], 400, "at least one"),
        ([JOB_SPEC] * 1001, 400, "1000"),
        ({"kind": "Job", "apiVersion": "v9", "spec": {}}, 400, "known: Job of"),
        ({"kind": "Dashboard"}, 400, "known: Job of"),
        ({"kind": "Job", "metadata": {"namespace": "org-2"}, "spec": {}}, 400, "must agree"),
        ({"kind": "Job", "metadata": 3, "spec": {}}, 400, "must be an object"),
        ({"kind": "Job", "spec": None}, 422, "must be a JobSpec"),
        ({"kind": None, **JOB_SPEC}, 400, "known: Job of"),
        (None, 422, "must be a JobSpec"),
        (3.5, 422, "must be a JobSpec"),
        ("text", 422, "must be a JobSpec"),
        ({"action": "dance", "repository": "any"}, 422, "action"),
        ({"action": "sync", "repository": 7, "sync": {}}, 422, "repository"),
        ({"action": "sync", "repository": "missing", "sync": {}}, 404, "missing"),
        (b"[" * 100_000, 400, "not JSON"),
    ],
)
async def test_an_invalid_submission_is_refused_with_the_reason(submitter: Submitter, body: object, code: int, reason: str) -> None:
    """The reply to an invalid submission is a Status with the reason."""
    refusal = await submitter.submit(body)
    assert refusal["kind"] == "Status", refusal
    assert refusal["status"] == "Failure"
    assert refusal["code"] == code
    assert reason in refusal["message"]


@pytest.mark.parametrize(("size", "code"), [(1_000_000, 422), (8_000_000, 413)])
async def test_a_very_large_body_is_refused_with_a_short_message(submitter: Submitter, size: int, code: int) -> None:
    """The reply to a submission with a large value does not repeat the value. A body over two mebibytes gets 413."""
    refusal = await submitter.submit({"action": "sync", "repository": "x" * size, "sync": {}})
    assert refusal["status"] == "Failure"
    assert refusal["code"] == code
    assert len(refusal["message"]) < 1000
    refusal = await submitter.submit({"kind": "x" * size, "apiVersion": "y" * size})
    assert len(refusal["message"]) < 1000


async def test_the_authorization_header_decides_the_user(shared_stack: Stack, user: Client, submitter: Submitter) -> None:
    """A submission with a valid authorization header, or without one, is accepted, and one with an invalid header gets 401.

    Without the header, the submitter is the queue identity of the namespace.
    """
    await create_repositories(shared_stack, user, "identified")
    assert (await submitter.submit(job_spec("identified"), authorization=VALID_CREDENTIALS))["kind"] == "Job"
    assert (await submitter.submit(job_spec("identified")))["kind"] == "Job"
    for header in (WRONG_CREDENTIALS, "Basic !!!", "Bearer nothing"):
        refusal = await submitter.submit(job_spec("identified"), authorization=header)
        assert refusal["kind"] == "Status", header
        assert refusal["code"] == 401, header
        assert refusal["reason"] == "Unauthorized", header


@pytest.mark.parametrize(
    ("namespace", "code"),
    [("org-1", 400), ("org-x", 400), ("elsewhere", 400), ("default.more", 400), ("org-99", 404)],
    ids=["other name of default", "no number", "unknown word", "two words", "without the repository"],
)
async def test_an_unknown_namespace_is_refused(submitter: Submitter, namespace: str, code: int) -> None:
    """An invalid namespace in the routing key gets 400, and a valid namespace without the repository 404."""
    refusal = await submitter.submit(job_spec("identified"), namespace=namespace)
    assert refusal["code"] == code, refusal


async def test_one_message_id_is_one_submission(shared_stack: Stack, user: Client, submitter: Submitter) -> None:
    """The reply to a repeated message is the job of the first one, even after the job ended. Its id with another body is refused."""
    await create_repositories(shared_stack, user, "once")
    message_id = str(uuid.uuid4())
    first = await submitter.submit(job_spec("once"), message_id=message_id)
    await user.wait_for_job(first)
    repeated = await submitter.submit(job_spec("once"), message_id=message_id)
    assert repeated["metadata"]["uid"] == first["metadata"]["uid"]
    assert repeated["status"]["state"] == "success"
    refusal = await submitter.submit([job_spec("once")], message_id=message_id)
    assert refusal["code"] == 422
    assert causes(refusal) == [("message_id", "FieldValueDuplicate")]
    assert len(await jobs_of(user, "once")) == 1


async def test_two_gateways_create_one_job_for_one_message(shared_stack: Stack, user: Client, submitter: Submitter) -> None:
    """Twenty copies of a message, consumed by two gateways concurrently, create one job, and every reply contains it."""
    await create_repositories(shared_stack, user, "copied")
    second = await shared_stack.add_gateway()
    message_id = str(uuid.uuid4())
    responses = await asyncio.gather(*(submitter.submit(job_spec("copied"), message_id=message_id) for _ in range(20)))
    assert len({response["metadata"]["uid"] for response in responses}) == 1
    await user.wait_for_job(responses[0])
    assert len(await jobs_of(user, "copied")) == 1
    assert await second.stop() == 0


async def test_a_refusal_without_reply_to_is_dead_lettered(shared_stack: Stack, submitter: Submitter, user: Client) -> None:
    """A refused submission without reply_to is stored as a dead letter with its reason."""
    await submitter.publish(job_spec("also-missing"))
    letter = await wait_for_letter(shared_stack.gateway, user, "also-missing")
    assert letter["spec"]["routingKey"] == "submit.default"


async def test_the_example_runs_as_documented(shared_stack: Stack, user: Client) -> None:
    """examples/queue/submit.py prints the pending job of the given repository."""
    await create_repositories(shared_stack, user, "examples")
    process = await asyncio.create_subprocess_exec(
        sys.executable, ROOT / "examples/queue/submit.py", shared_stack.amqp_url, "examples", stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0
    job = json.loads(output)
    assert job["kind"] == "Job"
    assert job["spec"]["repository"] == "examples"
    assert job["status"] == {"state": "pending"}
    assert (await user.wait_for_job(job))["status"]["state"] == "success"


async def test_the_example_of_a_batch_runs_as_documented(shared_stack: Stack, user: Client) -> None:
    """examples/queue/submit_batch.py prints whether each item was accepted. A second run adds no item, and both items succeed."""
    await create_repositories(shared_stack, user, "first", "second")
    batches = "/apis/jobs.dashwright.io/v0alpha1/namespaces/default/batches"
    for status in ("accepted", "duplicate"):
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            ROOT / "examples/queue/submit_batch.py",
            shared_stack.amqp_url,
            "example",
            "first",
            "second",
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == 0
        assert [json.loads(line) for line in output.splitlines()] == [
            {"index": 0, "id": "first", "status": status},
            {"index": 1, "id": "second", "status": status},
        ]
    query = {"watch": "true", "fieldSelector": "metadata.name=example", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    async with asyncio.timeout(60), user.request("GET", batches, params=query) as response:
        async for line in response.content:
            event = json.loads(line)
            if event["type"] != "BOOKMARK" and event["object"]["status"]["state"] not in ("open", "running"):
                break
    assert event["object"]["status"]["counts"]["success"] == 2


async def test_replies_are_as_the_asyncapi_document_describes(shared_stack: Stack, user: Client, submitter: Submitter) -> None:
    """The reply to each example of ``/asyncapi.json`` matches exactly one described reply of its operation. All six replies occur."""
    await create_repositories(shared_stack, user, "team", "shop")
    document = await user.call("GET", "/asyncapi.json")
    components = document["components"]
    received_messages: set[str] = set()
    for operation in document["operations"].values():
        if "reply" not in operation:
            continue
        replies = [components["messages"][_message_name(message)] for message in operation["reply"]["messages"]]
        validators = {
            reply["title"]: jsonschema_rs.Draft7Validator({"allOf": [reply["payload"]], "components": components}) for reply in replies
        }
        for message in operation["messages"]:
            for example in components["messages"][_message_name(message)]["examples"]:
                reply = await submitter.submit(example["payload"], **{"authorization": VALID_CREDENTIALS} | example.get("headers", {}))
                matching = [title for title, validator in validators.items() if validator.is_valid(reply)]
                assert matching == [reply["kind"]], reply
                received_messages.update(matching)
    assert received_messages == {"Job", "JobList", "Evaluation", "Batch", "BatchSubmission", "Status"}


def _message_name(message: Any) -> str:
    """Return the name of a message of a channel, which is also its name among the components."""
    name: str = message["$ref"].rpartition("/")[2]
    return name

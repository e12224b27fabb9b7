"""Submission of jobs with the queue identity disabled, and dead letters without a worker."""

import aiohttp
from tests.acceptance import dashboard_files
from tests.acceptance.client import Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.queue_client import JOB_SPEC, Submitter, wait_for_letter


async def test_without_a_queue_identity_a_message_needs_credentials(make_stack: MakeStack, amqp_url: str) -> None:
    """With QUEUE_IDENTITY=false, a message without authorization gets a 401 Status, and one with valid credentials a Job."""
    stack = await make_stack(QUEUE_IDENTITY="false").start_without_queries()
    async with Client(stack.address) as client, Submitter(amqp_url) as submitter:
        dashboard_files.make_team(stack.repositories / "team")
        await client.create_repository("team", "team")
        body = JOB_SPEC | {"repository": "team"}
        refusal = await submitter.submit(body)
        assert refusal["kind"] == "Status"
        assert refusal["code"] == 401
        assert refusal["reason"] == "Unauthorized"
        assert "authorization" in refusal["message"]
        job = await submitter.submit(body, authorization=aiohttp.encode_basic_auth("admin", "admin"))
        assert (await client.wait_for_job(job))["status"]["state"] == "success"


async def test_dead_letters_keep_their_reason(make_stack: MakeStack, amqp_url: str) -> None:
    """A refused submission without reply_to is stored as a dead letter with its reason and its body."""
    stack = make_stack()
    await stack.gateway.start()
    address = str((await stack.gateway.event("serving"))["address"])
    async with Client(address) as client, Submitter(amqp_url) as submitter:
        await submitter.publish(b"not json at all", namespace="default")
        letter = await wait_for_letter(stack.gateway, client, "not JSON")
        assert letter["spec"]["body"] == "not json at all"
        assert letter["spec"]["routingKey"] == "submit.default"

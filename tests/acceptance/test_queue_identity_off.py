"""Submission of jobs with the queue identity disabled, and dead letters that no worker reads."""

import aiohttp
from tests.acceptance import dashboard_files
from tests.acceptance.client import Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.queue_client import DEAD, JOB_SPEC, Submitter


async def test_without_a_queue_identity_a_message_needs_credentials(make_stack: MakeStack, amqp_url: str) -> None:
    """With QUEUE_IDENTITY=false, a message without authorization gets a 401 Status, and one with valid credentials a Job."""
    stack = await make_stack(QUEUE_IDENTITY="false").start()
    async with Client(stack.address) as client, Submitter(amqp_url) as submitter:
        dashboard_files.make_team(stack.repositories / "team")
        await client.create_repository("team", "team")
        wanted = JOB_SPEC | {"repository": "team"}
        refusal = await submitter.submit(wanted)
        assert (refusal["kind"], refusal["code"], refusal["reason"]) == ("Status", 401, "Unauthorized")
        assert "authorization" in refusal["message"]
        job = await submitter.submit(wanted, authorization=aiohttp.encode_basic_auth("admin", "admin"))
        assert (await client.wait_for_job(job))["status"]["state"] == "success"


async def test_dead_letters_keep_their_reason(make_stack: MakeStack, amqp_url: str) -> None:
    """A refused submission without reply_to is kept in the dead-letter queue with its reason and its body."""
    stack = make_stack()
    await stack.gateway.start()
    async with Submitter(amqp_url) as submitter:
        await submitter.publish(b"not json at all", namespace="default")
        queue = await submitter.channel.get_queue(DEAD)
        async with queue.iterator(timeout=20) as letters:
            letter = await anext(letters)
            async with letter.process():
                assert letter.body == b"not json at all"
                assert letter.routing_key == "submit.default"
                assert "not JSON" in str(letter.headers["dashwright-reason"])

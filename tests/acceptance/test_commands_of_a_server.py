"""The commands ``dashwright jobs`` and ``dashwright dead-letters``, which call the API of running services."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance import dashboard_files
from tests.acceptance.client import Client
from tests.acceptance.processes import Stack
from tests.acceptance.queue_client import Submitter, wait_for_letter

DASHWRIGHT = Path(sys.executable).with_name("dashwright")

RunCommand = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
async def run_command(stack: Stack, client: Client, tmp_path: Path) -> RunCommand:
    """Return a function that runs a command as an administrator, and returns its exit status, output and errors."""
    account = await client.call("POST", "/api/serviceaccounts", status=201, json={"name": "ci", "role": "Admin"})
    token = await client.call("POST", f"/api/serviceaccounts/{account['id']}/tokens", json={"name": "ci"})
    token_file = tmp_path / "token"
    token_file.write_text(token["key"])
    environment = {"PATH": os.environ["PATH"], "DASHWRIGHT_URL": stack.address, "DASHWRIGHT_TOKEN_FILE": str(token_file)}

    async def run_process(*arguments: str, standard_input: str = "") -> tuple[int, str, str]:
        """Run the command. Raises AssertionError if it prints the token."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(DASHWRIGHT, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        output, errors = await asyncio.wait_for(process.communicate(standard_input.encode()), 60)
        assert token["key"] not in (output + errors).decode()
        assert process.returncode is not None
        return process.returncode, output.decode(), errors.decode()

    return run_process


async def read_json(run_command: RunCommand, *arguments: str, status: int = 0) -> Any:
    """Run a command with ``--json``, and return the document that it prints."""
    actual_status, output, errors = await run_command(*arguments, "--json")
    assert actual_status == status, errors
    return json.loads(output)


async def test_an_operator_replays_a_refused_message(stack: Stack, client: Client, run_command: RunCommand) -> None:
    """An operator finds the letter of a submission, corrects the cause, replays the letter, waits for the job and discards the letter."""
    async with Submitter(stack.amqp_url) as submitter:
        await submitter.publish({"action": "sync", "repository": "team", "sync": {}})
        name = (await wait_for_letter(stack.gateway, client, '"team" not found'))["metadata"]["name"]
    [letter] = await read_json(run_command, "dead-letters", "list", "--state", "dead")
    assert letter["metadata"]["name"] == name
    status, output, _ = await run_command("dead-letters", "get", name)
    assert status == 0
    assert '"team" not found' in output
    # The letter can be replayed after its repository was created.
    dashboard_files.make_team(stack.repositories / "team")
    await client.create_repository("team", "team")
    after = len(stack.gateway.events)
    replayed = await read_json(run_command, "dead-letters", "replay", name)
    assert replayed["status"]["state"] == "replayed"
    job = str((await stack.gateway.event("job_submitted", after=after, message_id=letter["spec"]["messageId"]))["job"])
    assert (await read_json(run_command, "jobs", "wait", job, "--timeout", "60"))["status"]["state"] == "success"
    # A second replay of the letter succeeds, too.
    assert (await run_command("dead-letters", "replay", name))[:2] == (0, f"{name} replayed\n")
    assert job in [item["metadata"]["name"] for item in await read_json(run_command, "jobs", "list", "--repository", "team")]
    assert (await run_command("dead-letters", "discard", "--all"))[:2] == (0, f"{name} discarded\n")
    assert (await run_command("dead-letters", "get", name))[0] == 2


async def test_a_submitted_job_is_shown_until_it_ends(stack: Stack, client: Client, run_command: RunCommand) -> None:
    """``jobs submit --wait`` exits with 0 if the job succeeds, with 1 if it fails, and with 2 if the submission is refused."""
    folder = stack.repositories / "team"
    dashboard_files.make_team(folder)
    await client.create_repository("team", "team")
    sync = '{"action": "sync", "sync": {}}'
    status, output, _ = await run_command("jobs", "submit", "team", "-", "--wait", standard_input=sync)
    assert status == 0
    assert " success: " in output
    (folder / "broken.json").write_text("{")
    status, output, _ = await run_command("jobs", "submit", "team", "-", "--wait", standard_input=sync)
    assert status == 1
    assert "broken.json" in output
    status, output, errors = await run_command("jobs", "submit", "team", "-", "--wait", standard_input='{"action": "dance"}')
    assert status == 2
    assert output == ""
    assert errors.startswith("dashwright jobs: ")

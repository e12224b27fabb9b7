"""The command ``dashwright batch``: the batches of a running server, for users and scripts."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contract.api.batch_client import BatchClient, batch_workers, evaluation
from tests.contract.api.conftest import StartApi

from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.models.batch import ItemState
from dashwright.standalone.batches import command
from dashwright.standalone.remote.login import ServerOptions

pytestmark = pytest.mark.usefixtures("silent_log")

#: An expression with a syntax error.
INVALID = "$A +"


class Terminal:
    """A terminal that runs commands against a server, and returns what they print."""

    def __init__(self, client: BatchClient, capsys: pytest.CaptureFixture[str]) -> None:
        self.client = client
        self._options = ServerOptions(url=str(client.api.address), user="admin:admin")
        self._capsys = capsys

    async def run(self, function: Callable[..., int], *arguments: Any, **options: Any) -> tuple[int, str]:
        """Run a command with an event loop of its own. Return its exit status and output."""
        self._capsys.readouterr()
        status = await asyncio.to_thread(function, *arguments, options=self._options, **options)
        return status, self._capsys.readouterr().out.removesuffix("\n")


@pytest.fixture
async def terminal(
    start_api: StartApi, database: Database, broker: MemoryBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[Terminal]:
    """Yield a terminal over a gateway with workers."""
    async with batch_workers(database, broker, data_dir=tmp_path, permitted_paths=str(tmp_path)):
        yield Terminal(BatchClient(await start_api()), capsys)


async def test_a_batch_is_created_and_followed_to_its_end(terminal: Terminal, tmp_path: Path) -> None:
    """A command that waits for a batch exits with status 1 if an item failed. Other commands exit with 0, or 2 for an unknown batch."""
    file = tmp_path / "batch.json"
    items = [evaluation(1), evaluation(2, expression=INVALID)]
    file.write_text(json.dumps({"metadata": {"name": "b"}, "spec": {"items": items}}))
    status, text = await terminal.run(command.create, str(file), wait=True)
    assert status == 1
    assert "b error: 2 items (1 success, 1 error)" in text
    assert (await terminal.run(command.get, "b"))[0] == 0
    assert (await terminal.run(command.get, "absent"))[0] == 2
    status, text = await terminal.run(command.list_, as_json=True)
    assert [batch["metadata"]["name"] for batch in json.loads(text)] == ["b"]
    status, text = await terminal.run(command.items, "b", state=ItemState.ERROR, as_json=True)
    assert [json.loads(line)["index"] for line in text.splitlines()] == [1]
    status, text = await terminal.run(command.retry, "b", wait=True)
    assert (status, text.splitlines()[0]) == (1, "b: 1 item pending again")
    status, text = await terminal.run(command.results, "b", state=ItemState.SUCCESS)
    assert [json.loads(line)["index"] for line in text.splitlines()] == [0]


async def test_items_of_a_file_are_submitted_once(terminal: Terminal, tmp_path: Path) -> None:
    """The items of a file are added to a batch, and refused lines are counted. A repetition adds nothing.

    The batch is then closed, so that a new item is an error.
    """
    file = tmp_path / "items.ndjson"
    items = [evaluation(value, item_id=f"item {value}") for value in range(30)]
    file.write_text("".join(f"{json.dumps(item)}\n" for item in items))
    status, text = await terminal.run(command.submit, "b", str(file), close=False, priority=5)
    assert (status, text.splitlines()[-1]) == (0, "b: 30 items accepted, 0 duplicates, 0 refused")
    file.write_text(file.read_text() + "{\n")
    status, text = await terminal.run(command.submit, "b", str(file), wait=True)
    assert (status, text.splitlines()[0]) == (1, "b: 0 items accepted, 30 duplicates, 1 refused")
    assert text.splitlines()[-1] == "b success: 30 items (30 success)"
    status, text = await terminal.run(command.submit, "b", str(file))
    assert (status, text.splitlines()[0]) == (1, "b: 0 items accepted, 30 duplicates, 1 refused")
    file.write_text(json.dumps(evaluation(31, item_id="new")))
    assert (await terminal.run(command.submit, "b", str(file)))[0] == 2


async def test_no_batch_is_created_for_a_missing_file(terminal: Terminal, tmp_path: Path) -> None:
    """A wrong file name leaves no open batch behind."""
    assert (await terminal.run(command.submit, "b", str(tmp_path / "absent.ndjson")))[0] == 2
    assert await terminal.run(command.list_) == (0, "no batches")


async def test_a_batch_that_does_not_end_in_time_continues(terminal: Terminal) -> None:
    """A wait for a batch exits with status 2 at its timeout, and with status 1 if the batch is cancelled."""
    await terminal.client.create("b")
    assert (await terminal.run(command.wait, "b", timeout_seconds=0.2))[0] == 2
    assert (await terminal.run(command.cancel, "b"))[0] == 0
    assert (await terminal.run(command.wait, "b"))[0] == 1
    assert (await terminal.run(command.delete, "b")) == (0, "b deleted")

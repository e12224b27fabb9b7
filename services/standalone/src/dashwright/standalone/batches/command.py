"""The commands ``dashwright batch``: create, fill, follow, cancel and retry batches, and read their results."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, Literal

import orjson
from cyclopts import App, Parameter
from pydantic import ValidationError
from rich.table import Table

from dashwright.common.errors import BadRequest
from dashwright.common.models.batch import BatchSpec, ItemState, ItemVerdict, RetryPolicy
from dashwright.common.models.causes import causes_of, sentence
from dashwright.standalone.batches.client import BatchesClient
from dashwright.standalone.batches.following import print_result, wait_until_end
from dashwright.standalone.batches.rows import BATCH_COLUMNS, ITEM_COLUMNS, batch_row, item_row
from dashwright.standalone.documents import read_document
from dashwright.standalone.remote.client import ServerClient
from dashwright.standalone.remote.command import FAILED, report, run_command
from dashwright.standalone.remote.login import DEFAULT_SERVER, ServerOptions
from dashwright.standalone.remote.output import AsJson, Output
from dashwright.standalone.remote.progress import ProgressDisplay
from dashwright.standalone.terminal import error_line, with_plural

_PROGRAM: Final = "dashwright batch"
#: Bytes of a file that are sent in one part.
_PART_BYTES: Final = 256 * 1024
#: Refused items that are reported one by one. Further ones are counted.
_MAX_REPORTED: Final = 10

app = App(name="batch")

BatchName = Annotated[str, Parameter(help="The name of the batch.")]
Timeout = Annotated[float | None, Parameter(name="--timeout")]
File = Annotated[str, Parameter(allow_leading_hyphen=True)]
OneState = Annotated[ItemState | None, Parameter(name="--state")]
States = Annotated[list[ItemState] | None, Parameter(name="--state", negative="")]


@app.command(name="list")
def list_(*, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """List batches, the newest first.

    The exit status is 0, or 2 if the batches cannot be read.

    Parameters
    ----------
    as_json
        Print a JSON list of Batch objects.
    """

    async def run(client: BatchesClient, output: Output) -> int:
        batches = [batch async for batch in client.batches()]
        batches.sort(key=lambda batch: (batch.created, batch.name), reverse=True)
        output.print_json([batch.document for batch in batches])
        table = Table(*BATCH_COLUMNS, box=None, pad_edge=False)
        for batch in batches:
            table.add_row(*batch_row(batch))
        output.print_table(table, empty="no batches")
        return 0

    return _run(options, run, as_json=as_json)


@app.command
def get(name: BatchName, /, *, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """Show a batch with its counts and first errors.

    The exit status is 0, or 2 if the batch cannot be read.

    Parameters
    ----------
    as_json
        Print the Batch object as JSON.
    """

    async def run(client: BatchesClient, output: Output) -> int:
        batch = await client.batch(name)
        # With --json only the JSON is printed, else only the result.
        output.print_json(batch.document)
        print_result(output, batch)
        return 0

    return _run(options, run, as_json=as_json)


@app.command
def create(
    file: File,
    /,
    *,
    wait: bool = False,
    timeout_seconds: Timeout = None,
    as_json: AsJson = False,
    options: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Create a batch from an object in a file.

    The exit status is 0, or 2 if the batch was not created. With --wait it is that of dashwright batch wait.

    Parameters
    ----------
    file
        A Batch; JSON, or YAML by its extension; - for standard input.
    wait
        Wait for the end, and show the progress.
    timeout_seconds
        The longest time to wait, in seconds.
    as_json
        Print the Batch object as JSON: as created, or with --wait at its end.
    """

    async def run(client: BatchesClient, output: Output) -> int:
        try:
            document = read_document(file)
        except (OSError, UnicodeDecodeError) as error:
            raise BadRequest(error_line(error)) from error
        if not isinstance(document, dict):
            raise BadRequest(f"{file} does not contain a Batch object")
        batch = await client.create(document)
        if wait:
            return await wait_until_end(client, output, batch.name, timeout_seconds, program=_PROGRAM)
        output.print_line(batch.name)
        output.print_json(batch.document)
        return 0

    return _run(options, run, as_json=as_json)


@app.command
def submit(
    name: BatchName,
    file: File,
    /,
    *,
    close: bool = True,
    wait: bool = False,
    timeout_seconds: Timeout = None,
    priority: int | None = None,
    parallelism: int | None = None,
    attempts: int | None = None,
    on_failure: Literal["continue", "stop"] | None = None,
    as_json: AsJson = False,
    options: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Send items from a file to a batch, which is created if it does not exist, and close it.

    The command can be repeated after an interruption if the items have ids: accepted items are not added again. The exit status is
    0 if all items were accepted, 1 if some were refused, 2 if the request failed. With --wait it is also 1 if the batch fails.

    Parameters
    ----------
    file
        One item on each line, as JSON; - for standard input.
    close
        Close the batch after the items; with --no-close it accepts more.
    wait
        Wait for the end, and show the progress.
    timeout_seconds
        The longest time to wait, in seconds.
    priority
        The priority of a new batch, from 1 to 5; 5 is the most urgent.
    parallelism
        How many items of a new batch run concurrently at most.
    attempts
        How often an item of a new batch is tried at most.
    on_failure
        stop: after an item of a new batch has failed, cancel those that have not begun.
    as_json
        Print the Batch object as JSON: as it is after the submission, or with --wait at its end.
    """

    async def run(client: BatchesClient, output: Output) -> int:
        values: dict[str, Any] = {"priority": priority, "parallelism": parallelism, "on_failure": on_failure}
        # The file is opened first, so that no batch is created for a file that cannot be opened.
        with _opened(file) as source:
            await client.ensure(name, _spec(attempts, {key: value for key, value in values.items() if value is not None}))
            refused = await _add(client, output, name, source, close=close)
        status = FAILED if refused else 0
        if wait:
            return await wait_until_end(client, output, name, timeout_seconds, program=_PROGRAM) or status
        output.print_json((await client.batch(name)).document)
        return status

    return _run(options, run, as_json=as_json)


@app.command(alias="follow")
def wait(name: BatchName, /, *, timeout_seconds: Timeout = None, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """Show the progress of a batch until it has ended.

    The exit status is 0 if all items succeeded, 1 if one failed or was cancelled, 2 if the batch cannot be read or the time is over.

    Parameters
    ----------
    timeout_seconds
        The longest time to wait, in seconds. The batch continues after it.
    as_json
        Print the Batch object at its end as JSON.
    """

    async def run(client: BatchesClient, output: Output) -> int:
        return await wait_until_end(client, output, name, timeout_seconds, program=_PROGRAM)

    return _run(options, run, as_json=as_json)


@app.command
def cancel(name: BatchName, /, *, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """Cancel the items of a batch that have not ended.

    The exit status is 0, or 2 if the request failed. A batch that has ended is unchanged.

    Parameters
    ----------
    as_json
        Print the Batch object from before as JSON.
    """

    async def run(client: BatchesClient, output: Output) -> int:
        batch = await client.cancel(name)
        output.print_line(f"{name} has already ended ({batch.status.state.value})" if batch.has_ended else f"{name} cancelled")
        output.print_json(batch.document)
        return 0

    return _run(options, run, as_json=as_json)


@app.command
def retry(
    name: BatchName,
    /,
    *,
    states: States = None,
    wait: bool = False,
    timeout_seconds: Timeout = None,
    as_json: AsJson = False,
    options: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Run items again that failed or were cancelled.

    The exit status is 0, or 2 if the request failed. With --wait it is that of dashwright batch wait.

    Parameters
    ----------
    states
        Only items that ended in this state: error, cancelled or success; may be repeated.
    wait
        Wait for the end, and show the progress.
    timeout_seconds
        The longest time to wait, in seconds.
    as_json
        Print the Batch object as JSON, with --wait at its end.
    """

    async def run(client: BatchesClient, output: Output) -> int:
        retried = await client.retry(name, states)
        output.print_line(f"{name}: {with_plural(retried, 'item')} pending again")
        if wait:
            return await wait_until_end(client, output, name, timeout_seconds, program=_PROGRAM)
        output.print_json((await client.batch(name)).document)
        return 0

    return _run(options, run, as_json=as_json)


@app.command
def items(name: BatchName, /, *, state: OneState = None, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """List the items of a batch.

    The exit status is 0, or 2 if the items cannot be read.

    Parameters
    ----------
    state
        Only items in this state.
    as_json
        Print one item on each line, as JSON.
    """

    async def run(client: BatchesClient, output: Output) -> int:
        table = Table(*ITEM_COLUMNS, box=None, pad_edge=False)
        async for item in client.items(name, state):
            # Written as they arrive, because a batch may have a million items.
            if as_json:
                _write_line(item.model_dump(mode="json", by_alias=True, exclude_none=True))
            else:
                table.add_row(*item_row(item))
        output.print_table(table, empty="no items")
        return 0

    return _run(options, run, as_json=as_json)


@app.command
def results(name: BatchName, /, *, state: OneState = None, options: ServerOptions = DEFAULT_SERVER) -> int:
    """Print the results of a batch, one item on each line, as JSON.

    The exit status is 0, or 2 if the results cannot be read.

    Parameters
    ----------
    state
        Only items in this state.
    """

    async def run(client: BatchesClient, _output: Output) -> int:
        async for result in client.results(name, state):
            _write_line(result)
        return 0

    return _run(options, run)


@app.command
def delete(name: BatchName, /, *, options: ServerOptions = DEFAULT_SERVER) -> int:
    """Delete a batch with its results. Items that have not ended are cancelled.

    The exit status is 0, or 2 if the batch was not deleted.
    """

    async def run(client: BatchesClient, output: Output) -> int:
        await client.delete(name)
        output.print_line(f"{name} deleted")
        return 0

    return _run(options, run)


def _spec(attempts: int | None, values: dict[str, Any]) -> BatchSpec:
    """Return the spec of a new batch with the options ``values`` that are given. Raises BadRequest for an invalid value."""
    try:
        if attempts is not None:
            values["retry"] = RetryPolicy(attempts=attempts)
        return BatchSpec(**values)
    except ValidationError as error:
        raise BadRequest(sentence(causes_of(error) or ())) from error


async def _add(client: BatchesClient, output: Output, name: str, source: BinaryIO, *, close: bool) -> int:
    """Send the items of a file, print how many were accepted, and return how many were refused."""
    counts = {"accepted": 0, "duplicate": 0, "refused": 0}
    with ProgressDisplay(output.console) as display:
        # Without a terminal, progress would be printed as lines, which repeat what the verdicts say.
        shown_progress = display if output.console.is_terminal else None
        async for verdict in client.add(name, _parts(source, shown_progress), close=close):
            counts[verdict.status] += 1
            if verdict.status == "refused" and counts["refused"] <= _MAX_REPORTED:
                report(_PROGRAM, _refusal(verdict))
    if counts["refused"] > _MAX_REPORTED:
        report(_PROGRAM, f"{counts['refused'] - _MAX_REPORTED} more items were refused")
    accepted, duplicates = with_plural(counts["accepted"], "item"), with_plural(counts["duplicate"], "duplicate")
    output.print_line(f"{name}: {accepted} accepted, {duplicates}, {counts['refused']} refused")
    return counts["refused"]


def _opened(file: str) -> AbstractContextManager[BinaryIO]:
    """Return a file that is closed at the end of the block, or standard input. Raises BadRequest if the file cannot be opened."""
    try:
        return nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")
    except OSError as error:
        raise BadRequest(error_line(error)) from error


def _refusal(verdict: ItemVerdict) -> str:
    """Return the message on a refused item, which may have no id."""
    return f"refused: {verdict.message}" if not verdict.id else f"item {verdict.id} refused: {verdict.message}"


async def _parts(source: BinaryIO, display: ProgressDisplay | None) -> AsyncIterator[bytes]:
    """Yield a file in parts. A ``display`` shows how much of it was sent."""
    sent_bytes = 0
    while part := await asyncio.to_thread(source.read, _PART_BYTES):
        yield part
        sent_bytes += len(part)
        if display is not None:
            display.update("upload", f"sent {sent_bytes / 1e6:.1f} MB", None)


def _write_line(document: dict[str, Any]) -> None:
    """Write a document to standard output as one line of JSON."""
    sys.stdout.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE).decode())


def _run(options: ServerOptions, command: Callable[[BatchesClient, Output], Awaitable[int]], *, as_json: bool = False) -> int:
    """Run a command with a client of the server's batches, and return the exit status."""

    async def run(client: ServerClient, output: Output) -> int:
        return await command(BatchesClient(client), output)

    return run_command(_PROGRAM, options, run, as_json=as_json)

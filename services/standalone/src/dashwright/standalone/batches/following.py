"""Display of a batch until it ends."""

import asyncio

from dashwright.common.models.batch import BatchState
from dashwright.standalone.batches.client import Batch, BatchesClient
from dashwright.standalone.remote.command import FAILED, NOT_DONE, report
from dashwright.standalone.remote.output import Output
from dashwright.standalone.remote.progress import ProgressDisplay
from dashwright.standalone.terminal import with_plural


async def wait_until_end(client: BatchesClient, output: Output, name: str, timeout_seconds: float | None, *, program: str) -> int:
    """Show the progress of a batch until it has ended, print it, and return the exit status of the command."""
    try:
        async with asyncio.timeout(timeout_seconds):
            with ProgressDisplay(output.console) as display:
                async for followed_batch in client.follow(name):
                    batch = followed_batch
                    display.update(name, _progress_line(batch), batch.status.progress)
    except TimeoutError:
        report(program, f"{name} has not ended within {timeout_seconds:g} seconds; it continues")
        return NOT_DONE
    output.print_json(batch.document)
    print_result(output, batch)
    return 0 if batch.status.state is BatchState.SUCCESS else FAILED


def _progress_line(batch: Batch) -> str:
    """Return the state of a batch with the numbers of ended and failed items, and the items per second."""
    status, counts = batch.status, batch.status.counts
    ended = counts.success + counts.error + counts.cancelled
    rate = f", {status.rate:.0f}/s" if status.rate else ""
    errors = f", {counts.error} errors" if counts.error else ""
    return f"{batch.name} {status.state.value}: {ended} of {counts.total}{errors}{rate}"


def print_result(output: Output, batch: Batch) -> None:
    """Print the state, the counts and the first errors of a batch."""
    status, counts = batch.status, batch.status.counts
    numbers = ", ".join(f"{value} {name}" for name, value in counts.model_dump().items() if value and name != "total")
    output.print_line(f"{batch.name} {status.state.value}: {with_plural(counts.total, 'item')}" + (f" ({numbers})" if numbers else ""))
    if status.message:
        output.print_line(f"  {status.message}")
    for error in status.errors:
        output.print_line(f"  {error}")

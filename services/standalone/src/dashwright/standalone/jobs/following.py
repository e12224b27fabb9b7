"""Display of jobs until they end."""

import asyncio
from collections.abc import Sequence
from typing import Final

from rich.table import Table

from dashwright.standalone.jobs.client import Job, JobsClient
from dashwright.standalone.remote.output import Output
from dashwright.standalone.remote.progress import ProgressDisplay
from dashwright.standalone.terminal import printable_line

_COUNT_COLUMNS: Final = ("create", "update", "delete", "noop", "error")


async def show_until_end(output: Output, client: JobsClient, names: Sequence[str]) -> list[Job]:
    """Show the progress of jobs and return them at their ends, in the order of ``names``.

    A terminal shows a progress bar for each job; other output has a line for each change of the state, message or progress.
    """
    with ProgressDisplay(output.console) as display:
        return await asyncio.gather(*(_show_one(output, display, client, name) for name in names))


async def _show_one(output: Output, display: ProgressDisplay, client: JobsClient, name: str) -> Job:
    """Show the progress of a job and its result, and return it at its end."""
    async for job in client.follow(name):
        if not job.has_ended:
            display.update(name, status_line(job), job.status.progress)
    display.remove(name)
    print_result(output, job)
    return job


def status_line(job: Job) -> str:
    """Return the name, state and message of a job."""
    return printable_line(f"{job.name} {job.status.state.value}" + (f": {job.status.message}" if job.status.message else ""))


def print_result(output: Output, job: Job) -> None:
    """Print the state of a job, its errors, and the number of objects that it changed."""
    output.print_line(status_line(job))
    for error in job.status.errors or ():
        # The status line already has the message, which may be one of the errors.
        if error != job.status.message:
            output.print_line(f"  {error}")
    if job.status.summary:
        table = Table("kind", *_COUNT_COLUMNS, box=None, pad_edge=False)
        for kind_summary in job.status.summary:
            table.add_row(printable_line(kind_summary.resource or ""), *(str(getattr(kind_summary, name) or 0) for name in _COUNT_COLUMNS))
        output.print_table(table)

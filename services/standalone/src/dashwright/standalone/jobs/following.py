"""Following a job to its end, across lost connections, and showing its progress."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from dashwright.common.errors import SourceFailed
from dashwright.standalone.jobs.client import Job, JobsClient
from dashwright.standalone.terminal import plain

_ATTEMPTS: Final = 5
_COUNTS: Final = ("create", "update", "delete", "noop", "error")


async def follow(server: JobsClient, name: str) -> AsyncIterator[Job]:
    """Yield the job as it is, then after each change, until it ends.

    Raises NotFound if the job does not exist or is deleted.
    """
    failures = 0
    while True:
        try:
            job = await server.job(name)
            failures = 0
            yield job
            if job.has_ended:
                return
            async for changed in server.changes(job):
                yield changed
                if changed.has_ended:
                    return
        except SourceFailed:
            failures += 1
            if failures == _ATTEMPTS:
                raise
            # Wait longer after each failure in a row; a successful read resets the count.
            await asyncio.sleep(failures)


async def end_of(server: JobsClient, name: str) -> Job:
    """Return the job once it has ended."""
    async for job in follow(server, name):
        last = job
    return last


async def show(console: Console, server: JobsClient, name: str) -> Job:
    """Return the job at its end. Shows a progress bar on a terminal, else a line for each relevant change."""
    shown = _bar if console.is_terminal else _lines
    job = await shown(console, follow(server, name))
    _show_end(console, job)
    return job


async def _bar(console: Console, jobs: AsyncIterator[Job]) -> Job:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=100)
        async for job in jobs:
            progress.update(bar, description=_what(job), completed=job.status.progress or 0)
    return job


async def _lines(console: Console, jobs: AsyncIterator[Job]) -> Job:
    before = ""
    async for job in jobs:
        line = _what(job) + (f" {job.status.progress:.0f} %" if job.status.progress and not job.has_ended else "")
        if line != before and not job.has_ended:
            console.print(line, markup=False)
        before = line
    return job


def _what(job: Job) -> str:
    return plain(f"{job.name} {job.status.state.value}" + (f": {job.status.message}" if job.status.message else ""))


def _show_end(console: Console, job: Job) -> None:
    console.print(_what(job), markup=False)
    for error in job.status.errors or ():
        if error != job.status.message:
            console.print(f"  {plain(error)}", markup=False)
    if job.status.summary:
        table = Table("kind", *_COUNTS, box=None, pad_edge=False)
        for row in job.status.summary:
            table.add_row(plain(row.resource or ""), *(str(getattr(row, name) or 0) for name in _COUNTS))
        console.print(table)

"""The commands ``dashwright jobs``: list, read, submit, follow and cancel jobs."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final

from cyclopts import App, Parameter
from rich.table import Table
from rich.text import Text

from dashwright.common.errors import BadRequest, NotFound
from dashwright.common.models.provisioning import State
from dashwright.standalone.documents import read_document
from dashwright.standalone.jobs.client import Job, JobsClient
from dashwright.standalone.jobs.following import print_result, show_until_end
from dashwright.standalone.remote.client import ServerClient
from dashwright.standalone.remote.command import FAILED, NOT_DONE, report, run_command
from dashwright.standalone.remote.login import DEFAULT_SERVER, ServerOptions
from dashwright.standalone.remote.output import AsJson, Output
from dashwright.standalone.terminal import error_line, printable_line

_PROGRAM: Final = "dashwright jobs"
_COLUMNS: Final = ("name", "repository", "action", "state", "progress", "created", "message")
_STYLES: Final = {State.PENDING: "dim", State.WORKING: "cyan", State.SUCCESS: "green", State.ERROR: "red"}

app = App(name="jobs")

States = Annotated[list[State] | None, Parameter(name="--state", negative="")]
Timeout = Annotated[float | None, Parameter(name="--timeout")]


@app.command(name="list")
def list_(*, repository: str = "", states: States = None, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """List pending, running and ended jobs, the newest first.

    The exit status is 0, or 2 if the jobs cannot be read or the repository does not exist.

    Parameters
    ----------
    repository
        Only jobs of this repository.
    states
        Only jobs in this state; may be repeated.
    as_json
        Print a JSON list of Job objects.
    """

    async def run(client: JobsClient, output: Output) -> int:
        jobs = await _selected_jobs(client, repository, states)
        jobs.sort(key=lambda job: (job.created, job.name), reverse=True)
        output.print_json([job.document for job in jobs])
        table = Table(*_COLUMNS, box=None, pad_edge=False)
        for job in jobs:
            table.add_row(*_table_row(job))
        output.print_table(table, empty="no jobs")
        return 0

    return _run(options, run, as_json=as_json)


@app.command
def get(name: str, /, *, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """Show a job with its errors and results.

    The exit status is 0, or 2 if the job cannot be read.

    Parameters
    ----------
    name
        The name of the job.
    as_json
        Print the Job object as JSON.
    """

    async def run(client: JobsClient, output: Output) -> int:
        job = await client.job(name)
        # With --json only the JSON is printed, else only the result.
        output.print_json(job.document)
        print_result(output, job)
        return 0

    return _run(options, run, as_json=as_json)


@app.command(alias="follow")
def wait(names: list[str], /, *, timeout_seconds: Timeout = None, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """Show the progress of jobs until all have ended.

    The exit status is 0 if all jobs succeeded, 1 if one failed, 2 if one cannot be read or the time is over.

    Parameters
    ----------
    names
        The names of the jobs.
    timeout_seconds
        The longest time to wait, in seconds. The jobs continue after it.
    as_json
        Print the Job object at its end as JSON, or a JSON list if there are several names.
    """

    async def run(client: JobsClient, output: Output) -> int:
        return await _wait(client, output, names, timeout_seconds, is_list=len(names) > 1)

    return _run(options, run, as_json=as_json)


@app.command
def submit(
    repository: str,
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    wait: bool = False,
    timeout_seconds: Timeout = None,
    as_json: AsJson = False,
    options: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Submit a job, or a list of jobs, of a repository.

    The exit status is 0 if the jobs were accepted, 2 if they were not. With --wait it is that of dashwright jobs wait.

    Parameters
    ----------
    repository
        The name of the repository.
    file
        A JobSpec, a Job, or a list of JobSpecs; JSON, or YAML by its extension; - for standard input.
    wait
        Wait for the end, and show the progress.
    timeout_seconds
        The longest time to wait, in seconds.
    as_json
        Print the Job object, or for a list the JSON list of them: as submitted, or with --wait at the end.
    """

    async def run(client: JobsClient, output: Output) -> int:
        try:
            submission = read_document(file)
        except (OSError, UnicodeDecodeError) as error:
            raise BadRequest(error_line(error)) from error
        return await _wait_or_print(
            client, output, await client.submit(repository, submission), wait, timeout_seconds, is_list=isinstance(submission, list)
        )

    return _run(options, run, as_json=as_json)


@app.command
def sync(
    repository: str,
    /,
    *,
    incremental: bool = False,
    wait: bool = True,
    timeout_seconds: Timeout = None,
    as_json: AsJson = False,
    options: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Request a sync of a repository, and show its progress until it ends.

    The exit status is 0 if the sync succeeded, 1 if it failed, 2 if it could not be requested.

    Parameters
    ----------
    repository
        The name of the repository.
    incremental
        Only read files that differ from the stored commit.
    wait
        Wait for the end; with --no-wait only the job's name is printed.
    timeout_seconds
        The longest time to wait, in seconds. The sync continues after it.
    as_json
        Print the Job object as JSON: at its end, or with ``--no-wait`` as submitted.
    """

    async def run(client: JobsClient, output: Output) -> int:
        job = await client.sync(repository, incremental=incremental)
        return await _wait_or_print(client, output, [job], wait, timeout_seconds, is_list=False)

    return _run(options, run, as_json=as_json)


@app.command
def cancel(
    names: list[str] | None = None,
    /,
    *,
    repository: str = "",
    states: States = None,
    as_json: AsJson = False,
    options: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Cancel pending or running jobs; changes that they have not stored yet are lost.

    The exit status is 0, or 2 if a named job does not exist or has already ended.

    Parameters
    ----------
    names
        The names of the jobs.
    repository
        Instead of names: all jobs of this repository that have not ended.
    states
        Together with a repository: only jobs in this state, pending or working.
    as_json
        Print the Job object from before as JSON, or a JSON list unless there is exactly one name.
    """

    async def run(client: JobsClient, output: Output) -> int:
        if bool(names) == bool(repository) or (names and states):
            raise BadRequest("give either the names of jobs, or --repository, which --state may restrict")
        selected_names = names or [job.name for job in await _selected_jobs(client, repository, states) if not job.has_ended]
        cancelled_jobs: list[Job] = []
        status = 0
        for name in selected_names:
            try:
                job = await client.cancel(name)
            except NotFound as error:
                status = _report_unless_selected(error.message, names)
                continue
            if job.has_ended:
                status = _report_unless_selected(f"{name} has already ended ({job.status.state.value})", names)
                continue
            cancelled_jobs.append(job)
            output.print_line(f"{name} cancelled")
        if not selected_names:
            output.print_line("no jobs")
        _print_documents(output, cancelled_jobs, is_list=len(names or ()) != 1)
        return status

    return _run(options, run, as_json=as_json)


def _report_unless_selected(message: str, names: Sequence[str] | None) -> int:
    """Report a named job that could not be cancelled, and return the exit status.

    A job that the command selected itself may end before its cancellation, so ``names`` is None and nothing is reported.
    """
    if names is None:
        return 0
    report(_PROGRAM, message)
    return NOT_DONE


async def _selected_jobs(client: JobsClient, repository: str, states: Sequence[State] | None) -> list[Job]:
    """Return the jobs of a repository that are in ``states``.

    An empty ``states`` selects jobs in any state, and an empty ``repository`` those of all repositories.
    Raises NotFound for an unknown repository.
    """
    jobs = [job async for job in client.jobs(repository)]
    if repository and not jobs and not await client.has_repository(repository):
        raise NotFound(f"repository {repository} not found")
    return [job for job in jobs if not states or job.status.state in states]


async def _wait_or_print(
    client: JobsClient, output: Output, jobs: Sequence[Job], wait: bool, timeout_seconds: float | None, *, is_list: bool
) -> int:
    """Wait for submitted jobs if ``wait`` is true, or else print their names. Return the exit status."""
    if wait:
        return await _wait(client, output, [job.name for job in jobs], timeout_seconds, is_list=is_list)
    for job in jobs:
        output.print_line(job.name)
    _print_documents(output, jobs, is_list=is_list)
    return 0


async def _wait(client: JobsClient, output: Output, names: Sequence[str], timeout_seconds: float | None, *, is_list: bool) -> int:
    """Show the progress of jobs until all have ended or the time is over, print them, and return the exit status."""
    # Equivalent items of a submitted list share one job, whose name then occurs several times.
    names = list(dict.fromkeys(names))
    try:
        async with asyncio.timeout(timeout_seconds):
            jobs = await show_until_end(output, client, names)
    except TimeoutError:
        report(_PROGRAM, f"not all jobs have ended within {timeout_seconds:g} seconds; they continue")
        return NOT_DONE
    _print_documents(output, jobs, is_list=is_list)
    return 0 if all(job.status.state is State.SUCCESS for job in jobs) else FAILED


def _print_documents(output: Output, jobs: Sequence[Job], *, is_list: bool) -> None:
    """Print the objects of jobs as a JSON list, or unless ``is_list`` the first object, if any."""
    documents: list[Any] = [job.document for job in jobs]
    if is_list:
        output.print_json(documents)
    elif documents:
        output.print_json(documents[0])


def _table_row(job: Job) -> list[Text]:
    """Return the cells of a job in the order of ``_COLUMNS``."""
    status = job.status
    progress = "" if status.progress is None else f"{status.progress:.0f} %"
    values = (job.name, job.spec.repository, job.spec.action.value, status.state.value, progress, job.created, status.message or "")
    cells = [Text(printable_line(value)) for value in values]
    cells[_COLUMNS.index("state")].stylize(_STYLES[status.state])
    return cells


def _run(options: ServerOptions, command: Callable[[JobsClient, Output], Awaitable[int]], *, as_json: bool) -> int:
    """Run a command with a client of the server's jobs, and return the exit status."""

    async def run(client: ServerClient, output: Output) -> int:
        return await command(JobsClient(client), output)

    return run_command(_PROGRAM, options, run, as_json=as_json)

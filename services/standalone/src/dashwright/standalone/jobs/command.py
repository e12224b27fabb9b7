"""The job commands: list, follow, cancel, and request a sync."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final

import orjson
from cyclopts import App, Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dashwright.common.errors import DashwrightError
from dashwright.common.models.provisioning import State
from dashwright.standalone.jobs import following
from dashwright.standalone.jobs.client import Job, JobsClient, Login
from dashwright.standalone.terminal import plain

FAILED, NOT_DONE, INTERRUPTED = 1, 2, 130
_PIPED_WIDTH: Final = 200

app = App(name="jobs")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The server and the credentials.

    Credentials should be given in the environment: all users of this machine can see arguments.
    """

    url: Annotated[str, Parameter(env_var="DASHWRIGHT_URL")] = "http://127.0.0.1:3000"
    "The server's address."
    token: Annotated[str, Parameter(env_var="DASHWRIGHT_TOKEN", show_default=False)] = ""
    "A service account's token."
    user: Annotated[str, Parameter(env_var="DASHWRIGHT_USER", show_default=False)] = ""
    "A user, as name:password, if there is no token."
    namespace: Annotated[str, Parameter(env_var="DASHWRIGHT_NAMESPACE")] = "default"
    "The namespace of the organization."

    @property
    def login(self) -> Login:
        """The options as a login."""
        return Login(self.url, self.namespace, self.token, self.user)


DEFAULT_SERVER: Final = ServerOptions()
AsJson = Annotated[bool, Parameter(name="--json", negative="")]

_STYLES: Final = {State.PENDING: "dim", State.WORKING: "cyan", State.SUCCESS: "green", State.ERROR: "red"}


@app.command(name="list")
def list_(*, repository: str = "", as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """List pending, running and ended jobs.

    The exit status is 0, 1 if the repository does not exist, or 2 if the jobs cannot be read.

    Parameters
    ----------
    repository
        Only jobs of this repository.
    as_json
        Print a JSON list of Job objects.
    """

    async def run(server: JobsClient, console: Console) -> int:
        found = [job async for job in server.jobs(repository)]
        if repository and not found and not await server.has_repository(repository):
            sys.stderr.write(f"dashwright jobs: repository {plain(repository)} not found\n")
            return FAILED
        found.sort(key=lambda job: (job.created, job.name), reverse=True)
        if as_json:
            _print_json([job.document for job in found])
            return 0
        table = Table("name", "repository", "action", "state", "progress", "created", "message", box=None, pad_edge=False)
        for job in found:
            table.add_row(*_row(job))
        console.print(table if found else "no jobs")
        return 0

    return _run(options, run)


@app.command
def follow(name: str, /, *, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """Show the progress of a job until it ends.

    The exit status is 0 if the job succeeded, 1 if it failed, 2 if it cannot be read.

    Parameters
    ----------
    as_json
        Print nothing until the job ends, then the Job object as JSON.
    """

    async def run(server: JobsClient, console: Console) -> int:
        return await _followed(server, console, name, as_json=as_json)

    return _run(options, run)


@app.command
def cancel(name: str, /, *, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """Cancel a pending or running job; changes that it has not stored yet are lost.

    The exit status is 0, or 2 if the job does not exist or has already ended.

    Parameters
    ----------
    as_json
        Print the Job object from before as JSON.
    """

    async def run(server: JobsClient, console: Console) -> int:
        job = await server.job(name)
        if job.has_ended:
            sys.stderr.write(f"dashwright jobs: {plain(name)} has already ended ({job.status.state.value})\n")
            return NOT_DONE
        await server.cancel(job)
        if as_json:
            _print_json(job.document)
        else:
            console.print(f"{plain(name)} cancelled", markup=False)
        return 0

    return _run(options, run)


@app.command
def sync(
    repository: str, /, *, incremental: bool = False, wait: bool = True, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER
) -> int:
    """Request a sync of a repository, and show its progress until it ends.

    The exit status is 0 if the sync succeeded, 1 if it failed, 2 if it could not be requested.

    Parameters
    ----------
    incremental
        Only read files that differ from the stored commit.
    wait
        Wait for the end; with --no-wait only the job's name is printed.
    as_json
        Print the Job object as JSON: at its end, or with ``--no-wait`` as submitted.
    """

    async def run(server: JobsClient, console: Console) -> int:
        job = await server.sync(repository, incremental=incremental)
        if wait:
            return await _followed(server, console, job.name, as_json=as_json)
        if as_json:
            _print_json(job.document)
        else:
            console.print(plain(job.name), markup=False)
        return 0

    return _run(options, run)


def _row(job: Job) -> list[Text]:
    status = job.status
    progress = "" if status.progress is None else f"{status.progress:.0f} %"
    texts = (job.name, job.spec.repository, job.spec.action.value, status.state.value, progress, job.created, status.message or "")
    row = [Text(plain(text)) for text in texts]
    row[3].stylize(_STYLES[status.state])
    return row


def _print_json(document: object) -> None:
    sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())


async def _followed(server: JobsClient, console: Console, name: str, *, as_json: bool) -> int:
    if as_json:
        job = await following.end_of(server, name)
        _print_json(job.document)
    else:
        job = await following.show(console, server, name)
    return 0 if job.status.state is State.SUCCESS else FAILED


def _run(options: ServerOptions, command: Callable[[JobsClient, Console], Awaitable[int]]) -> int:
    async def run() -> int:
        async with JobsClient(options.login) as server:
            return await command(server, Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False))

    try:
        return asyncio.run(run())
    except DashwrightError as error:
        sys.stderr.write(f"dashwright jobs: {plain(error.message)}\n")
        return NOT_DONE
    except KeyboardInterrupt:
        return INTERRUPTED

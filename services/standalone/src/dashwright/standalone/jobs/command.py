"""The commands on jobs: list, follow, cancel, and ask for a sync."""

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
from dashwright.standalone.jobs.server import Job, Login, Server
from dashwright.standalone.terminal import plain

FAILED, NOT_DONE, INTERRUPTED = 1, 2, 130
_PIPED_WIDTH: Final = 200

app = App(name="jobs")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The server, and who asks. Credentials are best given in the environment: everybody on this machine sees arguments."""

    url: Annotated[str, Parameter(env_var="DASHWRIGHT_URL")] = "http://127.0.0.1:3000"
    "The server's address."
    token: Annotated[str, Parameter(env_var="DASHWRIGHT_TOKEN", show_default=False)] = ""
    "A service account's token."
    user: Annotated[str, Parameter(env_var="DASHWRIGHT_USER", show_default=False)] = ""
    "A user, as name:password, where there is no token."
    namespace: Annotated[str, Parameter(env_var="DASHWRIGHT_NAMESPACE")] = "default"
    "The namespace of the organization."

    @property
    def login(self) -> Login:
        return Login(self.url, self.namespace, self.token, self.user)


DEFAULT_SERVER: Final = ServerOptions()
AsJson = Annotated[bool, Parameter(name="--json", negative="")]

_STYLES: Final = {State.PENDING: "dim", State.WORKING: "cyan", State.SUCCESS: "green", State.ERROR: "red"}


@app.command(name="list")
def list_(*, repository: str = "", as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """List the jobs that wait, are at work, or have ended.

    The exit status is 0, 1 where there is no such repository, 2 when the jobs cannot be told.

    Parameters
    ----------
    repository
        Only those of this repository.
    as_json
        Print a JSON list of Job objects.
    """

    async def run(server: Server, console: Console) -> int:
        found = [job async for job in server.jobs(repository)]
        if repository and not found and not await server.has_repository(repository):
            sys.stderr.write(f"dashwright jobs: there is no repository {plain(repository)}\n")
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
    """Show what a job does until it ends.

    The exit status is 0 where it ended in success, 1 where it did not, 2 when that cannot be told.

    Parameters
    ----------
    as_json
        Print nothing until the job ends, then its Job object as JSON.
    """

    async def run(server: Server, console: Console) -> int:
        return await _followed(server, console, name, as_json=as_json)

    return _run(options, run)


@app.command
def cancel(name: str, /, *, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """End a job that waits or is at work; what it has not stored yet is not stored.

    The exit status is 0, or 2 when there is no such job or it has ended already.

    Parameters
    ----------
    as_json
        Print the Job object, as it was before, as JSON.
    """

    async def run(server: Server, console: Console) -> int:
        job = await server.job(name)
        if job.has_ended:
            sys.stderr.write(f"dashwright jobs: {plain(name)} has ended already ({job.status.state.value})\n")
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
    """Ask for a sync of a repository, and show what it does until it ends.

    The exit status is 0 where it ended in success, 1 where it did not, 2 when it could not be asked for.

    Parameters
    ----------
    incremental
        Look only at what differs from the commit that is stored.
    wait
        Without, only the job's name is printed.
    as_json
        Print the Job object as JSON: at its end, or with ``--no-wait`` as it was submitted.
    """

    async def run(server: Server, console: Console) -> int:
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


async def _followed(server: Server, console: Console, name: str, *, as_json: bool) -> int:
    if as_json:
        job = await following.end_of(server, name)
        _print_json(job.document)
    else:
        job = await following.show(console, server, name)
    return 0 if job.status.state is State.SUCCESS else FAILED


def _run(options: ServerOptions, command: Callable[[Server, Console], Awaitable[int]]) -> int:
    async def run() -> int:
        async with Server(options.login) as server:
            return await command(server, Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False))

    try:
        return asyncio.run(run())
    except DashwrightError as error:
        sys.stderr.write(f"dashwright jobs: {plain(error.message)}\n")
        return NOT_DONE
    except KeyboardInterrupt:
        return INTERRUPTED

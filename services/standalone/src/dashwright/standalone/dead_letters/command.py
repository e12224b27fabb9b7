"""The commands ``dashwright dead-letters``: list, read, replay and discard dead letters."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from cyclopts import App, Parameter
from rich.table import Table
from rich.text import Text

from dashwright.common.errors import BadRequest, Conflict, NotFound
from dashwright.common.kinds.registry import DEAD_LETTER
from dashwright.common.models.dead_letter import DeadLetterState
from dashwright.standalone.dead_letters.client import DeadLetter, DeadLettersClient
from dashwright.standalone.remote.client import ServerClient
from dashwright.standalone.remote.command import FAILED, NOT_DONE, report, run_command
from dashwright.standalone.remote.login import DEFAULT_SERVER, ServerOptions
from dashwright.standalone.remote.output import AsJson, Output
from dashwright.standalone.remote.progress import ProgressDisplay
from dashwright.standalone.terminal import printable_line

_PROGRAM: Final = "dashwright dead-letters"
_NO_LETTERS: Final = "no dead letters"

app = App(name="dead-letters")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Selection:
    """The options that select the letters of a command; by default, all letters."""

    state: DeadLetterState | None = None
    "Only letters in this state."
    queue: str = ""
    "Only letters that died in this queue."
    replayable: bool | None = None
    "Only letters that can be replayed; with --no-replayable only the others."
    selector: Annotated[str, Parameter(alias="-l")] = ""
    "Only letters with these labels, as in kubectl."

    @property
    def label_selector(self) -> str:
        """The label selector of the selected letters; empty for all letters."""
        labels = {
            "state": "" if self.state is None else self.state.value,
            "queue": self.queue,
            "replayable": "" if self.replayable is None else str(self.replayable).lower(),
        }
        conditions = [f"{DEAD_LETTER.group}/{label}={value}" for label, value in labels.items() if value]
        return ",".join([*conditions, self.selector] if self.selector else conditions)


ALL_LETTERS: Final = Selection()
Names = list[str] | None
All = Annotated[bool, Parameter(name="--all", negative="")]
DryRun = Annotated[bool, Parameter(negative="")]


@app.command(name="list")
def list_(*, selection: Selection = ALL_LETTERS, as_json: AsJson = False, options: ServerOptions = DEFAULT_SERVER) -> int:
    """List dead letters, the oldest first.

    The exit status is 0, or 2 if the letters cannot be read.

    Parameters
    ----------
    as_json
        Print a JSON list of DeadLetter objects, with the bodies of the messages.
    """

    async def run(client: DeadLettersClient, output: Output) -> int:
        if output.as_json:
            output.print_json(await client.documents(selection.label_selector))
            return 0
        rows = [row async for row in client.rows(selection.label_selector)]
        table = Table(*(name.lower() for name in rows[0]), box=None, pad_edge=False)
        for row in rows[1:]:
            table.add_row(*(Text(printable_line(cell)) for cell in row))
        output.print_table(table, empty=_NO_LETTERS)
        return 0

    return _run(options, run, as_json=as_json)


@app.command
def get(
    name: str,
    /,
    *,
    body: Annotated[bool, Parameter(negative="")] = False,
    as_json: AsJson = False,
    options: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Show a dead letter: its message, and why it could not be handled.

    The exit status is 0, or 2 if the letter cannot be read.

    Parameters
    ----------
    name
        The name of the letter.
    body
        Print only the body of the message, unchanged.
    as_json
        Print the DeadLetter object as JSON.
    """

    async def run(client: DeadLettersClient, output: Output) -> int:
        letter = await client.letter(name)
        if body:
            # Bytes bypass the text buffer, so buffered text must be written first.
            sys.stdout.flush()
            sys.stdout.buffer.write(letter.body)
            return 0
        # With --json only the JSON is printed, else only the lines.
        output.print_json(letter.document)
        for field, value in _fields(letter):
            output.print_line(f"{field + ':':15} {value}")
        return 0

    return _run(options, run, as_json=as_json)


@app.command
def replay(
    names: Names = None,
    /,
    *,
    selection: Selection = ALL_LETTERS,
    all_letters: All = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    options: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Publish the messages of dead letters again. A letter is replayed once, however often this command runs.

    The exit status is 0 if all letters are replayed, 1 if one cannot be replayed, 2 if one does not exist or the broker refused it.

    Parameters
    ----------
    names
        The names of the letters, instead of options that select them.
    all_letters
        All letters.
    dry_run
        Replay nothing, and show what could be replayed.
    as_json
        Print the DeadLetter object as JSON, a JSON list for several names, or a DeadLetterReplay object for selected letters.
    """

    async def run(client: DeadLettersClient, output: Output) -> int:
        if _has_names(names, selection, all_letters=all_letters):
            return await _replay_named(client, output, names or [], dry_run=dry_run)
        return await _replay_selected(client, output, selection.label_selector, dry_run=dry_run)

    return _run(options, run, as_json=as_json)


@app.command
def discard(
    names: Names = None,
    /,
    *,
    selection: Selection = ALL_LETTERS,
    all_letters: All = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    options: ServerOptions = DEFAULT_SERVER,
) -> int:
    """Delete dead letters permanently.

    The exit status is 0, or 2 if a letter does not exist.

    Parameters
    ----------
    names
        The names of the letters, instead of options that select them.
    all_letters
        All letters.
    dry_run
        Delete nothing, and show what would be deleted.
    as_json
        Print a JSON list with the names of the letters.
    """

    async def run(client: DeadLettersClient, output: Output) -> int:
        status = 0
        if _has_names(names, selection, all_letters=all_letters):
            discarded_names = []
            for name in names or ():
                try:
                    await client.discard(name, dry_run=dry_run)
                except NotFound as error:
                    report(_PROGRAM, error.message)
                    status = NOT_DONE
                    continue
                discarded_names.append(name)
        else:
            discarded_names = await client.names(selection.label_selector)
            if discarded_names and not dry_run:
                await client.discard_selected(selection.label_selector)
        for name in discarded_names:
            output.print_line(f"{name} {'would be discarded' if dry_run else 'discarded'}")
        if not discarded_names and not status:
            output.print_line(_NO_LETTERS)
        output.print_json(discarded_names)
        return status

    return _run(options, run, as_json=as_json)


async def _replay_named(client: DeadLettersClient, output: Output, names: list[str], *, dry_run: bool) -> int:
    """Replay letters by name, print the result for each, and return the exit status."""
    letters: list[DeadLetter] = []
    status = 0
    for name in names:
        try:
            letters.append(await client.replay(name, dry_run=dry_run))
        except (Conflict, NotFound) as error:
            report(_PROGRAM, error.message)
            status = max(status, FAILED if isinstance(error, Conflict) else NOT_DONE)
            continue
        output.print_line(f"{name} {'can be replayed' if dry_run else 'replayed'}")
    documents = [letter.document for letter in letters]
    if len(names) > 1:
        output.print_json(documents)
    elif documents:
        output.print_json(documents[0])
    return status


async def _replay_selected(client: DeadLettersClient, output: Output, selector: str, *, dry_run: bool) -> int:
    """Replay the letters that a label selector selects, print their numbers, and return the exit status."""
    with ProgressDisplay(output.console) as display:
        async for result in client.replay_selected(selector, dry_run=dry_run):
            total = result.replayed + result.remaining
            if result.remaining and not dry_run:
                display.update("replay", f"{result.replayed} of {total} letters replayed", 100 * result.replayed / total)
    count = f"{result.remaining} can be replayed" if dry_run else f"{result.replayed} replayed, {result.remaining} remaining"
    output.print_line(f"{count}, {result.skipped} cannot be replayed")
    output.print_json(result.model_dump(mode="json", by_alias=True, exclude_none=True))
    return FAILED if result.skipped or (result.remaining and not dry_run) else 0


def _has_names(names: Names, selection: Selection, *, all_letters: bool) -> bool:
    """Return whether letters are named. Raises BadRequest unless exactly one of names, options that select letters and --all is given."""
    # A command without arguments must not replay or discard all letters by mistake.
    if [bool(names), selection != ALL_LETTERS, all_letters].count(True) != 1:
        raise BadRequest("give either the names of letters, or options that select letters, or --all")
    return bool(names)


def _fields(letter: DeadLetter) -> list[tuple[str, str]]:
    """Return the names and values of the fields to show, without those that are missing."""
    spec, status = letter.spec, letter.status
    size = f"{spec.body_bytes} bytes" + (", of which the beginning is stored" if spec.truncated else "")
    fields = [
        ("name", letter.name),
        ("state", status.state.value),
        ("reason", status.reason),
        ("obstacle", status.obstacle),
        ("received", _time(status.received)),
        ("replayed", None if status.replayed is None else _time(status.replayed)),
        ("routing key", spec.routing_key),
        ("queue", spec.queue),
        ("message id", spec.message_id),
        ("correlation id", spec.correlation_id),
        ("content type", spec.content_type),
        *(("header", f"{name}: {value}") for name, value in spec.headers.items()),
        ("removed", ", ".join(spec.removed_headers or ())),
        ("size", size),
        ("body", spec.body if spec.body_encoding == "utf-8" else "not text; print it with --body"),
    ]
    return [(field, value) for field, value in fields if value]


def _time(milliseconds: int) -> str:
    """Return a time in Unix milliseconds as RFC 3339 in UTC."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _run(options: ServerOptions, command: Callable[[DeadLettersClient, Output], Awaitable[int]], *, as_json: bool) -> int:
    """Run a command with a client of the server's dead letters, and return the exit status."""

    async def run(client: ServerClient, output: Output) -> int:
        return await command(DeadLettersClient(client), output)

    return run_command(_PROGRAM, options, run, as_json=as_json)

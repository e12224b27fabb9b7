"""The output of a command: text for users, or JSON for programs."""

import sys
from typing import Annotated, Any, Final

import orjson
from cyclopts import Parameter
from rich.console import Console

from dashwright.standalone.terminal import printable_line

#: Characters of a line of output that is not sent to a terminal.
_PIPED_WIDTH: Final = 200

AsJson = Annotated[bool, Parameter(name="--json", negative="")]


class Output:
    """The output of a command.

    ``console`` is for users: standard output, or with JSON standard error, if that is a terminal.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        stream = sys.stderr if as_json else sys.stdout
        is_terminal = stream.isatty()
        self.console = Console(file=stream, width=None if is_terminal else _PIPED_WIDTH, quiet=as_json and not is_terminal, highlight=False)

    def print_line(self, text: str) -> None:
        """Print a line for users, with control characters escaped."""
        self.console.print(printable_line(text), markup=False)

    def print_json(self, document: Any) -> None:
        """Print a document for programs; nothing unless the output is JSON."""
        if self.as_json:
            sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())

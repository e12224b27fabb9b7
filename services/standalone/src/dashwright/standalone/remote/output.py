"""The output of a command: text for users, or JSON for programs."""

import sys
from typing import Annotated, Any, Final

import orjson
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from dashwright.standalone.terminal import printable_line

#: Characters of a line that is not sent to a terminal: more than any line has, since other programs read a row as one line.
_PIPED_WIDTH: Final = 1 << 31

AsJson = Annotated[bool, Parameter(name="--json", negative="")]


class Output:
    """The output of a command, which calls the methods for both forms. Methods for the form that was not chosen print nothing.

    ``console`` is for progress: standard output, or with JSON standard error, if that is a terminal.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        stream = sys.stderr if as_json else sys.stdout
        is_terminal = stream.isatty()
        self.console = Console(file=stream, width=None if is_terminal else _PIPED_WIDTH, quiet=as_json and not is_terminal, highlight=False)

    def print_line(self, text: str) -> None:
        """Print a line for users, with control characters escaped; nothing if the output is JSON."""
        if not self.as_json:
            self.console.print(printable_line(text), markup=False)

    def print_table(self, table: Table, *, empty: str = "") -> None:
        """Print a table for users, or ``empty`` if it has no rows; nothing if the output is JSON. Only a terminal wraps rows."""
        if not table.row_count:
            self.print_line(empty)
        elif self.as_json:
            return
        elif self.console.is_terminal:
            self.console.print(table)
        else:
            self._print_unpadded(table)

    def _print_unpadded(self, table: Table) -> None:
        """Print each row on one line, without the blanks that pad the last column."""
        with self.console.capture() as capture:
            self.console.print(table)
        self.console.file.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())

    def print_json(self, document: Any) -> None:
        """Print a document for programs; nothing unless the output is JSON."""
        if self.as_json:
            sys.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())

"""The output of commands: complete lines of text, or JSON documents without any other text."""

import json

import pytest
from rich.table import Table

from dashwright.standalone.remote.output import Output

#: A text that is longer than a line of a terminal.
LONG_TEXT = "word " * 60 + "end"


def test_rows_that_are_not_sent_to_a_terminal_have_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither rows nor lines are wrapped, and no line ends with blanks, so that ``head`` and ``grep`` see complete rows."""
    output = Output(as_json=False)
    table = Table("name", "error", box=None, pad_edge=False)
    table.add_row("a", LONG_TEXT)
    table.add_row("b", "short")
    output.print_table(table)
    output.print_line(LONG_TEXT)
    output.print_table(Table("name"), empty="no rows")
    assert capsys.readouterr().out.splitlines() == ["name  error", f"a     {LONG_TEXT}", "b     short", LONG_TEXT, "no rows"]


def test_json_is_printed_without_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With JSON output, a terminal shows the document only: lines and tables for humans are not printed."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    output = Output(as_json=True)
    table = Table("name")
    table.add_row("a")
    output.print_json(["a"])
    output.print_table(table)
    output.print_line("a")
    captured = capsys.readouterr()
    assert json.loads(captured.out) == ["a"]
    assert captured.err == ""

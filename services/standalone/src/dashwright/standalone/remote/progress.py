"""The progress of work on a server: a bar for each item on a terminal, or else one line for each change."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

from dashwright.standalone.terminal import printable_line


class ProgressDisplay:
    """The display of the progress of named items, used with ``with``. The console may print other lines above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        self._bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._bar_ids: dict[str, TaskID] = {}
        #: The last line that was printed for each item.
        self._lines: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def update(self, name: str, text: str, percent: float | None) -> None:
        """Show the progress of an item. ``text`` is a description on one line, ``percent`` is from 0 to 100, or None if unknown."""
        text = printable_line(text)
        if self._console.is_terminal:
            if name not in self._bar_ids:
                self._bar_ids[name] = self._bars.add_task("", total=100)
            self._bars.update(self._bar_ids[name], description=text, completed=percent or 0)
            return
        line = f"{text} {percent:.0f} %" if percent else text
        if self._lines.get(name) != line:
            self._lines[name] = line
            self._console.print(line, markup=False)

    def remove(self, name: str) -> None:
        """Remove the bar of an item that has ended."""
        self._lines.pop(name, None)
        if name in self._bar_ids:
            self._bars.remove_task(self._bar_ids.pop(name))

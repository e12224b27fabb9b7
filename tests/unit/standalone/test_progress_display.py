"""The display of progress: one line for each change, or bars on a terminal."""

import io

from rich.console import Console

from dashwright.standalone.remote.progress import ProgressDisplay


def test_each_change_is_one_line() -> None:
    """A repeated update prints nothing. Control characters are escaped, and an unknown progress has no percentage."""
    output = io.StringIO()
    with ProgressDisplay(Console(file=output, width=80)) as display:
        # 12.6 and 12.9 have the same rounded percentage. ``[b]`` is markup of Rich, which is printed unchanged.
        for text, percent in (("[b]a\x1b", None), ("[b]a\x1b", None), ("a", 12.6), ("a", 12.9), ("a", 13.6)):
            display.update("a", text, percent)
        # A removed item is new when it is updated again.
        display.update("b", "b", 0)
        display.remove("b")
        display.update("b", "b", 0)
    assert output.getvalue().splitlines() == ["[b]a\\x1b", "a 13 %", "a 14 %", "b", "b"]


def test_a_terminal_shows_a_bar_for_each_item() -> None:
    """The last frame has the bars of the items that have not been removed; other lines may be printed."""
    output = io.StringIO()
    console = Console(file=output, width=80, force_terminal=True, color_system=None)
    with ProgressDisplay(console) as display:
        display.update("a", "first", 10)
        display.update("b", "second", None)
        display.remove("a")
        console.print("ended")
        display.update("b", "second", 50)
    # The escape sequence that erases a line precedes each frame.
    frames = output.getvalue().split("\x1b[2K")
    last_frame = [frame for frame in frames if "second" in frame][-1]
    assert "first" not in last_frame
    assert "50%" in last_frame
    assert "ended" in output.getvalue()


def test_a_quiet_console_shows_nothing() -> None:
    """Commands with JSON output use a console without progress unless standard error is a terminal."""
    output = io.StringIO()
    with ProgressDisplay(Console(file=output, quiet=True)) as display:
        display.update("a", "first", 10)
    assert output.getvalue() == ""

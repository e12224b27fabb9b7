"""``dashwright --help``: what there is."""

import pytest

from dashwright.standalone.cli import app


@pytest.mark.parametrize(
    ("command", "words"),
    [("serve", "whole system"), ("jobs", "The jobs of a server"), ("lint", "could be better"), ("eval", "expressions")],
)
def test_every_command_says_what_it_does(capsys: pytest.CaptureFixture[str], command: str, words: str) -> None:
    """Those whose modules are not imported for it, too."""
    with pytest.raises(SystemExit):
        app(["--help"])
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.strip("│ ").startswith(f"{command} ")]
    assert words in line

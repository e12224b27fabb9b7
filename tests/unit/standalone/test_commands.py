"""``dashwright --help``: the list of commands."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import App

from dashwright.standalone.cli import app

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("serve", "whole system"),
        ("jobs", "the jobs of a server"),
        ("dead-letters", "replay and discard"),
        ("lint", "dashboard files"),
        ("eval", "expressions"),
        ("migrate", "database"),
    ],
)
def test_every_command_has_a_description(capsys: pytest.CaptureFixture[str], command: str, words: str) -> None:
    """Commands whose modules are not imported are listed with a description, too."""
    with pytest.raises(SystemExit):
        app(["--help"])
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.strip("│ ").startswith(f"{command} ")]
    assert words in line


def test_every_argument_and_option_has_a_description() -> None:
    """The help of each command describes each of its arguments and options."""
    commands = list(_commands(app))
    # The commands of groups are included.
    assert len(commands) > 20
    for command in commands:
        arguments = command.assemble_argument_collection(parse_docstring=True)
        assert not [argument.name for argument in arguments if argument.show and not argument.parameter.help], command.name


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["admin", "--help"]])
def test_help_loads_no_service(arguments: list[str]) -> None:
    """Help imports no service and no library of one, so that it takes no longer than the command line itself."""
    loaded = _imported_modules(arguments)
    assert not loaded & {"aiohttp", "pydantic", "numpy", "duckdb", "asyncpg", "aio_pika", "structlog"}
    assert {name for name in loaded if name.startswith("dashwright.")} == {"dashwright.standalone", "dashwright.standalone.cli"}


@pytest.mark.parametrize("arguments", [["jobs", "wait"], ["jobs", "list", "--state", "odd"], ["jobs", "get", "a", "b"], ["jobs", "--odd"]])
def test_an_invalid_option_has_an_exit_status_of_its_own(arguments: list[str]) -> None:
    """Invalid options have status 2, so that scripts do not take them for a failed job, with status 1."""
    with pytest.raises(SystemExit) as program_exit:
        app(arguments)
    assert program_exit.value.code == 2


def test_lint_loads_neither_models_nor_kinds(tmp_path: Path) -> None:
    """A run without a configuration takes little longer than ``--version``: it imports no pydantic and no kind."""
    (tmp_path / "dashboard.json").write_text('{"title": "Load", "panels": []}')
    (tmp_path / "dashboard.yaml").write_text("title: Load\npanels: []\n")
    loaded = _imported_modules(["lint", str(tmp_path)])
    assert "dashwright.jobs_worker.domain.lint.linter" in loaded
    assert not loaded & {"pydantic", "numpy", "aiohttp", "structlog", "dashwright.common.kinds.registry"}


def _commands(group: App) -> Iterator[App]:
    """Yield the commands of a group and of the groups in it."""
    for command in (group[name] for name in group if not name.startswith("-")):
        is_group = any(not name.startswith("-") for name in command)
        yield from _commands(command) if is_group else [command]


def _imported_modules(arguments: list[str]) -> set[str]:
    """Return the modules that a command has imported at its end."""
    code = f"""
import sys
from dashwright.standalone.cli import app
try:
    app({arguments!r})
except SystemExit:
    pass
import json
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(process.stderr))


def test_eval_reads_standard_input() -> None:
    """``-`` names standard input, and is not read as an option."""
    query = Path(__file__).parents[3] / "examples" / "query.json"
    command = [str(Path(sys.executable).with_name("dashwright")), "eval", "-", "--format", "json"]
    process = subprocess.run(command, input=query.read_text(), capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert "worst" in json.loads(process.stdout)["results"]

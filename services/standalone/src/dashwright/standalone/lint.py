"""``dashwright lint``: the rules on dashboards over files on this machine, without a server."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from dashwright.common.document import read_json, write_json
from dashwright.common.errors import DashwrightError, Invalid
from dashwright.common.jobs import paths
from dashwright.common.models.repository_views import LintIssue, LintSeverity
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.lint.config import FILE, Config, read_config
from dashwright.jobs_worker.domain.lint.linter import fault_of_config, lint
from dashwright.jobs_worker.domain.recognition import is_classic, is_resource, wrapped
from dashwright.jobs_worker.domain.resource import LARGEST_FILE, check_size, text_of
from dashwright.standalone.terminal import plain, told

FOUND, NOT_RUN = 1, 2
_PIPED_WIDTH = 1000


@dataclass(frozen=True, slots=True)
class _Linted:
    path: str
    issues: Sequence[LintIssue]

    def count(self, severity: LintSeverity) -> int:
        return sum(issue.severity is severity for issue in self.issues)


def check(
    files: list[str], /, *, config: Path | None = None, strict: bool = False, as_json: Annotated[bool, Parameter(name="--json")] = False
) -> int:
    """Tell what could be better about dashboards, by rules that look at their files alone.

    The exit status is 0 where no error was found, 1 where one was, 2 when a file cannot be read.

    Parameters
    ----------
    files
        Dashboards, JSON or YAML by their names, or directories: those below them, but what is hidden and what holds something else.
    config
        Which rules do not apply where, instead of the file .dashboard-lint of this directory.
    strict
        Warnings count as errors.
    as_json
        Print what was found as JSON: a list of {path, issues}, issues of {severity, rule, message}.
    """
    try:
        settings, of_config = _config(config)
        linted = [_Linted(str(path), lint(spec, settings)) for path, spec in _dashboards(files)]
    except (DashwrightError, OSError) as error:
        sys.stderr.write(f"dashwright lint: {told(error)}\n")
        return NOT_RUN
    told_of = [*of_config, *linted]
    if as_json:
        _print_json(told_of)
    else:
        _print(told_of, dashboards=len(linted))
    failing = (LintSeverity.ERROR, LintSeverity.WARNING) if strict else (LintSeverity.ERROR,)
    return FOUND if any(item.count(severity) for item in told_of for severity in failing) else 0


def _config(given: Path | None) -> tuple[Config | None, list[_Linted]]:
    """The configuration, and what is said of its own file, if anything."""
    path = given or Path(FILE)
    if given is None and not path.exists():
        return None, []
    config, unknown = read_config(path.read_bytes())
    return config, [_Linted(str(path), [fault_of_config(message, LintSeverity.WARNING) for message in unknown])] if unknown else []


def _dashboards(files: Iterable[str]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Raises Invalid for a file that is named and holds no dashboard, OSError, and what reading raises: the text names the file."""
    for name in files:
        path = Path(name)
        if path.is_dir():
            found = ((below, _spec(below)) for below in _below(path))
            yield from ((below, spec) for below, spec in found if spec is not None)
        elif (spec := _spec(path)) is None:
            raise Invalid(f"{path}: holds no dashboard")
        else:
            yield path, spec


def _below(directory: Path) -> Iterator[Path]:
    for parent, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if not paths.is_hidden(name))
        yield from (Path(parent, name) for name in sorted(names) if paths.is_resource(name) and not paths.is_hidden(name))


def _spec(path: Path) -> dict[str, Any] | None:
    try:
        check_size(path.stat().st_size, LARGEST_FILE)
        text = text_of(path.read_bytes())
        tree = read_json(text) if path.suffix == ".json" else read_yaml(text)
    except DashwrightError as fault:
        raise Invalid(f"{path}: {fault.message}") from fault
    tree = wrapped(tree) or tree
    if is_classic(tree):
        return dict(tree)
    if is_resource(tree) and tree.get("kind") == "Dashboard" and isinstance(tree.get("spec"), dict):
        return dict(tree["spec"])
    return None


def _print_json(linted: Sequence[_Linted]) -> None:
    shown = [{"path": item.path, "issues": [issue.model_dump(mode="json") for issue in item.issues]} for item in linted]
    sys.stdout.write(write_json(shown).decode() + "\n")


def _print(linted: Sequence[_Linted], dashboards: int) -> None:
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False, soft_wrap=True)
    for item in linted:
        if item.issues:
            console.print(Text(plain(item.path), style="bold"))
        for issue in item.issues:
            style = "red" if issue.severity is LintSeverity.ERROR else "yellow"
            console.print(Text.assemble("  ", (f"{issue.severity.value:<7}", style), f"  {issue.rule}: {plain(issue.message)}"))
    errors, warnings = (sum(item.count(severity) for item in linted) for severity in (LintSeverity.ERROR, LintSeverity.WARNING))
    console.print(f"{_many(errors, 'error')}, {_many(warnings, 'warning')} in {_many(dashboards, 'dashboard')}")


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"

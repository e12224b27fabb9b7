"""``dashwright lint``: checks dashboard files by the lint rules, without a server."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from dashwright.common.document import read_json
from dashwright.common.errors import BadRequest, DashwrightError, Invalid
from dashwright.common.jobs import paths
from dashwright.common.models.values import LintSeverity
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.file_forms import LARGEST_FILE, check_size, decode_text, is_classic, is_resource, unwrap_dashboard
from dashwright.jobs_worker.domain.lint.finding import Waivers
from dashwright.jobs_worker.domain.lint.issue import FILE, Issue, fault_of_config
from dashwright.jobs_worker.domain.lint.linter import RULES, lint
from dashwright.standalone.lint_formats import FileReport, print_github, print_json, print_sarif, print_summary, print_text
from dashwright.standalone.terminal import error_line

FOUND, NOT_RUN = 1, 2

Format = Literal["text", "json", "github", "sarif"]


def check(
    files: list[str],
    /,
    *,
    config: Path | None = None,
    rule: Sequence[str] = (),
    summary: bool = False,
    strict: bool = False,
    format: Format = "text",  # noqa: A002 - the name of the option
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Check dashboard files for errors and broken conventions.

    The exit status is 0 if no error was found, 1 if one was, 2 if a file cannot be read.

    Parameters
    ----------
    files
        Dashboards, as JSON or YAML files, or directories to search. Hidden files and files without a dashboard are skipped.
    config
        The file with exceptions to the rules, instead of .dashboard-lint in this directory.
    rule
        Check this rule only; can be repeated.
    summary
        Print the number of issues by rule, instead of each issue.
    strict
        Count warnings as errors.
    format
        text, json, github (annotations in a GitHub workflow) or sarif (code scanning).
    as_json
        The same as --format json.
    """
    try:
        _check_rules(rule)
        settings, of_config = _config(config)
        linted = [FileReport(str(path), at, _chosen(lint(spec, settings), rule)) for path, at, spec in _dashboards(files)]
    except (DashwrightError, OSError) as error:
        sys.stderr.write(f"dashwright lint: {error_line(error)}\n")
        return NOT_RUN
    reports = [*of_config, *linted]
    chosen: Format = "json" if as_json else format
    match chosen:
        case "json":
            print_json(reports)
        case "github":
            print_github(reports)
        case "sarif":
            print_sarif(reports)
        case "text":
            (print_summary if summary else print_text)(reports, dashboards=len(linted))
    failing = (LintSeverity.ERROR, LintSeverity.WARNING) if strict else (LintSeverity.ERROR,)
    return FOUND if any(report.count(severity) for report in reports for severity in failing) else 0


def _check_rules(names: Iterable[str]) -> None:
    if unknown := [name for name in names if name not in RULES]:
        raise BadRequest(f"unknown rule {unknown[0]!r}; the rules are {', '.join(RULES)}")


def _chosen(issues: Sequence[Issue], rules: Sequence[str]) -> Sequence[Issue]:
    return [issue for issue in issues if issue.rule in rules] if rules else issues


def _config(given: Path | None) -> tuple[Waivers | None, list[FileReport]]:
    """Return the configuration, and reports on its own file, if there are any."""
    path = given or Path(FILE)
    if given is None and not path.exists():
        return None, []
    # Without a configuration pydantic is not needed, and importing it takes as long as everything else.
    from dashwright.jobs_worker.domain.lint.config import read_config

    config, unknown = read_config(path.read_bytes())
    return config, [FileReport(str(path), "", [fault_of_config(message, LintSeverity.WARNING) for message in unknown])] if unknown else []


def _dashboards(files: Iterable[str]) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Yield each file, the JSON pointer to the dashboard's spec in it, and the spec.

    Raises Invalid for a named file without a dashboard, OSError, and errors of reading; their texts name the file.
    """
    for name in files:
        path = Path(name)
        if path.is_dir():
            found = ((below, _spec(below)) for below in _below(path))
            yield from ((below, *spec) for below, spec in found if spec is not None)
        elif (spec := _spec(path)) is None:
            raise Invalid(f"{path}: contains no dashboard")
        else:
            yield path, *spec


def _below(directory: Path) -> Iterator[Path]:
    for parent, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if not paths.is_hidden(name))
        yield from (Path(parent, name) for name in sorted(names) if paths.is_resource(name) and not paths.is_hidden(name))


def _spec(path: Path) -> tuple[str, dict[str, Any]] | None:
    try:
        check_size(path.stat().st_size, LARGEST_FILE)
        text = decode_text(path.read_bytes())
        tree = read_json(text) if path.suffix == ".json" else read_yaml(text)
    except DashwrightError as fault:
        raise Invalid(f"{path}: {fault.message}") from fault
    if is_classic(tree):
        return "", dict(tree)
    if (inner := unwrap_dashboard(tree)) is not None:
        return "/dashboard", inner
    if is_resource(tree) and tree.get("kind") == "Dashboard" and isinstance(tree.get("spec"), dict):
        return "/spec", dict(tree["spec"])
    return None

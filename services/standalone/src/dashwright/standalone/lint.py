"""``dashwright lint``: checks dashboard files by the lint rules, without a server."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from dashwright.common.errors import BadRequest, DashwrightError, Invalid
from dashwright.common.jobs import paths
from dashwright.common.json_documents import read_json
from dashwright.common.models.values import LintSeverity
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.file_forms import MAX_FILE_BYTES, check_size, decode_text, is_classic, is_resource, unwrap_dashboard
from dashwright.jobs_worker.domain.lint.finding import Waivers
from dashwright.jobs_worker.domain.lint.issue import CONFIG_FILE, Issue, config_issue
from dashwright.jobs_worker.domain.lint.linter import RULES, lint
from dashwright.standalone.lint_formats import FileReport, print_github, print_json, print_sarif, print_summary, print_text
from dashwright.standalone.terminal import error_line

# Exit statuses.
ISSUES_FOUND, NOT_RUN = 1, 2

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
        waivers, config_reports = _read_waivers(config)
        dashboard_reports = [
            FileReport(str(path), spec_pointer, _select_rules(lint(spec, waivers), rule))
            for path, spec_pointer, spec in _dashboards_in(files)
        ]
    except (DashwrightError, OSError) as error:
        sys.stderr.write(f"dashwright lint: {error_line(error)}\n")
        return NOT_RUN
    reports = [*config_reports, *dashboard_reports]
    output_format: Format = "json" if as_json else format
    match output_format:
        case "json":
            print_json(reports)
        case "github":
            print_github(reports)
        case "sarif":
            print_sarif(reports)
        case "text":
            (print_summary if summary else print_text)(reports, dashboard_count=len(dashboard_reports))
    failing_severities = (LintSeverity.ERROR, LintSeverity.WARNING) if strict else (LintSeverity.ERROR,)
    return ISSUES_FOUND if any(report.count(severity) for report in reports for severity in failing_severities) else 0


def _check_rules(names: Iterable[str]) -> None:
    """Raise BadRequest if a name is not that of a rule."""
    if unknown_names := [name for name in names if name not in RULES]:
        raise BadRequest(f"unknown rule {unknown_names[0]!r}; the rules are {', '.join(RULES)}")


def _select_rules(issues: Sequence[Issue], rules: Sequence[str]) -> Sequence[Issue]:
    """Return the issues of the rules, or all issues if ``rules`` is empty."""
    return [issue for issue in issues if issue.rule in rules] if rules else issues


def _read_waivers(config_file: Path | None) -> tuple[Waivers | None, list[FileReport]]:
    """Return the waivers of the configuration file, and a report on the file itself if it has issues.

    Without a file there are no waivers. Raises OSError for a named file that is missing, and Invalid for an invalid file.
    """
    path = config_file or Path(CONFIG_FILE)
    if config_file is None and not path.exists():
        return None, []
    # Imported only for a configuration, because the import of pydantic takes as long as the rest of the command.
    from dashwright.jobs_worker.domain.lint.config import read_config

    config, warnings = read_config(path.read_bytes())
    return config, [FileReport(str(path), "", [config_issue(message, LintSeverity.WARNING) for message in warnings])] if warnings else []


def _dashboards_in(files: Iterable[str]) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Yield each file with a dashboard, the JSON pointer to the dashboard's spec in the file, and the spec.

    Raises OSError, and Invalid for a file in ``files`` without a dashboard and for any file that cannot be parsed.
    """
    for name in files:
        path = Path(name)
        if path.is_dir():
            specs = ((file, _read_spec(file)) for file in _dashboard_files(path))
            yield from ((file, *spec) for file, spec in specs if spec is not None)
        elif (spec := _read_spec(path)) is None:
            raise Invalid(f"{path}: contains no dashboard")
        else:
            yield path, *spec


def _dashboard_files(directory: Path) -> Iterator[Path]:
    """Yield the JSON and YAML files below a directory, sorted by path, without hidden files and directories."""
    for parent, directories, names in os.walk(directory):
        # ``os.walk`` descends into the directories that this list then has, in its order.
        directories[:] = sorted(name for name in directories if not paths.is_hidden(name))
        yield from (Path(parent, name) for name in sorted(names) if paths.is_resource(name) and not paths.is_hidden(name))


def _read_spec(path: Path) -> tuple[str, dict[str, Any]] | None:
    """Return the JSON pointer to the dashboard's spec in a file, and the spec; None if the file has no dashboard.

    Raises OSError, and Invalid for a file that is too large or cannot be parsed.
    """
    try:
        check_size(path.stat().st_size, MAX_FILE_BYTES)
        text = decode_text(path.read_bytes())
        tree = read_json(text) if path.suffix == ".json" else read_yaml(text)
    except DashwrightError as error:
        raise Invalid(f"{path}: {error.message}") from error
    if is_classic(tree):
        return "", dict(tree)
    if (wrapped_dashboard := unwrap_dashboard(tree)) is not None:
        return "/dashboard", wrapped_dashboard
    if is_resource(tree) and tree.get("kind") == "Dashboard" and isinstance(tree.get("spec"), dict):
        return "/spec", dict(tree["spec"])
    return None

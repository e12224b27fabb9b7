"""The output formats of ``dashwright lint``: text, a summary, JSON, GitHub annotations, and SARIF 2.1.0."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final
from urllib.parse import quote

import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dashwright.common.json_documents import format_json, write_json
from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.domain.lint.issue import Issue
from dashwright.standalone.terminal import printable_line, with_plural

#: Characters of a line of output that is not sent to a terminal. Without it, rich would fit tables into 80 characters.
_PIPED_WIDTH: Final = 1000
_STYLES: Final = {LintSeverity.ERROR: "red", LintSeverity.WARNING: "yellow"}
_RULES_PAGE: Final = "docs/reference/lint.md"


@dataclass(frozen=True, slots=True)
class FileReport:
    """The issues of one file."""

    path: str
    #: The JSON pointer to the dashboard's spec in the file.
    spec_pointer: str
    issues: Sequence[Issue]

    def count(self, severity: LintSeverity) -> int:
        """Return the number of issues of a severity."""
        return sum(issue.severity is severity for issue in self.issues)

    def pointer(self, issue: Issue) -> str:
        """Return the JSON pointer to the place of an issue in the file."""
        return self.spec_pointer + (issue.pointer or "")


def print_text(reports: Sequence[FileReport], *, dashboard_count: int) -> None:
    """Print each issue on a line, with its JSON pointer, below the name of its file."""
    console = _console()
    for report in reports:
        if report.issues:
            console.print(Text(printable_line(report.path), style="bold"))
        for issue in report.issues:
            pointer = report.pointer(issue)
            location = f" ({printable_line(pointer)})" if pointer else ""
            severity = (f"{issue.severity.value:<7}", _STYLES[issue.severity])
            console.print(Text.assemble("  ", severity, f"  {issue.rule}: {printable_line(issue.message)}", (location, "dim")))
    _print_totals(console, reports, dashboard_count)


def print_summary(reports: Sequence[FileReport], *, dashboard_count: int) -> None:
    """Print how often each rule was broken and in how many files: errors first, then the most frequent rules."""
    console = _console()
    paths_by_rule: defaultdict[tuple[LintSeverity, str], list[str]] = defaultdict(list)
    for report in reports:
        for issue in report.issues:
            paths_by_rule[issue.severity, issue.rule].append(report.path)
    table = Table(box=None, pad_edge=False)
    for heading in ("severity", "rule"):
        table.add_column(heading)
    for heading in ("issues", "files"):
        table.add_column(heading, justify="right")

    def sort_key(severity_and_rule: tuple[LintSeverity, str]) -> tuple[bool, int, str]:
        severity, rule = severity_and_rule
        return severity is not LintSeverity.ERROR, -len(paths_by_rule[severity_and_rule]), rule

    for severity, rule in sorted(paths_by_rule, key=sort_key):
        issue_paths = paths_by_rule[severity, rule]
        table.add_row(Text(severity.value, style=_STYLES[severity]), rule, str(len(issue_paths)), str(len(set(issue_paths))))
    if paths_by_rule:
        console.print(table)
    _print_totals(console, reports, dashboard_count)


def print_json(reports: Sequence[FileReport]) -> None:
    """Print a JSON list of objects with ``path`` and ``issues``. The pointers of issues are relative to the file."""
    documents = [
        {
            "path": report.path,
            "issues": [asdict(issue) | {"pointer": report.pointer(issue)} for issue in report.issues],
        }
        for report in reports
    ]
    sys.stdout.write(write_json(documents).decode() + "\n")


def print_github(reports: Sequence[FileReport]) -> None:
    """Print workflow commands, which GitHub shows as annotations of the lines."""
    for report in reports:
        lines = _lines_by_pointer(report)
        for issue in report.issues:
            line = lines[report.pointer(issue)]
            properties = f"file={_escape_property(report.path)},line={line},title={_escape_property(issue.rule)}"
            sys.stdout.write(f"::{issue.severity.value} {properties}::{_escape_message(issue.message)}\n")


def print_sarif(reports: Sequence[FileReport]) -> None:
    """Print one run in SARIF 2.1.0."""
    results = []
    for report in reports:
        lines = _lines_by_pointer(report)
        for issue in report.issues:
            artifact_location = {"uri": quote(Path(report.path).as_posix())}
            region = {"startLine": lines[report.pointer(issue)]}
            results.append(
                {
                    "ruleId": issue.rule,
                    "level": issue.severity.value,
                    "message": {"text": issue.message},
                    "locations": [
                        {
                            "physicalLocation": {"artifactLocation": artifact_location, "region": region},
                            "logicalLocations": [{"fullyQualifiedName": report.pointer(issue)}],
                        }
                    ],
                }
            )
    rules = [{"id": rule, "helpUri": f"{_RULES_PAGE}#rules"} for rule in sorted({str(result["ruleId"]) for result in results})]
    driver = {"name": "dashwright lint", "version": version("dashwright-standalone"), "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    sys.stdout.write(format_json(document).decode())


def _lines_by_pointer(report: FileReport) -> dict[str, int]:
    """Return the line numbers of issues in the file, by their pointers. They are 1 if the file cannot be parsed."""
    pointers = {report.pointer(issue) for issue in report.issues}
    try:
        root = yaml.compose(Path(report.path).read_text("utf-8-sig"), Loader=yaml.CSafeLoader) if pointers else None
    except (yaml.YAMLError, OSError, UnicodeDecodeError):
        # The file is a missing configuration, or JSON that is invalid as YAML, for instance because of tabs.
        root = None
    return {pointer: _line_number(root, pointer) for pointer in pointers}


def _line_number(node: yaml.Node | None, pointer: str) -> int:
    """Return the line of the value at a JSON pointer below ``node``, or of its nearest parent if there is no such value."""
    line = node.start_mark.line + 1 if node is not None else 1
    for segment in pointer.split("/")[1:]:
        name = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(node, yaml.MappingNode):
            members = [(key_node, value_node) for key_node, value_node in node.value if key_node.value == name]
            if not members:
                break
            key_node, node = members[0]
            line = key_node.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and int(name) < len(node.value):
            node = node.value[int(name)]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _print_totals(console: Console, reports: Iterable[FileReport], dashboard_count: int) -> None:
    counts = Counter(issue.severity for report in reports for issue in report.issues)
    errors, warnings = (with_plural(counts[severity], severity.value) for severity in (LintSeverity.ERROR, LintSeverity.WARNING))
    console.print(f"{errors}, {warnings} in {with_plural(dashboard_count, 'dashboard')}")


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False, soft_wrap=True)


def _escape_message(message: str) -> str:
    """Return a string as the message of a workflow command."""
    return message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(value: str) -> str:
    """Return a string as the value of a property of a workflow command."""
    return _escape_message(value).replace(":", "%3A").replace(",", "%2C")

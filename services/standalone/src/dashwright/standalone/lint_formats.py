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

from dashwright.common.document import print_json as written
from dashwright.common.document import write_json
from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.domain.lint.issue import Issue
from dashwright.standalone.terminal import plain

_PIPED_WIDTH: Final = 1000
_STYLES: Final = {LintSeverity.ERROR: "red", LintSeverity.WARNING: "yellow"}
_RULES_PAGE: Final = "docs/reference/lint.md"


@dataclass(frozen=True, slots=True)
class FileReport:
    """The findings on one file."""

    path: str
    #: The JSON pointer to the dashboard's spec in the file.
    at: str
    issues: Sequence[Issue]

    def count(self, severity: LintSeverity) -> int:
        """Return the number of issues of a severity."""
        return sum(issue.severity is severity for issue in self.issues)

    def pointer(self, issue: Issue) -> str:
        """Return the JSON pointer of an issue in the file."""
        return self.at + (issue.pointer or "")


def print_text(reports: Sequence[FileReport], *, dashboards: int) -> None:
    """Print each issue on a line, with its JSON pointer, below the name of its file."""
    console = _console()
    for report in reports:
        if report.issues:
            console.print(Text(plain(report.path), style="bold"))
        for issue in report.issues:
            place = f" ({plain(pointer)})" if (pointer := report.pointer(issue)) else ""
            severity = (f"{issue.severity.value:<7}", _STYLES[issue.severity])
            console.print(Text.assemble("  ", severity, f"  {issue.rule}: {plain(issue.message)}", (place, "dim")))
    _print_totals(console, reports, dashboards)


def print_summary(reports: Sequence[FileReport], *, dashboards: int) -> None:
    """Print how often each rule was broken and in how many files, errors first."""
    console = _console()
    counts = Counter((issue.severity, issue.rule) for report in reports for issue in report.issues)
    files: defaultdict[tuple[LintSeverity, str], set[str]] = defaultdict(set)
    for report in reports:
        for issue in report.issues:
            files[issue.severity, issue.rule].add(report.path)
    table = Table(box=None, pad_edge=False)
    for name in ("severity", "rule"):
        table.add_column(name)
    for name in ("issues", "files"):
        table.add_column(name, justify="right")
    for (severity, rule), count in sorted(counts.items(), key=lambda item: (item[0][0] is not LintSeverity.ERROR, -item[1], item[0][1])):
        table.add_row(Text(severity.value, style=_STYLES[severity]), rule, str(count), str(len(files[severity, rule])))
    if counts:
        console.print(table)
    _print_totals(console, reports, dashboards)


def print_json(reports: Sequence[FileReport]) -> None:
    """Print a list of ``{path, issues}``. Pointers are relative to the file."""
    shown = [
        {
            "path": report.path,
            "issues": [asdict(issue) | {"pointer": report.pointer(issue)} for issue in report.issues],
        }
        for report in reports
    ]
    sys.stdout.write(write_json(shown).decode() + "\n")


def print_github(reports: Sequence[FileReport]) -> None:
    """Print workflow commands, which GitHub shows as annotations of the lines."""
    for report in reports:
        lines = _lines(report)
        for issue in report.issues:
            place = f"file={_property(report.path)},line={lines[report.pointer(issue)]},title={_property(issue.rule)}"
            sys.stdout.write(f"::{issue.severity.value} {place}::{_data(issue.message)}\n")


def print_sarif(reports: Sequence[FileReport]) -> None:
    """Print one run in SARIF 2.1.0."""
    results = []
    for report in reports:
        lines = _lines(report)
        for issue in report.issues:
            place = {"uri": quote(Path(report.path).as_posix())}
            region = {"startLine": lines[report.pointer(issue)]}
            results.append(
                {
                    "ruleId": issue.rule,
                    "level": issue.severity.value,
                    "message": {"text": issue.message},
                    "locations": [
                        {
                            "physicalLocation": {"artifactLocation": place, "region": region},
                            "logicalLocations": [{"fullyQualifiedName": report.pointer(issue)}],
                        }
                    ],
                }
            )
    rules = [{"id": rule, "helpUri": f"{_RULES_PAGE}#rules"} for rule in sorted({str(result["ruleId"]) for result in results})]
    driver = {"name": "dashwright lint", "version": version("dashwright-standalone"), "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    sys.stdout.write(written(document).decode())


def _lines(report: FileReport) -> dict[str, int]:
    """Return the line of each pointer of an issue; 1 if the text cannot be parsed."""
    wanted = {report.pointer(issue) for issue in report.issues}
    try:
        root = yaml.compose(Path(report.path).read_text("utf-8-sig"), Loader=yaml.CSafeLoader) if wanted else None
    except (yaml.YAMLError, OSError, UnicodeDecodeError):
        # A missing configuration, or JSON that is invalid as YAML, for instance because of tabs.
        root = None
    return {pointer: _line(root, pointer) for pointer in wanted}


def _line(node: yaml.Node | None, pointer: str) -> int:
    line = node.start_mark.line + 1 if node is not None else 1
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == name), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        elif isinstance(node, yaml.SequenceNode) and int(name) < len(node.value):
            node = node.value[int(name)]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _print_totals(console: Console, reports: Iterable[FileReport], dashboards: int) -> None:
    counts = Counter(issue.severity for report in reports for issue in report.issues)
    errors, warnings = (_many(counts[severity], severity.value) for severity in (LintSeverity.ERROR, LintSeverity.WARNING))
    console.print(f"{errors}, {warnings} in {_many(dashboards, 'dashboard')}")


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False, soft_wrap=True)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _data(text: str) -> str:
    """Return a text as the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Return a text as a property of a workflow command."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")

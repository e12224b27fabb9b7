"""Result of one group of client tests and the report on it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.clients import expectations


@dataclass(frozen=True, slots=True)
class GroupRun:
    """A group of tests that ran."""

    group: str
    #: The test file, or the tests of it that ran.
    file: str
    #: What pytest printed.
    output: str
    #: The results as JUnit XML.
    report: Path
    #: Calls that may explain failures.
    suspicious_calls: Sequence[str]


def print_report(group_run: GroupRun, exceptions: expectations.Expectations) -> int:
    """Print the result of a group and return the number of complaints."""
    group_run.report.with_suffix(".txt").write_text(group_run.output)
    results = expectations.read_results(group_run.report.read_text()) if group_run.report.exists() else []
    complaints = expectations.judge(group_run.file, results, exceptions)
    counts = Counter(str(result.outcome) for result in results)
    summary = (
        ", ".join(f"{counts[outcome]} {outcome}" for outcome in expectations.Outcome if counts[outcome]) or group_run.output.strip()[-2000:]
    )
    print(f"{'as expected' if not complaints else 'NOT AS EXPECTED':15} {group_run.group}: {summary}", flush=True)
    for line in [*complaints, *(group_run.suspicious_calls if complaints else ())]:
        print(f"    {line}", flush=True)
    return len(complaints)

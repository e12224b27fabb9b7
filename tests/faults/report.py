"""Report of a random walk, as JSON for programs and as text for operators."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.faults.audit import Audit


@dataclass(frozen=True, slots=True)
class Report:
    """Actions of a random walk and findings of its audits."""

    seed: int
    minutes: float
    #: Number of injected faults by name.
    faults: Mapping[str, int]
    #: Number of kills by kill point.
    kill_points: Mapping[str, int]
    #: Number of HTTP requests by how they ended.
    outcomes: Mapping[str, int]
    audits: Sequence[Audit]

    @property
    def findings(self) -> list[str]:
        """The findings of all audits."""
        return [finding for audit in self.audits for finding in audit.findings]

    @property
    def accepted_count(self) -> int:
        """Number of accepted operations."""
        return sum(audit.accepted for audit in self.audits if audit.is_operation)

    @property
    def fault_count(self) -> int:
        """Number of injected faults."""
        return sum(self.faults.values())

    @property
    def missed_points(self) -> list[str]:
        """Kill points at which nothing was killed."""
        return [point for point, count in self.kill_points.items() if not count]

    def write(self, folder: Path) -> None:
        """Write ``report.json`` and ``report.txt`` into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        totals = {"accepted": self.accepted_count, "faults": self.fault_count, "missed_points": self.missed_points}
        (folder / "report.json").write_text(json.dumps({**totals, **asdict(self)}, indent=2))
        (folder / "report.txt").write_text(self.text())

    def text(self) -> str:
        """Return the report as text."""
        hit_count = len(self.kill_points) - len(self.missed_points)
        columns = ("accepted", "refused", "unknown", "lost", "doubled", "stuck", "wrong")
        totals = f"{self.accepted_count:,} accepted operations, {self.fault_count} faults"
        points = f"{hit_count} of {len(self.kill_points)} kill points"
        lines = [f"seed {self.seed}, {self.minutes:g} minutes: {totals}, {points}", ""]
        lines.append(f"{'':28}" + "".join(f"{column:>10}" for column in columns))
        for audit in self.audits:
            numbers = [audit.accepted, audit.refused, audit.unknown, *map(len, (audit.lost, audit.doubled, audit.stuck, audit.wrong))]
            lines.append(f"{audit.load:28}" + "".join(f"{number:>10,}" for number in numbers))
        lines += [
            "",
            "HTTP requests",
            *_counts(self.outcomes),
            "",
            "faults",
            *_counts(self.faults),
            "",
            "kill points",
            *_counts(self.kill_points),
        ]
        if self.findings:
            lines += ["", "findings", *(f"  {finding}" for finding in self.findings)]
        return "\n".join(lines) + "\n"


def _counts(counts: Mapping[str, int]) -> list[str]:
    """Return a line for each name with its count."""
    return [f"  {count:>5} x {name}" for name, count in sorted(counts.items())]

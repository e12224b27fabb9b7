"""The report of an import: counts of rows, remarks on rows that were not imported, and notices."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.table import Table

_MAX_PRINTED_REMARKS = 20


class Outcome(StrEnum):
    """The outcome for one row."""

    IMPORTED = "imported"
    #: The row was imported before and has changed in Grafana since.
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    #: The row changed in Grafana, but the change here, an update or deletion, takes precedence.
    KEPT = "kept"
    #: Dashwright has no equivalent of the row.
    SKIPPED = "skipped"
    #: The row is invalid in Dashwright, or conflicts with an existing row.
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Remark:
    """A row that was not imported, and the reason."""

    table: str
    key: str
    outcome: Outcome
    reason: str


@dataclass(slots=True)
class Report:
    """Counts by table and outcome, remarks on rows, and general notices."""

    counts: dict[str, Counter[Outcome]] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def count(self, table: str, outcome: Outcome, rows: int = 1) -> None:
        """Add a number of rows to the count of an outcome."""
        self.counts.setdefault(table, Counter())[outcome] += rows

    def add_remark(self, table: str, key: str, outcome: Outcome, reason: str) -> None:
        """Count a row and add a remark on it."""
        self.count(table, outcome)
        self.remarks.append(Remark(table, key, outcome, reason))

    @property
    def has_refused_rows(self) -> bool:
        """True if any row was refused."""
        return any(counter[Outcome.REFUSED] for counter in self.counts.values())

    def to_json_data(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "tables": {table: {outcome.value: count for outcome, count in counter.items()} for table, counter in self.counts.items()},
            "remarks": [
                {"table": entry.table, "key": entry.key, "outcome": entry.outcome.value, "reason": entry.reason} for entry in self.remarks
            ],
            "notices": self.notices,
        }

    def print_to(self, console: Console) -> None:
        """Print the counts, the first remarks, and the notices."""
        table = Table(*["", *(outcome.value for outcome in Outcome)])
        for name, counter in self.counts.items():
            table.add_row(name, *(str(counter[outcome] or "") for outcome in Outcome))
        console.print(table)
        for remark in self.remarks[:_MAX_PRINTED_REMARKS]:
            description = f"{remark.outcome.value} {remark.table} {remark.key}: {remark.reason}"
            console.print(_printable(description), markup=False)
        if len(self.remarks) > _MAX_PRINTED_REMARKS:
            console.print(f"… and {len(self.remarks) - _MAX_PRINTED_REMARKS} more; --report FILE writes all of them", markup=False)
        for notice in self.notices:
            console.print(_printable(f"note: {notice}"), markup=False)


def _printable(text: str) -> str:
    """Return the text with its control characters replaced, because a terminal would interpret them."""
    return "".join(character if character.isprintable() else "?" for character in text)

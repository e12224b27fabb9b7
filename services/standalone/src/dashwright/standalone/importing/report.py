"""The report of an import: counts, and remarks on rows that were not imported."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.table import Table

_SHOWN = 20


class Outcome(StrEnum):
    """The outcome for one row."""

    IMPORTED = "imported"
    #: Imported before, and changed in Grafana since.
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    #: Changed in Grafana, but also changed or deleted here, which takes precedence.
    KEPT = "kept"
    #: There is no equivalent here.
    SKIPPED = "skipped"
    #: The row is invalid here, or conflicts with an existing one.
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Remark:
    """A row that was not imported as it is, and the reason."""

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

    def count(self, table: str, outcome: Outcome, number: int = 1) -> None:
        """Count rows with an outcome."""
        self.counts.setdefault(table, Counter())[outcome] += number

    def remark(self, table: str, key: str, outcome: Outcome, reason: str) -> None:
        """Count a row and add a remark on it."""
        self.count(table, outcome)
        self.remarks.append(Remark(table, key, outcome, reason))

    @property
    def has_refused(self) -> bool:
        """True if a row was refused."""
        return any(counter[Outcome.REFUSED] for counter in self.counts.values())

    def to_plain(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return {
            "tables": {table: {outcome.value: number for outcome, number in counter.items()} for table, counter in self.counts.items()},
            "remarks": [
                {"table": item.table, "key": item.key, "outcome": item.outcome.value, "reason": item.reason} for item in self.remarks
            ],
            "notices": self.notices,
        }

    def show(self, console: Console) -> None:
        """Print the counts, the first remarks, and the notices."""
        table = Table(*["", *(outcome.value for outcome in Outcome)])
        for name, counter in self.counts.items():
            table.add_row(name, *(str(counter[outcome] or "") for outcome in Outcome))
        console.print(table)
        for item in self.remarks[:_SHOWN]:
            console.print(_printable(f"{item.outcome.value} {item.table} {item.key}: {item.reason}"), markup=False)
        if len(self.remarks) > _SHOWN:
            console.print(f"… and {len(self.remarks) - _SHOWN} more; --report FILE writes all of them", markup=False)
        for notice in self.notices:
            console.print(_printable(f"note: {notice}"), markup=False)


def _printable(text: str) -> str:
    """Return a text without control characters: rows may contain any text, and a terminal interprets some of it."""
    return "".join(character if character.isprintable() else "?" for character in text)

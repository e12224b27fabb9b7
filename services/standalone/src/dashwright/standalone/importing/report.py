"""What an import did, row by row where something could not be done."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.table import Table

_SHOWN = 20


class Outcome(StrEnum):
    """What became of one row."""

    IMPORTED = "imported"
    UPDATED = "updated"
    """It had been imported, and changed at its origin since."""
    UNCHANGED = "unchanged"
    KEPT = "kept"
    """It changed at its origin, but here as well, or was removed here: what is here stays."""
    SKIPPED = "skipped"
    """There is nothing here that it could become."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Remark:
    """A row that is not here as it is at its origin, and why."""

    table: str
    key: str
    outcome: Outcome
    reason: str


@dataclass(slots=True)
class Report:
    """Counts by table and outcome, remarks on rows, and what is to be known beside."""

    counts: dict[str, Counter[Outcome]] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def count(self, table: str, outcome: Outcome, number: int = 1) -> None:
        self.counts.setdefault(table, Counter())[outcome] += number

    def remark(self, table: str, key: str, outcome: Outcome, reason: str) -> None:
        self.count(table, outcome)
        self.remarks.append(Remark(table, key, outcome, reason))

    @property
    def has_refused(self) -> bool:
        return any(counter[Outcome.REFUSED] for counter in self.counts.values())

    def to_plain(self) -> dict[str, Any]:
        """For a file."""
        return {
            "tables": {table: {outcome.value: number for outcome, number in counter.items()} for table, counter in self.counts.items()},
            "remarks": [
                {"table": item.table, "key": item.key, "outcome": item.outcome.value, "reason": item.reason} for item in self.remarks
            ],
            "notices": self.notices,
        }

    def show(self, console: Console) -> None:
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
    """What stands in a row may be anything; a terminal obeys some of it."""
    return "".join(character if character.isprintable() else "?" for character in text)

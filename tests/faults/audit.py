"""Result of an audit, which compares what was accepted with what is stored."""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Self


@dataclass(slots=True)
class Audit:
    """Result for one kind of load. Each finding is one sentence."""

    load: str
    #: Whether ``accepted`` counts operations of clients.
    is_operation: bool = True
    accepted: int = 0
    #: Operations that the system refused.
    refused: int = 0
    #: Operations without a response; they may be stored once or not at all.
    unknown: int = 0
    #: Accepted operations without an effect.
    lost: list[str] = field(default_factory=list)
    #: Operations whose effect is stored more than once.
    doubled: list[str] = field(default_factory=list)
    #: Jobs that have not ended.
    stuck: list[str] = field(default_factory=list)
    #: Stored values, refusals or events that are not as expected.
    wrong: list[str] = field(default_factory=list)

    def copy(self) -> Self:
        """Return a copy, to which the findings of one audit are added."""
        return deepcopy(self)

    @property
    def findings(self) -> list[str]:
        """All findings, each with its category."""
        categories = {"lost": self.lost, "doubled": self.doubled, "stuck": self.stuck, "wrong": self.wrong}
        return [f"{self.load}: {category}: {finding}" for category, findings in categories.items() for finding in findings]

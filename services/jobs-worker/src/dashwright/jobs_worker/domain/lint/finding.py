"""What a rule finds: words, and where."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dashwright.jobs_worker.domain.lint.board import Board


@dataclass(frozen=True, slots=True)
class Finding:
    """``panel`` is a title, ``target`` the index of a query in it; None where it is the whole dashboard, or the whole panel."""

    message: str
    panel: str | None = None
    target: int | None = None


Rule = Callable[[Board], Iterator[Finding]]

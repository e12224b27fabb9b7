"""Tables for statements: typed columns of one length, whose names differ by more than their case."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dashwright.expressions.engine.frame import FieldType
from dashwright.expressions.engine.values import Mask


@dataclass(frozen=True, slots=True, eq=False)
class RelationColumn:
    """A column of a table."""

    name: str
    type: FieldType
    values: NDArray[Any]  #: Like those of a field of the type; with ``texts``, positions in them.
    nulls: Mask | None = None
    texts: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A table for statements."""

    columns: tuple[RelationColumn, ...]
    rows: int
    notices: tuple[str, ...] = ()  #: Notices about renamed columns.


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed statement. This module imports no parser, so that a worker starts without one."""

    #: The refIds that the statement reads, in order of appearance.
    tables: tuple[str, ...]
    #: What DuckDB runs, over tables of these names and ``MACROS``.
    sql: str


def distinct(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return the names without duplicates in any case: those that are taken get a free suffix ``_1``, ``_2`` and so on.

    A column without a name is called ``column``.
    """
    used = {name.casefold() for name in taken}
    found = []
    for wanted in names:
        name, number = wanted or "column", 0
        while name.casefold() in used:
            number += 1
            name = f"{wanted or 'column'}_{number}"
        used.add(name.casefold())
        found.append(name)
    return found

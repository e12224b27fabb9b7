"""A table as it is handed to a statement: typed columns of one length, with names that differ in more than their case."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dashwright.expressions.engine.frame import FieldType
from dashwright.expressions.engine.values import Mask


@dataclass(frozen=True, slots=True, eq=False)
class RelationColumn:
    """``values`` as those of a field of the type; where there are ``texts``, positions in them. ``nulls`` as a field's."""

    name: str
    type: FieldType
    values: NDArray[Any]
    nulls: Mask | None = None
    texts: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """``notices`` tell of columns that had to be renamed."""

    columns: tuple[RelationColumn, ...]
    rows: int
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that was read. Its module takes no parser along, so that a worker starts without one."""

    #: The refIds that the statement reads, in order of appearance.
    tables: tuple[str, ...]
    #: What DuckDB runs, over tables of these names and ``MACROS``.
    sql: str


def distinct(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, those that are taken already (in whatever case) with the first free of ``_1``, ``_2``, … behind; nameless: ``column``."""
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

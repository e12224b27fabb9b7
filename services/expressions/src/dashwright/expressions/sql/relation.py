"""Tables that SQL statements read: typed columns of equal length, with names that are unique regardless of case."""

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
    values: NDArray[Any]  #: The values as a frame has them for this type; with a ``dictionary``, indexes into it.
    nulls: Mask | None = None
    dictionary: Sequence[str] | None = None  #: The distinct strings of the column.


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A table that statements read."""

    columns: tuple[RelationColumn, ...]
    row_count: int
    notices: tuple[str, ...] = ()  #: Notices about renamed columns.


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed statement. It is defined here, because an import of the parser takes long."""

    #: The refIds that the statement reads, in order of appearance.
    tables: tuple[str, ...]
    #: The statement in the dialect of DuckDB, with the refIds as names of tables. It calls the macros of ``macros.MACROS``.
    sql: str


def unique_names(names: Iterable[str], used_names: Iterable[str] = ()) -> list[str]:
    """Return the names, unique regardless of case: a used name gets the next free suffix ``_1``, ``_2`` and so on.

    A column without a name is called ``column``.
    """
    folded_names = {name.casefold() for name in used_names}
    unique = []
    for requested_name in names:
        name, suffix = requested_name or "column", 0
        while name.casefold() in folded_names:
            suffix += 1
            name = f"{requested_name or 'column'}_{suffix}"
        folded_names.add(name.casefold())
        unique.append(name)
    return unique

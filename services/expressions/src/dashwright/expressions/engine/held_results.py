"""Results that are held during an evaluation: each until its last reader ran, all within one budget."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.bounds import bytes_of, size_of
from dashwright.expressions.engine.frame_values import values_of_table
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Values

Held = Values | Table | DashwrightError

#: Points that the labels and the frame of an item count as.
_ITEM = 32


class HeldResults:
    """The values and tables of a request by refId, and their total size.

    ``given`` and ``tables`` are those of queries, held from the start. RefIds in ``kept`` are held to the end.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        given: Mapping[str, Values | DashwrightError],
        tables: Mapping[str, Table],
        kept: Collection[str],
        limits: Limits,
    ) -> None:
        self._values: dict[str, Held] = {**tables, **given}
        self._tables = tables
        self._readers = Counter(name for node in nodes for name in node.inputs)
        self._kept = frozenset(kept) | self._values.keys()
        self._limits = limits
        self._points = sum(map(_points_of, self._values.values()))
        limits.memory.take(sum(map(_bytes_of, given.values())))

    def values(self, ref_id: str) -> Values | DashwrightError:
        """Return the values of a refId. Raises BadRequest if a table cannot be read as values."""
        held = self._values[ref_id]
        return values_of_table(ref_id, held) if isinstance(held, Table) else held

    def table(self, ref_id: str) -> Held:
        """Return the table that a statement selects from: a query's frames, or an expression's values."""
        return self._tables.get(ref_id) or self._values[ref_id]

    def check(self, ref_id: str, values: Values | Table) -> None:
        """Reserve room for the outcome of ``ref_id``. Raises TooLarge if the limits leave none."""
        points = self._points + _points_of(values)
        if points > self._limits.request_points:
            found = f"with {ref_id} the queries and expressions of the request hold {points} points at the same time"
            raise self._limits.refusal(
                "request_points", f"{found}, each series counted as {_ITEM} more", "ask for less at a time, or reduce earlier"
            )
        self._limits.memory.take(_bytes_of(values))

    def add(self, ref_id: str, values: Held) -> None:
        """Hold the outcome of ``ref_id``."""
        self._values[ref_id] = values
        self._points += _points_of(values)
        self._drop_unread(ref_id)

    def read(self, node: Node) -> None:
        """Drop the inputs of a node that ran, unless another node reads them."""
        for name in node.inputs:
            self._readers[name] -= 1
            self._drop_unread(name)

    def _drop_unread(self, ref_id: str) -> None:
        if ref_id in self._values and not self._readers[ref_id] and ref_id not in self._kept:
            dropped = self._values.pop(ref_id)
            self._points -= _points_of(dropped)
            self._limits.memory.give(_bytes_of(dropped))


def _bytes_of(values: Held) -> int:
    return 0 if isinstance(values, DashwrightError) else bytes_of(values)


def _points_of(values: Held) -> int:
    if isinstance(values, DashwrightError):
        return 0
    items, points = size_of(values)
    return points + _ITEM * items

"""Checks of a request's graph and results against the limits."""

from collections.abc import Mapping, Sequence

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import NoData, Scalar, Series, Values

#: Bytes of one point: a float64 and its null flag.
POINT_BYTES = 9

#: Approximate bytes of a text or document in a table.
TEXT_BYTES = 100

#: Approximate bytes of an item's labels and frame.
ITEM_BYTES = 1_000


def too_deep(nodes: Sequence[Node], order: Sequence[str], limits: Limits) -> Mapping[str, DashwrightError]:
    """Return, by refId, the refusal of each node at the end of too long a chain of expressions."""
    if len(nodes) <= limits.query_depth:
        return {}
    by_ref_id = {node.ref_id: node for node in nodes}
    depths: dict[str, int] = {}
    refusals = {}
    for ref_id in order:
        node = by_ref_id[ref_id]
        depths[ref_id] = 0 if node.expression is None else 1 + max((depths.get(name, 0) for name in node.inputs), default=0)
        if depths[ref_id] > limits.query_depth:
            found = f"expression '{ref_id}' is at the end of a chain of {depths[ref_id]} expressions"
            refusals[ref_id] = limits.refusal("query_depth", found, "shorten the chain")
    return refusals


def size_of(values: Values | Table) -> tuple[int, int]:
    """Return the number of items and the number of their points; of a table, its frames and cells."""
    match values:
        case Table(frames=frames):
            return len(frames), values.cells
        case Series(blocks=blocks):
            return len(values), sum(block.cells.values.size for block in blocks)
        case NoData():
            return 0, 0
        case Scalar():
            return 1, 1
    return len(values), len(values)


def bytes_of(values: Values | Table) -> int:
    """Return the approximate memory of the values and of the frames made from them."""
    if isinstance(values, Table):
        return sum(map(bytes_of_frame, values.frames))
    items, points = size_of(values)
    return items * ITEM_BYTES + points * POINT_BYTES


def bytes_of_frame(frame: Frame) -> int:
    """Return the approximate memory of a frame."""
    cells = (frame.rows * (TEXT_BYTES if item.values.dtype == object else POINT_BYTES) for item in frame.fields)
    return ITEM_BYTES + sum(cells)


def check_size(ref_id: str, values: Values | Table, limits: Limits) -> None:
    """Raise TooLarge if the values of ``ref_id`` have too many series, points or labels."""
    items, points = size_of(values)
    if items > limits.query_series:
        raise limits.refusal("query_series", f"{ref_id} has {items} series", "select fewer, or reduce them first")
    if points > limits.query_points:
        raise limits.refusal("query_points", f"{ref_id} has {points} points", "ask for a shorter time range or a larger interval")
    if isinstance(values, NoData | Scalar | Table):
        return
    most = max(map(len, values.labels), default=0)
    if most > limits.query_labels:
        raise limits.refusal("query_labels", f"a series of {ref_id} has {most} labels", "let the query drop those that are not needed")

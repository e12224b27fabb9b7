"""Checks of a request's graph and results against the limits."""

from collections.abc import Mapping, Sequence

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.graph import Node
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import NoData, Numbers, Scalar, Series, Values

#: Bytes of one point: a float64 and its null flag.
POINT_BYTES = 9

#: Approximate bytes of a string or document in a table.
STRING_BYTES = 100

#: Approximate bytes of the labels and the frame of one series or number.
ITEM_BYTES = 1_000


def chain_refusals(nodes: Sequence[Node], order: Sequence[str], limits: Limits) -> Mapping[str, DashwrightError]:
    """Return, by refId, an error for each node whose longest chain of inputs exceeds the limit ``query_depth``."""
    if len(nodes) <= limits.query_depth:
        return {}
    by_ref_id = {node.ref_id: node for node in nodes}
    depths: dict[str, int] = {}
    refusals = {}
    for ref_id in order:
        node = by_ref_id[ref_id]
        depth = 0 if node.expression is None else 1 + max((depths.get(name, 0) for name in node.inputs), default=0)
        depths[ref_id] = depth
        if depth > limits.query_depth:
            problem = f"expression '{ref_id}' is at the end of a chain of {depth} expressions"
            refusals[ref_id] = limits.refusal("query_depth", problem, "shorten the chain")
    return refusals


def size_of(values: Values | Table) -> tuple[int, int]:
    """Return the number of items and the number of all points. In a table, each frame is an item, and each cell is a point."""
    match values:
        case Table(frames=frames):
            return len(frames), values.cell_count
        case Series(blocks=blocks):
            return len(values), sum(block.cells.values.size for block in blocks)
        case NoData():
            return 0, 0
        case Scalar():
            return 1, 1
        case Numbers():
            return len(values), len(values)


def bytes_of(values: Values | Table) -> int:
    """Return the approximate bytes of the values, and of the frames to which they are converted."""
    if isinstance(values, Table):
        return bytes_of_frames(values.frames)
    items, points = size_of(values)
    return items * ITEM_BYTES + points * POINT_BYTES


def bytes_of_frames(frames: Sequence[Frame]) -> int:
    """Return the approximate bytes of frames."""
    return bytes_of(frames.values) if isinstance(frames, FrameSet) else sum(map(bytes_of_frame, frames))


def bytes_of_frame(frame: Frame) -> int:
    """Return the approximate bytes of a frame."""
    column_bytes = (frame.row_count * (STRING_BYTES if field.values.dtype == object else POINT_BYTES) for field in frame.fields)
    return ITEM_BYTES + sum(column_bytes)


def check_size(ref_id: str, values: Values | Table, limits: Limits) -> None:
    """Raise TooLarge if the values of ``ref_id`` have too many series, points or labels."""
    items, points = size_of(values)
    if items > limits.query_series:
        raise limits.refusal("query_series", f"{ref_id} has {items} series", "select fewer, or reduce them first")
    if points > limits.query_points:
        raise limits.refusal("query_points", f"{ref_id} has {points} points", "ask for a shorter time range or a larger interval")
    if isinstance(values, NoData | Scalar | Table):
        return
    max_labels = values.labels.max_count
    if max_labels > limits.query_labels:
        raise limits.refusal(
            "query_labels", f"a series of {ref_id} has {max_labels} labels", "let the query drop those that are not needed"
        )

"""Store of the results of a batch: where the result of each item is, and the results that are not yet in object storage."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.models.batch import ItemKind, ItemState
from dashwright.common.stores import evaluations

_sql = queries.load(__package__, "batch_results.sql")

#: Number of consecutive items whose results are one object.
SEGMENT_ITEMS: Final = 1000


@dataclass(frozen=True, slots=True)
class ItemResult:
    """Item with the place of its result."""

    index: int
    id: str
    kind: ItemKind
    state: str  #: An ItemState.
    object: str | None  #: Path of the stored object with the line of the item, or None if the result is in the database.
    size: int | None  #: Size of that object in bytes.
    status: str | None  #: Final JobStatus of the last attempt, as JSON. None for a stored result.
    job: uuid.UUID | None
    body_size: int | None  #: Size of the first chunk of the result of an evaluation, in bytes. None if there is no such result.

    @property
    def has_small_body(self) -> bool:
        """True if the result of the evaluation is a single chunk."""
        # After a chunk of the full size, there may be a second one.
        return self.body_size is not None and self.body_size < evaluations.CHUNK_BYTES


def state_conditions(state: ItemState | None) -> tuple[Sequence[str], Mapping[str, Any]]:
    """Return the names of the conditions that limit a query to items in a state, and their parameters. None: items in any state."""
    match state:
        case None:
            return [], {}
        case ItemState.PENDING:
            return ["pending"], {}
        case ItemState.WORKING:
            return ["dispatched_in"], {"job_state": state.value}
        case _:
            return ["in_item_states"], {"states": [state.value]}


async def list_page(
    connection: Connection, uid: uuid.UUID, *, first: int, end: int, state: ItemState | None
) -> Sequence[ItemResult] | None:
    """Return the items with an index from ``first`` to before ``end``, in their order, or None if the batch is deleted.

    ``state`` limits them to items in this state.
    """
    conditions, values = state_conditions(state)
    query = _sql.bind("list_page", conditions=conditions, batch=uid, first=first, end=end, segment_items=SEGMENT_ITEMS, **values)
    rows = await connection.fetch(*query)
    # A batch without such items has one row without an index.
    return [ItemResult(**row) for row in rows if row["index"] is not None] if rows else None


async def read_bodies(connection: Connection, jobs: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, bytes]:
    """Return the first chunks of the results of evaluations, as JSON."""
    return {row["uid"]: row["body"] for row in await connection.fetch(_sql.read_bodies, list(jobs))}

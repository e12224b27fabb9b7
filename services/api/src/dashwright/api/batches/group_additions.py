"""Additions of items to batches from the queue.

Additions that arrive during a commit are committed together afterwards, in one transaction for each batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.api.batches.open_batch import ItemLimits, lock_batch, require_open
from dashwright.api.batches.plan import AdditionPlan
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.batch_items import SUBMIT_VERB, RefusedItem
from dashwright.api.stores import audit
from dashwright.api.stores.audit import event_of, subject_of
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Conflict, DashwrightError
from dashwright.common.group_commit import GroupCommit
from dashwright.common.kinds.registry import BATCH
from dashwright.common.models.batch import ItemVerdict
from dashwright.common.stores import batches
from dashwright.common.stores.batches import NewItem

#: Maximum number of additions that are committed together.
_MAX_GROUP: Final = 200
#: A transaction with at least this number of items takes no further additions.
_MAX_ITEMS: Final = 2000


@dataclass(frozen=True, slots=True)
class Addition:
    """Items of one message."""

    actor: Actor
    namespace: str
    batch: str  #: Name of the batch.
    items: Sequence[NewItem | RefusedItem]
    closes: bool  #: Close the batch after these items.
    trace: str | None  #: W3C traceparent.


#: The verdicts on the items of an addition, or the error with which the addition as a whole is refused.
_Result = Sequence[ItemVerdict] | DashwrightError


class GroupAdditions:
    """The use case that adds items from the queue to batches.

    Messages may be received in another order than they were sent. A batch that a message has closed therefore accepts
    items from the queue until it has ended.
    """

    def __init__(self, database: Database, limits: ItemLimits) -> None:
        self._database = database
        self._limits = limits
        self._group = GroupCommit(self._commit, max_items=_MAX_GROUP)

    async def add(self, addition: Addition) -> Sequence[ItemVerdict]:
        """Add the items of one message, and return a verdict for each.

        Raises NotFound, TooManyWaitingJobs if the new items are more than may wait, and Conflict for new items if the batch accepts none.
        """
        result = await self._group.add(addition)
        if isinstance(result, DashwrightError):
            raise result
        return result

    async def _commit(self, group: Sequence[Addition]) -> Sequence[_Result]:
        """Store a group of additions, in one transaction or more for each batch. Return the results in the order of the group."""
        results: dict[int, _Result] = {}
        for positions in _group_by_transaction(group):
            additions = [group[position] for position in positions]
            try:
                batch_results = await self._commit_batch(additions)
            except DashwrightError as error:
                batch_results = [error] * len(additions)
            results.update(zip(positions, batch_results, strict=True))
        return [results[position] for position in range(len(group))]

    async def _commit_batch(self, additions: Sequence[Addition]) -> Sequence[_Result]:
        """Add the items of several messages to their common batch, in one transaction, and return a result for each message."""
        namespace, name = additions[0].namespace, additions[0].batch
        async with self._database.transaction() as connection:
            stored_object, batch = await lock_batch(connection, namespace, name)
            refusal: Conflict | None = None
            try:
                require_open(stored_object, batch, accepts_late=True)
            except Conflict as error:
                refusal = error
            ids = [item.id for addition in additions for item in addition.items if isinstance(item, NewItem)]
            capacity = await self._limits.capacity(connection, batch)
            plan = AdditionPlan(
                await batches.find_by_id(connection, batch.uid, ids), first_index=batch.total, allowance=capacity.batch_allowance
            )
            results: list[_Result] = []
            for addition in additions:
                # An addition that only repeats earlier items needs neither an open batch nor capacity.
                new_count = plan.count_new(addition.items)
                fault = (refusal or capacity.waiting_error(len(plan.new_items) + new_count)) if new_count else None
                results.append(fault or plan.decide(addition.items))
            stored = [addition for addition, result in zip(additions, results, strict=True) if not isinstance(result, DashwrightError)]
            if plan.new_items:
                # A batch keeps the submitter and the trace of its first addition.
                first = stored[0]
                submitter = {"uid": first.actor.uid, "login": first.actor.login}
                await batches.add(connection, batch, plan.new_items, submitted_by=submitter, trace=first.trace)
            if any(addition.closes for addition in stored) and not batch.is_closed:
                await batches.close(connection, batch.uid, accepts_late=True)
            await _audit(connection, stored)
        return results


def _group_by_transaction(group: Sequence[Addition]) -> Sequence[Sequence[int]]:
    """Return the positions in ``group`` of the additions of each transaction, in their order."""
    transactions: list[list[int]] = []
    #: By namespace and batch: the positions of the transaction that takes further additions, and the number of its items.
    open_transactions: dict[tuple[str, str], tuple[list[int], int]] = {}
    for position, addition in enumerate(group):
        key = (addition.namespace, addition.batch)
        positions, count = open_transactions.get(key, ([], 0))
        if not positions:
            transactions.append(positions)  # The same list as in ``open_transactions``, which is extended later.
        positions.append(position)
        count += len(addition.items)
        open_transactions[key] = (positions, count) if count < _MAX_ITEMS else ([], 0)
    return transactions


async def _audit(connection: Connection, additions: Sequence[Addition]) -> None:
    """Record an audit event for each addition."""
    action = event_of(BATCH, SUBMIT_VERB)
    events = [
        audit.Event(addition.actor, action, subject_of(BATCH, addition.batch), status=202, org_id=addition.actor.org_id)
        for addition in additions
    ]
    if events:
        await audit.record_all(connection, events)

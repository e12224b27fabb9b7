"""Decisions on items that are added to a batch: which are new, which the batch has already, and which are refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashwright.api.domain.batch_items import RefusedItem
from dashwright.common.models.batch import ItemVerdict
from dashwright.common.stores.batches import KnownItem, NewItem


@dataclass(frozen=True, slots=True)
class Allowance:
    """The number of items that can be added, and the message with which further items are refused."""

    free: int  #: Number of items.
    message: str  #: Message of the verdict on each further item.


def refusal(position: int, item_id: str | None, message: str) -> ItemVerdict:
    """Return the verdict on a refused item. It has no index in the batch, so the index is its position in the request."""
    return ItemVerdict(index=position, id=item_id or "", status="refused", message=message)


class AdditionPlan:
    """Plan of an addition. It recognizes the items that the batch has, and earlier items of the plan itself."""

    def __init__(self, known: Mapping[str, KnownItem], *, first_index: int, allowance: Allowance) -> None:
        """Create a plan. ``known`` has the items of the batch by id, and ``first_index`` is the index of the first new item."""
        self._known = dict(known)
        self._first_index = first_index
        self._allowance = allowance
        self.new_items: list[NewItem] = []

    def count_new(self, items: Sequence[NewItem | RefusedItem]) -> int:
        """Return how many of the items have an id that is new in the batch and in this plan."""
        return len({item.id for item in items if isinstance(item, NewItem) and item.id not in self._known})

    def decide(self, items: Sequence[NewItem | RefusedItem], *, first_position: int = 0) -> Sequence[ItemVerdict]:
        """Return the verdicts on items, and append the accepted ones to ``new_items``.

        ``first_position`` is the position of the first of these items in its request.
        """
        return [self._decide(item, position) for position, item in enumerate(items, first_position)]

    def _decide(self, item: NewItem | RefusedItem, position: int) -> ItemVerdict:
        """Return the verdict on one item, and take an accepted one into the plan."""
        if isinstance(item, RefusedItem):
            return refusal(position, item.id, item.message)
        known_item = self._known.get(item.id)
        if known_item is not None and (known_item.kind, known_item.spec) == (item.kind, item.spec):
            return ItemVerdict(index=known_item.index, id=item.id, status="duplicate")
        if known_item is not None:
            message = f"the batch has another item with this id, at index {known_item.index}; give every item an id of its own"
            return refusal(position, item.id, message)
        if len(self.new_items) >= self._allowance.free:
            return refusal(position, item.id, self._allowance.message)
        index = self._first_index + len(self.new_items)
        self._known[item.id] = KnownItem(index, item.kind, item.spec)
        self.new_items.append(item)
        return ItemVerdict(index=index, id=item.id, status="accepted")

"""The trees of folders and rules, remembered while changes of them are heard: as docs/decisions/0004-identity-memory.md has it."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from dashwright.api.changes.feed import Feed
from dashwright.api.domain.access.tree import Tree
from dashwright.api.domain.access.view import View
from dashwright.api.stores import access
from dashwright.common.database.pool import Database
from dashwright.common.single_flight import SingleFlight

_LARGEST: Final = 200_000
"""Folders and lists of rules of all trees together."""


@dataclass(frozen=True, slots=True, eq=False)
class CachedTree:
    """A tree, and what callers' views on it were found to be."""

    tree: Tree
    views: dict[Hashable, View] = field(default_factory=dict)


class Trees:
    """Trees by namespace, the latest used last.

    ``epoch`` moves with everything that is forgotten: a tree whose reading began before is not remembered. While the feed does not
    listen nothing is.
    """

    def __init__(self, database: Database, feed: Feed, *, largest: int = _LARGEST) -> None:
        self._database = database
        self._feed = feed
        self._largest = largest
        self._known: OrderedDict[str, CachedTree] = OrderedDict()
        self._size = 0
        self._loads: SingleFlight[tuple[str, int], CachedTree] = SingleFlight()
        self.epoch = 0
        feed.on_access(self.forget)

    async def of(self, namespace: str) -> CachedTree:
        """Raises Unavailable."""
        if not self._feed.is_listening:
            return await self._load(namespace)
        known = self._known.get(namespace)
        if known is not None:
            self._known.move_to_end(namespace)
            return known
        return await self._loads.once((namespace, self.epoch), lambda: self._remembered(namespace))

    def forget(self, namespace: str | None) -> None:
        """Forgets one tree, or all."""
        self.epoch += 1
        if namespace is None:
            self._known.clear()
            self._size = 0
        else:
            self._drop(namespace)

    def __len__(self) -> int:
        return len(self._known)

    async def _remembered(self, namespace: str) -> CachedTree:
        epoch = self.epoch
        known = await self._load(namespace)
        if epoch == self.epoch and self._feed.is_listening:
            self._drop(namespace)
            self._known[namespace] = known
            self._size += len(known.tree)
            while self._size > self._largest and self._known:
                self._drop(next(iter(self._known)))
        return known

    async def _load(self, namespace: str) -> CachedTree:
        async with self._database.connection() as connection:
            return CachedTree(await access.tree(connection, namespace))

    def _drop(self, namespace: str) -> None:
        known = self._known.pop(namespace, None)
        if known is not None:
            self._size -= len(known.tree)

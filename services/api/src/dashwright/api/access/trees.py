"""Trees of folders and access rules, cached as long as the change feed is listening (docs/decisions/0004-identity-cache.md)."""

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
"""Limit on the cached folders and rule lists of all trees together."""


@dataclass(frozen=True, slots=True, eq=False)
class CachedTree:
    """A cached access tree, with the cached view of each caller."""

    tree: Tree
    views: dict[Hashable, View] = field(default_factory=dict)


class Trees:
    """An LRU cache of trees by namespace. Nothing is cached while the feed is not listening."""

    def __init__(self, database: Database, feed: Feed, *, largest: int = _LARGEST) -> None:
        """Create an empty cache of at most ``largest`` folders and rule lists."""
        self._database = database
        self._feed = feed
        self._largest = largest
        self._cached: OrderedDict[str, CachedTree] = OrderedDict()
        self._size = 0
        self._loads: SingleFlight[tuple[str, int], CachedTree] = SingleFlight()
        self.epoch = 0  #: Incremented by each invalidation; a tree whose loading began in an earlier epoch is not cached.
        feed.on_access(self.forget)

    async def get(self, namespace: str) -> CachedTree:
        """Return the tree of a namespace. Raises Unavailable."""
        if not self._feed.is_listening:
            return await self._load(namespace)
        cached = self._cached.get(namespace)
        if cached is not None:
            self._cached.move_to_end(namespace)
            return cached
        # The epoch is part of the key: a request after an invalidation must not share a load that began before it.
        return await self._loads.once((namespace, self.epoch), lambda: self._load_cached(namespace))

    def forget(self, namespace: str | None) -> None:
        """Drop one tree, or all for None."""
        self.epoch += 1
        if namespace is None:
            self._cached.clear()
            self._size = 0
        else:
            self._drop(namespace)

    def __len__(self) -> int:
        return len(self._cached)

    async def _load_cached(self, namespace: str) -> CachedTree:
        epoch = self.epoch
        cached = await self._load(namespace)
        if epoch == self.epoch and self._feed.is_listening:
            self._drop(namespace)
            self._cached[namespace] = cached
            self._size += len(cached.tree)
            while self._size > self._largest and self._cached:
                self._drop(next(iter(self._cached)))
        return cached

    async def _load(self, namespace: str) -> CachedTree:
        async with self._database.connection() as connection:
            return CachedTree(await access.tree(connection, namespace))

    def _drop(self, namespace: str) -> None:
        cached = self._cached.pop(namespace, None)
        if cached is not None:
            self._size -= len(cached.tree)

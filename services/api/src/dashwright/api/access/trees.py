"""Trees of folders and access rules, cached as long as the change feed is listening (docs/decisions/0004-identity-cache.md)."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from dashwright.api.changes.feed import Feed
from dashwright.api.domain.access.tree import AccessTree
from dashwright.api.domain.access.view import AccessView
from dashwright.api.stores import access
from dashwright.common.database.pool import Database
from dashwright.common.single_flight import SingleFlight

_MAX_SIZE: Final = 200_000
"""Default limit on the cached folders and rule lists of all trees together."""


@dataclass(frozen=True, slots=True, eq=False)
class CachedTree:
    """A cached access tree, with the cached view of each caller."""

    tree: AccessTree
    views: dict[Hashable, AccessView] = field(default_factory=dict)


class TreeCache:
    """An LRU cache of access trees by namespace. It caches only while the change feed is listening."""

    def __init__(self, database: Database, feed: Feed, *, max_size: int = _MAX_SIZE) -> None:
        """Create an empty cache. ``max_size`` limits the folders and rule lists of all trees together."""
        self._database = database
        self._feed = feed
        self._max_size = max_size
        self._entries: OrderedDict[str, CachedTree] = OrderedDict()  #: Trees by namespace, the least recently used first.
        self._size = 0  #: Number of folders and rule lists in all entries.
        self._loads: SingleFlight[tuple[str, int], CachedTree] = SingleFlight()  #: Running loads, by namespace and epoch.
        self.epoch = 0  #: Incremented by each invalidation; a tree whose loading began in an earlier epoch is not cached.
        feed.on_access_change(self.invalidate)

    async def get(self, namespace: str) -> CachedTree:
        """Return the tree of a namespace. Raises Unavailable."""
        if not self._feed.is_listening:
            return await self._load(namespace)
        cached = self._entries.get(namespace)
        if cached is not None:
            self._entries.move_to_end(namespace)
            return cached
        # The epoch is part of the key, since a request after an invalidation must not share a load that began before it.
        epoch = self.epoch
        return await self._loads.run((namespace, epoch), lambda: self._load_cached(namespace, epoch))

    def invalidate(self, namespace: str | None) -> None:
        """Discard the tree of one namespace, or all trees for None."""
        self.epoch += 1
        if namespace is None:
            self._entries.clear()
            self._size = 0
        else:
            self._evict(namespace)

    def __len__(self) -> int:
        return len(self._entries)

    async def _load_cached(self, namespace: str, epoch: int) -> CachedTree:
        """Load the tree of a namespace, and cache it if nothing was invalidated since ``epoch``."""
        cached = await self._load(namespace)
        if epoch == self.epoch and self._feed.is_listening:
            self._evict(namespace)
            self._entries[namespace] = cached
            self._size += len(cached.tree)
            while self._size > self._max_size and self._entries:
                self._evict(next(iter(self._entries)))
        return cached

    async def _load(self, namespace: str) -> CachedTree:
        async with self._database.connection() as connection:
            return CachedTree(await access.tree(connection, namespace))

    def _evict(self, namespace: str) -> None:
        cached = self._entries.pop(namespace, None)
        if cached is not None:
            self._size -= len(cached.tree)

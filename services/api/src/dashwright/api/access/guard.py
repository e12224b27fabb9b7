"""The views of callers, made of the rules of access and the tree of folders."""

from dashwright.api.domain.access.view import View
from dashwright.api.feed.feed import Feed
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity


class Guard:
    """Makes the view of a caller on a namespace."""

    def __init__(self, database: Database, feed: Feed) -> None:
        self._database = database
        feed.on_access(self._forget)

    async def view(self, identity: Identity, namespace: str) -> View:
        """What a caller may do with the objects of a namespace."""
        return View(identity)

    def forget(self, namespace: str) -> None:
        """Told by this gateway's own writes of folders and rules, before they are answered."""
        self._forget(namespace)

    def _forget(self, namespace: str | None) -> None:
        """Nothing is remembered."""

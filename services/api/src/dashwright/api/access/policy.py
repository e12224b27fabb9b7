"""The access policy: views of callers, from access rules and the tree of folders."""

from typing import Final

from dashwright.api.access.trees import Trees
from dashwright.api.changes.feed import Feed
from dashwright.api.domain.access.view import View, demand, is_above_rules
from dashwright.common.database.pool import Database
from dashwright.common.errors import Gone
from dashwright.common.identity import Identity
from dashwright.common.stores import changes
from dashwright.common.stores.resources import StoredObject

_MOST_VIEWS: Final = 1000
"""Views that are cached for one tree."""


class AccessPolicy:
    """Views of callers on namespaces, cached with the tree of the namespace."""

    def __init__(self, database: Database, feed: Feed) -> None:
        self._database = database
        self._trees = Trees(database, feed)

    async def view(self, identity: Identity, namespace: str) -> View:
        """Return the caller's view on the objects of a namespace. Raises Unavailable.

        ``identity`` is the caller as a member of the namespace's organization. Call this before a transaction, not inside: it may
        need a second connection, and concurrent requests that hold one each could then wait for each other.
        """
        if is_above_rules(identity):
            return View(identity)
        cached = await self._trees.get(namespace)
        key = (identity.uid, identity.role, identity.user_id, identity.teams, frozenset(identity.granted.items()))
        view = cached.views.get(key)
        if view is None:
            if len(cached.views) >= _MOST_VIEWS:
                cached.views.clear()  # Views are cheap to make again, so no order of use is kept.
            view = cached.views[key] = View(identity, cached.tree)
        return view

    async def view_on(self, identity: Identity, namespace: str, folder: str | None) -> View:
        """Return the caller's view for an object in ``folder`` (None: at the root), reloaded for an unknown folder. Raises Unavailable."""
        view = await self.view(identity, namespace)
        if folder is None or view.knows(folder):
            return view
        self.forget(namespace)  # The folder may be new, and its notification still on its way.
        return await self.view(identity, namespace)

    async def demand(self, identity: Identity, action: str, stored: StoredObject) -> View:
        """Return the caller's view for a stored object. Raises Forbidden if it does not permit ``action`` on it, and Unavailable."""
        view = await self.view_on(identity, stored.namespace, stored.folder)
        demand(view, action, stored.kind, stored.name, stored.folder, login=identity.login)
        return view

    async def holds(self, identity: Identity, action: str) -> bool:
        """Return whether a caller may do ``action`` on at least one object in folders, existing or new, of their organization."""
        return (await self.view(identity, identity.namespace)).holds(action)

    async def check_since(self, identity: Identity, namespace: str, version: int) -> None:
        """Raise Gone if access in a namespace has changed since a version: rules or folders were removed or moved.

        Objects as of that version cannot be judged by the rules of now. Get the view first: changes after it are found here.
        """
        if is_above_rules(identity):
            return
        async with self._database.connection() as connection:
            has_moved = await changes.moved_access(connection, namespace, version)
        if has_moved:
            raise Gone(f"who may see objects has changed since resource version {version}; list again, and go on from there")

    def forget(self, namespace: str) -> None:
        """Drop the tree of a namespace. This gateway's writes of folders and rules call this before their response is sent."""
        self._trees.forget(namespace)

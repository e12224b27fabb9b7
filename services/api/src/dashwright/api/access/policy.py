"""The views of callers, made of the rules of access and the tree of folders."""

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
"""Callers whose view on one tree is kept."""


class AccessPolicy:
    """Makes the view of a caller on a namespace."""

    def __init__(self, database: Database, feed: Feed) -> None:
        self._database = database
        self._trees = Trees(database, feed)

    async def view(self, identity: Identity, namespace: str) -> View:
        """What a caller, as the namespace's organization sees them, may do with its objects. Raises Unavailable.

        Ask before a transaction, not inside: it may need a connection of its own.
        """
        if is_above_rules(identity):
            return View(identity)
        known = await self._trees.of(namespace)
        key = (identity.uid, identity.role, identity.user_id, identity.teams, frozenset(identity.granted.items()))
        view = known.views.get(key)
        if view is None:
            if len(known.views) >= _MOST_VIEWS:
                known.views.clear()
            view = known.views[key] = View(identity, known.tree)
        return view

    async def view_on(self, identity: Identity, namespace: str, folder: str | None) -> View:
        """The same, of somebody who asks for what lies in ``folder`` (None: at the root). Raises Unavailable."""
        view = await self.view(identity, namespace)
        if folder is None or view.knows(folder):
            return view
        self.forget(namespace)  # a new folder, which this gateway has not heard of yet
        return await self.view(identity, namespace)

    async def demand(self, identity: Identity, action: str, stored: StoredObject) -> View:
        """The caller's view on where a stored object lies. Raises Forbidden where it does not allow ``action`` on it, and Unavailable."""
        view = await self.view_on(identity, stored.namespace, stored.folder)
        demand(view, action, stored.kind, stored.name, stored.folder, login=identity.login)
        return view

    async def holds(self, identity: Identity, action: str) -> bool:
        """Whether a caller may do ``action`` on any object of their organization that lies in folders, be it one to come."""
        return (await self.view(identity, identity.namespace)).holds(action)

    async def check_since(self, identity: Identity, namespace: str, version: int) -> None:
        """Raises Gone where what was at a version cannot be judged by what the caller may see now: rules went, or folders, or moved.

        Ask for the view first: what it does not know of yet is found here.
        """
        if is_above_rules(identity):
            return
        async with self._database.connection() as connection:
            has_moved = await changes.moved_access(connection, namespace, version)
        if has_moved:
            raise Gone(f"who may see objects has changed since resource version {version}; list again, and go on from there")

    def forget(self, namespace: str) -> None:
        """Told by this gateway's own writes of folders and rules, before they are answered."""
        self._trees.forget(namespace)

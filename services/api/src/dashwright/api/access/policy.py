"""The access policy: what each caller may do with folders and dashboards, by access rules and the tree of folders."""

from typing import Final

from dashwright.api.access.trees import TreeCache
from dashwright.api.changes.feed import Feed
from dashwright.api.domain.access.view import AccessView, bypasses_rules, require_permission
from dashwright.common.database.pool import Database
from dashwright.common.errors import Gone
from dashwright.common.identity import Identity
from dashwright.common.stores import changes
from dashwright.common.stores.resources import StoredObject

_MAX_CACHED_VIEWS: Final = 1000
"""Limit on the views that are cached with one tree."""


class AccessPolicy:
    """Access views of callers on namespaces, cached with the access tree of the namespace."""

    def __init__(self, database: Database, feed: Feed) -> None:
        self._database = database
        self._tree_cache = TreeCache(database, feed)

    async def view(self, identity: Identity, namespace: str) -> AccessView:
        """Return the caller's view on the objects of a namespace. Raises Unavailable.

        ``identity`` is the caller as a member of the namespace's organization. Call this before a transaction, not inside: it may need
        a second connection, and concurrent requests with one connection each would wait for each other forever.
        """
        if bypasses_rules(identity):
            return AccessView(identity)
        cached_tree = await self._tree_cache.get(namespace)
        # All members of the identity on which a view depends, so that a change of rights leads to another view.
        key = (identity.uid, identity.role, identity.user_id, identity.teams, frozenset(identity.granted.items()))
        view = cached_tree.views.get(key)
        if view is None:
            if len(cached_tree.views) >= _MAX_CACHED_VIEWS:
                cached_tree.views.clear()  # Views are cheap to create, so an LRU order would cost more than it saves.
            view = cached_tree.views[key] = AccessView(identity, cached_tree.tree)
        return view

    async def view_on(self, identity: Identity, namespace: str, folder: str | None) -> AccessView:
        """Return the caller's view for an object in ``folder`` (None: at the root). Raises Unavailable.

        An unknown folder may be new, so the tree is read again before the view is created.
        """
        view = await self.view(identity, namespace)
        if folder is None or view.knows_folder(folder):
            return view
        self.invalidate(namespace)  # The notification of a new folder may not have arrived yet.
        return await self.view(identity, namespace)

    async def require_permission(self, identity: Identity, action: str, stored_object: StoredObject) -> AccessView:
        """Return the caller's view for a stored object. Raises Forbidden if the view does not permit ``action``, and Unavailable."""
        view = await self.view_on(identity, stored_object.namespace, stored_object.folder)
        require_permission(view, action, stored_object.kind, stored_object.name, stored_object.folder, login=identity.login)
        return view

    async def may_on_any(self, identity: Identity, action: str) -> bool:
        """Return whether a caller may do ``action`` on some existing or new object in the folders of their organization."""
        return (await self.view(identity, identity.namespace)).may_on_any(action)

    async def require_unchanged_since(self, identity: Identity, namespace: str, version: int) -> None:
        """Raise Gone if rules or folders of a namespace were removed or moved since a resource version.

        The current rules must not decide who may read objects as of that version. Call ``view`` before this method, so that the check
        also covers the changes since the view was loaded.
        """
        if bypasses_rules(identity):
            return
        async with self._database.connection() as connection:
            has_changed = await changes.access_changed_since(connection, namespace, version)
        if has_changed:
            raise Gone(f"access rules have changed since resource version {version}; list again and continue from there")

    def invalidate(self, namespace: str) -> None:
        """Discard the tree of a namespace. Writes of folders and rules call this before they respond, ahead of the notification."""
        self._tree_cache.invalidate(namespace)

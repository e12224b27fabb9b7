"""Trees of folders and rules: read completely, cached only while notifications arrive, and never outdated."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.access.trees import TreeCache
from dashwright.api.changes.feed import Feed
from dashwright.api.domain.access import permissions_of
from dashwright.api.domain.access.object_scope import EVERYTHING
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity, Role
from dashwright.common.kinds.annotations import FOLDER_KEY
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import resources
from dashwright.common.stores.resources import Write

VIEWER = Identity("user:7", "viewer", 1, Role.VIEWER, 7, permissions=permissions_of(Role.VIEWER))


class NotifiedFeed(Feed):
    """A feed whose notifications the test sends."""

    def __init__(self) -> None:
        self.is_listening = True
        self._callbacks: list[Callable[[str | None], None]] = []

    def on_access_change(self, callback: Callable[[str | None], None]) -> None:
        """Register a function that is called with the namespace of each notification."""
        self._callbacks.append(callback)

    def notify(self, namespace: str | None) -> None:
        """Notify of a change of access in a namespace, or with ``None`` in all of them."""
        for callback in self._callbacks:
            callback(namespace)


@pytest.fixture
def feed() -> NotifiedFeed:
    """Create a feed that is listening."""
    return NotifiedFeed()


async def write_folder(database: Database, name: str, parent: str = "", *, namespace: str = "default", kind: str = "folders") -> None:
    """Create a folder, or a dashboard, in the folder ``parent``; an empty ``parent`` means the top level."""
    annotations = {FOLDER_KEY: parent} if parent else {}
    write = Write(FOLDER if kind == "folders" else DASHBOARD, name, '{"title":"T"}', "v0alpha1", annotations=annotations)
    async with database.transaction() as connection:
        await resources.create(await resources.lock(connection, namespace), namespace, write, actor="user:1", now=datetime.now(UTC))


async def store_empty_rules(database: Database, name: str) -> None:
    """Store an empty list of rules for an object."""
    async with database.connection() as connection:
        statement = (
            "insert into access_list (uid, namespace, resource, name) select uid, namespace, resource, name from resource where name = $1"
        )
        await connection.execute(statement, name)


async def test_a_tree_contains_its_complete_namespace(database: Database, feed: NotifiedFeed) -> None:
    """A tree contains every folder and every list of rules of its namespace, including empty lists."""
    for name, parent in (("a", ""), ("b", "a"), ("c", "b")):
        await write_folder(database, name, parent)
    await write_folder(database, "d", "c", kind="dashboards")
    await write_folder(database, "x", namespace="org-2")
    await store_empty_rules(database, "b")
    await store_empty_rules(database, "d")
    tree = (await TreeCache(database, feed).get("default")).tree
    assert tree.parents == {"a": None, "b": "a", "c": "b"}
    assert tree.rules_by_object == {("folders", "b"): [], ("dashboards", "d"): []}
    assert tree.path("c") == ("c", "b", "a")


async def test_a_tree_is_cached_until_a_notification(database: Database, feed: NotifiedFeed) -> None:
    """A notification about its namespace, or about all, removes a tree. While no notifications are received, no tree is cached."""
    trees = TreeCache(database, feed)
    first = await trees.get("default")
    assert await trees.get("default") is first
    await trees.get("org-2")
    feed.notify("org-2")
    assert await trees.get("default") is first
    assert len(trees) == 1
    for namespace in ("default", None):
        feed.notify(namespace)
        repeated = await trees.get("default")
        assert repeated is not first
        first = repeated
    feed.is_listening = False
    assert await trees.get("default") is not first
    assert await trees.get("default") is not await trees.get("default")


async def test_a_tree_read_before_a_change_is_not_cached_after_it(database: Database, feed: NotifiedFeed) -> None:
    """Concurrent callers share a read, but a caller after a change does not share a read that began before it."""
    trees = TreeCache(database, feed)
    before = [asyncio.create_task(trees.get("default")) for _ in range(3)]
    await asyncio.sleep(0)  # the tasks begin to read
    feed.notify("default")
    after = await trees.get("default")
    read_trees = await asyncio.gather(*before)
    assert len({id(tree) for tree in read_trees}) == 1
    assert after is not read_trees[0]
    assert await trees.get("default") is after


async def test_the_cache_of_trees_is_bounded(database: Database, feed: NotifiedFeed) -> None:
    """If the trees have more folders than the limit, the least recently used one is removed."""
    for namespace in ("default", "org-2", "org-3"):
        for name in "ab":
            await write_folder(database, name, namespace=namespace)
    trees = TreeCache(database, feed, max_size=4)  # two trees of two folders
    first = await trees.get("default")
    await trees.get("org-2")
    assert await trees.get("default") is first
    await trees.get("org-3")
    assert len(trees) == 2
    assert await trees.get("default") is first


async def test_a_view_is_cached_by_caller_and_tree(database: Database, feed: NotifiedFeed) -> None:
    """A caller with another right or team gets another view; a caller with all rights needs no tree."""
    policy = AccessPolicy(database, feed)
    view = await policy.view(VIEWER, "default")
    assert await policy.view(VIEWER, "default") is view
    other = Identity("user:7", "viewer", 1, Role.VIEWER, 7, permissions=permissions_of(Role.VIEWER), teams=frozenset({3}))
    assert await policy.view(other, "default") is not view
    feed.notify("default")
    assert await policy.view(VIEWER, "default") is not view
    admin = Identity("user:1", "admin", 1, Role.ADMIN, 1, permissions=permissions_of(Role.ADMIN))
    assert (await policy.view(admin, "default")).scope(FOLDER) == EVERYTHING


async def test_an_unknown_folder_is_read_again(database: Database, feed: NotifiedFeed) -> None:
    """A gateway that was not yet notified of a new folder reads the tree again, and permits access to the folder's content."""
    policy = AccessPolicy(database, feed)
    await write_folder(database, "closed")
    await store_empty_rules(database, "closed")
    assert (await policy.view(VIEWER, "default")).scope(FOLDER) != EVERYTHING
    await write_folder(database, "new")
    await write_folder(database, "d", "new", kind="dashboards")
    async with database.connection() as connection:
        stored = await resources.get(connection, DASHBOARD, "default", "d")
    await policy.require_permission(VIEWER, "dashboards:read", stored)

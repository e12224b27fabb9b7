"""Trees of folders and rules: read whole, remembered only while changes are heard, and never too late."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.access.trees import Trees
from dashwright.api.changes.feed import Feed
from dashwright.api.domain.access import permissions_of
from dashwright.api.domain.access.object_scope import EVERYTHING
from dashwright.common.database.pool import Database
from dashwright.common.identity import Identity, Role
from dashwright.common.kinds.annotations import FOLDER_KEY
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import resources
from dashwright.common.stores.resources import Write

VIC = Identity("user:7", "vic", 1, Role.VIEWER, 7, permissions=permissions_of(Role.VIEWER))


class Heard(Feed):
    """A feed that hears what a test tells it."""

    def __init__(self) -> None:
        self.is_listening = True
        self._told: list[Callable[[str | None], None]] = []

    def on_access(self, heard: Callable[[str | None], None]) -> None:
        self._told.append(heard)

    def tell(self, namespace: str | None) -> None:
        for heard in self._told:
            heard(namespace)


@pytest.fixture
def feed() -> Heard:
    return Heard()


async def write(database: Database, name: str, parent: str = "", *, namespace: str = "default", kind: str = "folders") -> None:
    annotations = {FOLDER_KEY: parent} if parent else {}
    written = Write(FOLDER if kind == "folders" else DASHBOARD, name, '{"title":"T"}', "v0alpha1", annotations=annotations)
    async with database.transaction() as connection:
        await resources.create(await resources.lock(connection), namespace, written, actor="user:1", now=datetime.now(UTC))


async def close(database: Database, name: str) -> None:
    """Gives an object an empty list of its own."""
    async with database.connection() as connection:
        statement = (
            "insert into access_list (uid, namespace, resource, name) select uid, namespace, resource, name from resource where name = $1"
        )
        await connection.execute(statement, name)


async def test_a_tree_has_every_folder_and_every_list_of_its_namespace(database: Database, feed: Heard) -> None:
    """A list without rules is one, too; folders of other namespaces are in none."""
    for name, parent in (("a", ""), ("b", "a"), ("c", "b")):
        await write(database, name, parent)
    await write(database, "d", "c", kind="dashboards")
    await write(database, "x", namespace="org-2")
    await close(database, "b")
    await close(database, "d")
    tree = (await Trees(database, feed).get("default")).tree
    assert tree.parents == {"a": None, "b": "a", "c": "b"}
    assert tree.lists == {("folders", "b"): [], ("dashboards", "d"): []}
    assert tree.path("c") == ("c", "b", "a")


async def test_a_tree_is_remembered_until_something_is_heard(database: Database, feed: Heard) -> None:
    """Of its namespace, or of any; and not at all while nothing is heard."""
    trees = Trees(database, feed)
    first = await trees.get("default")
    assert await trees.get("default") is first
    await trees.get("org-2")
    feed.tell("org-2")
    assert await trees.get("default") is first
    assert len(trees) == 1
    for namespace in ("default", None):
        feed.tell(namespace)
        again = await trees.get("default")
        assert again is not first
        first = again
    feed.is_listening = False
    assert await trees.get("default") is not first
    assert await trees.get("default") is not await trees.get("default")


async def test_what_was_read_before_a_change_is_not_remembered_after_it(database: Database, feed: Heard) -> None:
    """Nor does who asks after the change share a reading from before it; who asks at the same time shares one."""
    trees = Trees(database, feed)
    before = [asyncio.create_task(trees.get("default")) for _ in range(3)]
    await asyncio.sleep(0)
    feed.tell("default")
    after = await trees.get("default")
    found = await asyncio.gather(*before)
    assert len({id(each) for each in found}) == 1
    assert after is not found[0]
    assert await trees.get("default") is after


async def test_trees_are_kept_within_their_limit(database: Database, feed: Heard) -> None:
    """The one that was used least lately goes first."""
    for namespace in ("default", "org-2", "org-3"):
        for name in "ab":
            await write(database, name, namespace=namespace)
    trees = Trees(database, feed, largest=4)
    first = await trees.get("default")
    await trees.get("org-2")
    assert await trees.get("default") is first
    await trees.get("org-3")
    assert len(trees) == 2
    assert await trees.get("default") is first


async def test_a_view_is_made_once_for_a_caller_and_a_tree(database: Database, feed: Heard) -> None:
    """Who gets another right or team gets another view; who may do everything needs no tree."""
    policy = AccessPolicy(database, feed)
    view = await policy.view(VIC, "default")
    assert await policy.view(VIC, "default") is view
    other = Identity("user:7", "vic", 1, Role.VIEWER, 7, permissions=permissions_of(Role.VIEWER), teams=frozenset({3}))
    assert await policy.view(other, "default") is not view
    feed.tell("default")
    assert await policy.view(VIC, "default") is not view
    boss = Identity("user:1", "boss", 1, Role.ADMIN, 1, permissions=permissions_of(Role.ADMIN))
    assert (await policy.view(boss, "default")).scope(FOLDER) == EVERYTHING


async def test_a_folder_that_was_not_heard_of_yet_is_looked_for(database: Database, feed: Heard) -> None:
    """Somebody who was just shown it may read what lies in it, at a gateway that learns of it a moment later."""
    policy = AccessPolicy(database, feed)
    await write(database, "closed")
    await close(database, "closed")
    assert (await policy.view(VIC, "default")).scope(FOLDER) != EVERYTHING
    await write(database, "new")
    await write(database, "d", "new", kind="dashboards")
    async with database.connection() as connection:
        stored = await resources.get(connection, DASHBOARD, "default", "d")
    await policy.demand(VIC, "dashboards:read", stored)

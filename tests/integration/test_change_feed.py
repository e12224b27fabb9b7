"""Reading and trimming of the change feed."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Gone
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import changes
from dashwright.common.stores.changes import Change, StreamName

LONG = timedelta(hours=1)
_INSERT = """insert into resource (uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title, labels,
        annotations, created_at, created_by, content_hash, metadata)
    select gen_random_uuid(), $1, $2, $3, name, 0, 1, 'v', '', '{}', '{}', now(), 'user:1', '', '' from unnest($4::text[]) name"""


async def make(connection: Connection, *names: str, namespace: str = "default", folders: bool = False) -> None:
    kind = FOLDER if folders else DASHBOARD
    await connection.execute(_INSERT, kind.group, kind.plural, namespace, list(names))


async def move(connection: Connection, name: str, folder: str) -> None:
    statement = "update resource set annotations = jsonb_build_object('grafana.app/folder', $2::text) where name = $1"
    await connection.execute(statement, name, folder)


def summary_of(found: Sequence[Change]) -> list[tuple[str, str]]:
    return [(change.type, change.name) for change in found]


async def test_the_feed_is_read_in_pages(database: Database) -> None:
    """Pages are in the order of versions, up to a given one, with each change once."""
    async with database.connection() as connection:
        begun = await changes.head(connection, StreamName.OBJECTS)
        await make(connection, "a", "b", "c")
        until = await changes.head(connection, StreamName.OBJECTS)
        await make(connection, "d")
        first = await changes.after(connection, StreamName.OBJECTS, begun, until=until, limit=2)
        second = await changes.after(connection, StreamName.OBJECTS, first[-1].resource_version, until=until, limit=2)
        assert summary_of([*first, *second]) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
        assert await changes.after(connection, StreamName.JOBS, 1, until=until, limit=2) == []


async def test_the_changes_of_a_kind_include_changes_of_access(database: Database) -> None:
    """A moved folder is marked, and changes of other namespaces and names are not included."""
    async with database.connection() as connection:
        await make(connection, "f", "g", folders=True)
        await make(connection, "a", "b")
        await make(connection, "a", namespace="org-2")
        await move(connection, "f", "g")
        await connection.execute("update resource set title = 'new' where name = 'g'")
        until = await changes.head(connection, StreamName.OBJECTS)

        async def of(namespace: str = "default", name: str | None = None) -> list[tuple[str, str]]:
            found = await changes.after(
                connection, StreamName.OBJECTS, 1, until=until, limit=10, kind=DASHBOARD, namespace=namespace, name=name
            )
            return summary_of(found)

        assert await of() == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "f")]
        assert await of(name="b") == [("ADDED", "b"), ("MODIFIED", "f")]
        assert await of(namespace="org-2") == [("ADDED", "a")]
        folders = await changes.after(connection, StreamName.OBJECTS, 1, until=until, limit=10, kind=FOLDER, namespace="default")
        assert summary_of(folders) == [("ADDED", "f"), ("ADDED", "g"), ("MODIFIED", "f"), ("MODIFIED", "f"), ("MODIFIED", "g")]
        named = await changes.after(connection, StreamName.OBJECTS, 1, until=until, limit=10, kind=FOLDER, namespace="default", name="f")
        assert summary_of(named) == [("ADDED", "f"), ("MODIFIED", "f"), ("MODIFIED", "f")]
        assert [change.moves_access for change in folders] == [False, False, False, True, False]


async def test_an_update_includes_the_previous_state(database: Database) -> None:
    """An update has the previous state with its version."""
    async with database.connection() as connection:
        await make(connection, "a")
        await move(connection, "a", "f")
        made, moved = await changes.after(connection, StreamName.OBJECTS, 1, until=2**62, limit=10)
    assert made.old is None
    assert moved.old is not None
    assert (moved.old.folder, moved.state.folder, moved.old_resource_version) == (None, "f", made.resource_version)


async def test_a_version_below_the_horizon_is_an_error(database: Database) -> None:
    """Reading below the last deleted change fails, even if no matching change was deleted; reading from it on succeeds."""
    async with database.connection() as connection:
        await make(connection, "a")
        await connection.execute("update change set changed_at = now() - interval '2 hours'")
        await make(connection, "b")
        trimmed = await changes.trim(connection, older_than=LONG)
        horizon = await changes.horizon(connection)
        assert (len(trimmed.objects), trimmed.is_more) == (1, False)
        for kind in (None, FOLDER):
            with pytest.raises(Gone):
                await changes.after(connection, StreamName.OBJECTS, horizon - 1, until=2**62, limit=10, kind=kind, namespace="default")
        assert summary_of(await changes.after(connection, StreamName.OBJECTS, horizon, until=2**62, limit=10)) == [("ADDED", "b")]


async def test_the_feed_is_trimmed_to_a_number_of_changes(database: Database) -> None:
    """The oldest changes are deleted, except for recent ones, whose neighbours may not be committed yet."""
    async with database.connection() as connection:
        await make(connection, *"abcdef")
        await changes.trim(connection, older_than=LONG, most=2)
        assert await connection.fetchval("select count(*) from change") == 6
        await connection.execute("update change set changed_at = now() - interval '20 minutes'")
        await changes.trim(connection, older_than=LONG, most=2)
        assert summary_of(
            await changes.after(connection, StreamName.OBJECTS, await changes.horizon(connection), until=2**62, limit=10)
        ) == [
            ("ADDED", "e"),
            ("ADDED", "f"),
        ]


async def test_the_latest_version_includes_open_transactions(database: Database) -> None:
    """The latest version includes versions of uncommitted transactions; the head does not."""
    async with database.connection() as one, database.connection() as other:
        async with one.transaction():
            await make(one, "a")
            drawn = await one.fetchval("select resource_version from resource")
            assert await changes.latest(other) >= drawn
            assert await changes.head(other, StreamName.OBJECTS) < drawn
        assert await changes.head(other, StreamName.OBJECTS) == drawn

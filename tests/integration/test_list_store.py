"""Lists at one version over a real PostgreSQL: every page shows the version at which the first page was read."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dashwright.api.domain.access.object_scope import NOTHING, ObjectScope
from dashwright.api.stores import lists
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Gone
from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import changes, resources
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.resources import StoredObject, Write

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
#: Names whose order differs between collations.
NAMES = ["a", "B", "c-1", "c.2", "Z", "ä"]


async def put_dashboard(connection: Connection, name: str, title: str = "T", *, folder: str = "", **labels: str) -> None:
    """Create or update a dashboard."""
    annotations = {"grafana.app/folder": folder} if folder else {}
    spec = orjson.dumps({"title": title}).decode()
    write = Write(DASHBOARD, name, spec, "v2alpha1", extract=Extract(title), labels=labels, annotations=annotations)
    async with connection.transaction():
        await resources.put(await resources.lock(connection, "default"), "default", write, actor="user:1", now=NOW)


async def write(connection: Connection, statement: str, *values: Any) -> None:
    """Execute a statement with the lock of the default namespace."""
    async with connection.transaction():
        await resources.lock(connection, "default")
        await connection.execute(statement, *values)


async def remove(connection: Connection, name: str) -> None:
    """Delete a dashboard."""
    await write(connection, "delete from resource where resource = 'dashboards' and name = $1", name)


async def list_objects(connection: Connection, **options: Any) -> list[StoredObject]:
    """Return all objects in pages of one object each, at the newest version or the given one."""
    version = options.pop("at", None) or await changes.visible_version(connection, StreamName.OBJECTS, "default")
    objects: list[StoredObject] = []
    after: str | None = ""
    while after is not None:
        page = await lists.page(connection, DASHBOARD, "default", version=version, after=after, limit=1, **options)
        objects += page.items
        after = page.after
    return objects


async def listed_names(connection: Connection, **options: Any) -> set[str]:
    """Return the names of all objects, listed with the options of ``list_objects``."""
    return {item.name for item in await list_objects(connection, **options)}


#: A write to a dashboard, or the reading of the next page.
_STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NAMES), st.sampled_from(["T", "U"]), st.sampled_from(["", "f"]), st.sampled_from(["", "x"])),
    st.tuples(st.just("remove"), st.sampled_from(NAMES)),
    st.tuples(st.just("status"), st.sampled_from(NAMES), st.sampled_from(["1", "2"])),
    st.tuples(st.just("read")),
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.lists(_STEPS, max_size=8), between=st.lists(_STEPS, max_size=20), limit=st.integers(1, 3))
@example([("put", "a", "T", "", "")], [("put", "a", "T", "f", ""), ("status", "a", "1")], 1)
@example([("put", "a", "T", "f", "x")], [("remove", "a"), ("put", "a", "T", "", "")], 1)
def test_pages_show_one_version(database_url: str, before: list[tuple[str, ...]], between: list[tuple[str, ...]], limit: int) -> None:
    """With writes between the pages, the pages together still equal the state of the feed at the version of the list."""
    asyncio.run(_check_pages(database_url, before, between, limit))


async def _check_pages(url: str, before: list[tuple[str, ...]], between: list[tuple[str, ...]], limit: int) -> None:
    """Perform the first steps, begin a list, and read its pages between the other steps; roll everything back."""
    database = await Database.open(url, application_name="walk", max_size=1)
    try:
        async with database.connection() as connection:
            transaction = connection.transaction()
            await transaction.start()
            for step in before:
                await _perform(connection, step)
            version = await changes.visible_version(connection, StreamName.OBJECTS, "default")
            objects: list[StoredObject] = []
            after: str | None = ""
            # The reads at the end suffice for a list of all names in pages of one, and an empty page.
            for step in (*between, *[("read",)] * (len(NAMES) + 1)):
                if step[0] != "read":
                    await _perform(connection, step)
                elif after is not None:
                    page = await lists.page(connection, DASHBOARD, "default", version=version, after=after, limit=limit)
                    objects += page.items
                    after = page.after
            assert after is None
            assert [_summary(item) for item in objects] == await _replay_changes(connection, version)
            selected = await list_objects(connection, at=version, labels=[("label", "in", ["x"])], scope=ObjectScope(folders=["f"]))
            assert selected == [item for item in objects if item.folder == "f" and '"label":"x"' in item.metadata.replace(" ", "")]
            await transaction.rollback()
    finally:
        await database.close()


async def _perform(connection: Connection, step: tuple[str, ...]) -> None:
    """Perform a write; a step that reads does nothing here."""
    match step:
        case ("put", name, title, folder, label):
            await put_dashboard(connection, name, title, folder=folder, **({"label": label} if label else {}))
        case ("remove", name):
            await remove(connection, name)
        case ("status", name, status):
            await write(connection, "update resource set status = $2 where resource = 'dashboards' and name = $1", name, status)


def _summary(item: StoredObject) -> tuple[Any, ...]:
    """Return the fields that ``_replay_changes`` returns, in the same order."""
    return (item.name, item.uid, item.resource_version, item.generation, item.metadata, item.spec, item.status, item.title, item.folder)


async def _replay_changes(connection: Connection, version: int) -> list[tuple[Any, ...]]:
    """Return the objects ordered by name, computed from every change up to a version."""
    objects: dict[str, tuple[Any, ...]] = {}
    statement = (
        "select c.*, h.spec as body from change c left join resource_history h using (uid, generation) where c.resource_version <= $1"
    )
    for row in await connection.fetch(f"{statement} order by c.resource_version", version):
        objects.pop(row["name"], None)
        if row["type"] != "DELETED":
            columns = ("name", "uid", "resource_version", "generation", "metadata", "body", "status", "title", "folder")
            objects[row["name"]] = tuple(row[column] for column in columns)
    order = await connection.fetch("select n from unnest($1::text[]) n order by n", list(objects))
    return [objects[row["n"]] for row in order]


@pytest.fixture
async def connection(database: Database) -> Any:
    """Provide one connection for the whole test."""
    async with database.connection() as connection:
        yield connection


async def test_a_list_below_the_horizon_is_expired(connection: Connection) -> None:
    """A list at an older version than the horizon fails; at the horizon it succeeds."""
    await put_dashboard(connection, "a")
    version = await changes.visible_version(connection, StreamName.OBJECTS, "default")
    await connection.execute("update change_horizon set resource_version = $1", version)
    assert await listed_names(connection, at=version) == {"a"}
    with pytest.raises(Gone):
        await lists.page(connection, DASHBOARD, "default", version=version - 1, after="", limit=10)
    await remove(connection, "a")
    with pytest.raises(Gone):
        await lists.page(connection, FOLDER, "default", version=version - 1, after="", limit=10)


async def test_a_missing_body_is_an_error(connection: Connection) -> None:
    """A page is not returned without one of its objects, since it would look complete."""
    await put_dashboard(connection, "a")
    version = await changes.visible_version(connection, StreamName.OBJECTS, "default")
    await put_dashboard(connection, "a", "U")
    (object_without_body,) = (
        await lists.page(connection, DASHBOARD, "default", version=version, after="", limit=1, with_bodies=False)
    ).items
    await connection.execute("delete from resource_history where generation = 1")
    with pytest.raises(Gone):
        await lists.page(connection, DASHBOARD, "default", version=version, after="", limit=1)
    with pytest.raises(Gone):
        await lists.read_bodies(connection, [object_without_body])


@pytest.mark.parametrize(
    ("requirement", "selected"),
    [
        (("tier", "in", ["gold"]), "ab"),
        (("tier", "in", ["gold", "lead"]), "abc"),
        (("tier", "in", [""]), ""),
        (("tier", "notin", ["gold"]), "cd"),
        (("tier", "notin", ["gold", "lead"]), "d"),
        (("team", "exists", []), "ad"),
        (("team", "absent", []), "bc"),
        (("other", "exists", []), ""),
    ],
    ids=str,
)
async def test_labels_select_objects(connection: Connection, requirement: tuple[str, str, list[str]], selected: str) -> None:
    """Each kind of label requirement selects among current objects, and at an earlier version among the states of that time."""
    await put_dashboard(connection, "a", tier="gold", team="x")
    await put_dashboard(connection, "b", tier="gold")
    await put_dashboard(connection, "c", tier="lead")
    await put_dashboard(connection, "d", team="")
    version = await changes.visible_version(connection, StreamName.OBJECTS, "default")
    assert await listed_names(connection, labels=[requirement]) == set(selected)
    assert await listed_names(connection, labels=[requirement, ("tier", "in", ["gold"])]) == set(selected) & {"a", "b"}
    for name in "abcd":
        await put_dashboard(connection, name, tier="none", team="none", other="1")
    await remove(connection, "a")
    assert await listed_names(connection, labels=[requirement], at=version) == set(selected)


async def test_contradicting_labels_select_nothing(connection: Connection) -> None:
    """Two required values of one label match no object."""
    await put_dashboard(connection, "a", tier="gold")
    selectors = [("tier", "in", ["gold"]), ("tier", "in", ["lead"])]
    assert await listed_names(connection, labels=selectors) == set()
    assert await listed_names(connection, labels=selectors[::-1]) == set()


async def test_names_and_numbers_find_one_object(connection: Connection) -> None:
    """An object is found by its name and its number, also after its deletion in a list at an earlier version."""
    for name in ("a", "b", "c"):
        await put_dashboard(connection, name)
    number = (await list_objects(connection, name="b"))[0].number
    version = await changes.visible_version(connection, StreamName.OBJECTS, "default")
    for _ in range(2):  # before and after the deletion
        assert await listed_names(connection, at=version, name="b") == {"b"}
        assert await listed_names(connection, at=version, numeric_id=number) == {"b"}
        assert await listed_names(connection, at=version, excluded_names=["b", "x"]) == {"a", "c"}
        assert await listed_names(connection, at=version, numeric_id=number, name="a") == set()
        await remove(connection, "b")
    assert (await list_objects(connection, at=version, name="b"))[0].number == number


async def test_a_scope_limits_a_list(connection: Connection) -> None:
    """A scope selects by folder, by the root without hidden objects, or by name; an empty scope selects nothing."""
    await put_dashboard(connection, "a", folder="f")
    await put_dashboard(connection, "b", folder="g")
    await put_dashboard(connection, "c")
    await put_dashboard(connection, "d")
    version = await changes.visible_version(connection, StreamName.OBJECTS, "default")
    for _ in range(2):  # before and after the dashboards are moved
        assert await listed_names(connection, at=version, scope=NOTHING) == set()
        assert await listed_names(connection, at=version, scope=ObjectScope(folders=["f", "x"])) == {"a"}
        assert await listed_names(connection, at=version, scope=ObjectScope(includes_root=True)) == {"c", "d"}
        assert await listed_names(connection, at=version, scope=ObjectScope(includes_root=True, hidden_names=["c"])) == {"d"}
        assert await listed_names(connection, at=version, scope=ObjectScope(hidden_names=["c"], names=["c", "b"])) == {"b", "c"}
        for name, folder in zip("abcd", ["", "f", "f", "g"], strict=True):
            await put_dashboard(connection, name, folder=folder)


async def test_bodies_are_included_up_to_a_size(connection: Connection) -> None:
    """A page includes bodies until they exceed the limit. Others can be read separately, and a page can be read without bodies."""
    for name in ("a", "b", "c"):
        await put_dashboard(connection, name, name)
    version = await changes.visible_version(connection, StreamName.OBJECTS, "default")
    size = len('{"title":"a"}')
    page = await lists.page(connection, DASHBOARD, "default", version=version, after="", limit=3, max_body_bytes=2 * size)
    assert [item.spec for item in page.items] == ['{"title":"a"}', '{"title":"b"}', ""]
    assert page.sizes == [size] * 3
    assert await lists.read_bodies(connection, page.items[2:]) == {page.items[2].uid: '{"title":"c"}'}
    page_without_bodies = await lists.page(connection, DASHBOARD, "default", version=version, after="", limit=3, with_bodies=False)
    assert [(item.name, item.spec) for item in page_without_bodies.items] == [("a", ""), ("b", ""), ("c", "")]


async def test_objects_are_counted_by_kind_and_namespace(connection: Connection) -> None:
    """Objects are counted by kind and namespace, and the namespaces with objects are listed, both for lists of many pages."""
    await put_dashboard(connection, "a")
    await put_dashboard(connection, "b")
    assert await lists.count(connection, DASHBOARD, "default") == 2
    assert await lists.count(connection, FOLDER, "default") == 0
    assert await lists.count(connection, DASHBOARD, "org-2") == 0
    assert await lists.count(connection, DASHBOARD, None) == 2
    version = await changes.visible_version(connection, StreamName.OBJECTS, "default")
    await write(connection, "delete from resource")
    assert await lists.namespaces(connection, DASHBOARD, version=version) == ["default"]
    assert await lists.namespaces(connection, DASHBOARD, version=version, first="org-2") == []
    assert (
        await lists.namespaces(connection, DASHBOARD, version=await changes.visible_version(connection, StreamName.OBJECTS, "default"))
        == []
    )

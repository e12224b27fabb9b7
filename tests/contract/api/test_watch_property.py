"""Property of watches: a client that lists, watches, stops and resumes elsewhere ends with the content of the store."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import orjson
import pytest
from tests.contract.api.conftest import Api, StartApi
from tests.contract.api.watching import DASHBOARDS, FOLDERS, JOBS, OpenWatch, watching

from dashwright.api.domain.selectors import matches, parse_selection
from dashwright.api.stores import lists
from dashwright.common.database.pool import Connection, Database
from dashwright.common.kinds.kind import Extract, Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, JOB
from dashwright.common.stores import jobs, resources
from dashwright.common.stores.job_records import NewJob

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NAMES: Final = [f"d{number}" for number in range(30)]
TEAMS: Final = ["", "a", "b"]
FOLDER_NAMES: Final = ["", "f1", "f2"]
#: Objects of one sync: more than a gateway reads in one batch.
OBJECTS_OF_A_SYNC: Final = 700
#: Rounds of each writer.
ROUNDS: Final = 30
#: Status of an endpoint that cannot write in time, because the machine is busy.
BUSY: Final = 503


class SharedObjects:
    """The objects that the writers change, with the gateways and the database."""

    def __init__(self, apis: Sequence[Api], database: Database, seed: int) -> None:
        self.apis = apis
        self.database = database
        self.random = random.Random(seed)
        self.has_writing_ended = False

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """Open a transaction that waits for others long enough on a busy machine."""
        async with self.database.transaction() as connection:
            await connection.execute("set local lock_timeout = '60s'")
            yield connection

    def random_write(self) -> resources.Write:
        """Return a write of a random dashboard with a random title, team and folder."""
        team, folder, title = self.random.choice(TEAMS), self.random.choice(FOLDER_NAMES), self.random.choice(("one", "two", "three"))
        return make_write(DASHBOARD, self.random.choice(NAMES), title, team, folder)

    async def pause(self) -> None:
        """Sleep, sometimes for longer than another writer needs for a commit."""
        await asyncio.sleep(self.random.choice((0, 0, 0.002, 0.02)))


def make_write(kind: Kind, name: str, title: str, team: str = "", folder: str = "") -> resources.Write:
    """Return a write of an object in the preferred version of its kind."""
    spec, labels = orjson.dumps({"title": title}).decode(), {"team": team} if team else {}
    annotations = {"grafana.app/folder": folder} if folder else {}
    return resources.Write(kind, name, spec, kind.version, extract=Extract(title), labels=labels, annotations=annotations)


async def change_one_by_one(shared: SharedObjects) -> None:
    """Make several changes in one transaction, which remains open for a moment after their versions were assigned."""
    for _ in range(ROUNDS):
        async with shared.writing() as connection:
            for _ in range(shared.random.randrange(1, 5)):
                await resources.put(await resources.lock(connection, "default"), "default", shared.random_write(), actor="user:1", now=NOW)
                await shared.pause()
        await shared.pause()


async def create_and_delete(shared: SharedObjects) -> None:
    """Create and delete through the API that clients use."""
    for _ in range(ROUNDS):
        api, name = shared.random.choice(shared.apis), shared.random.choice(NAMES)
        status, _ = await api("DELETE", f"{DASHBOARDS}/{name}")
        assert status in (200, 404, BUSY)
        await shared.pause()
        status, _ = await api("POST", DASHBOARDS, {"metadata": {"name": name, "labels": {"team": "a"}}, "spec": {"title": "new"}})
        assert status in (201, 409, BUSY)
        status, _ = await api("POST", FOLDERS, {"metadata": {"generateName": "new-"}, "spec": {"title": "new"}})
        assert status in (201, BUSY)


async def write_syncs(shared: SharedObjects) -> None:
    """Write hundreds of objects in one transaction, and then delete a tenth of them, three times."""
    for digit in range(3):
        async with shared.writing() as connection:
            staging = resources.StagedWrites(connection)
            await staging.create_table()
            title = f"of sync {digit}"
            await staging.add([make_write(DASHBOARD, f"s{index}", title, TEAMS[index % 3]) for index in range(OBJECTS_OF_A_SYNC)])
            await resources.lock(connection, "default")
            await staging.write("default", actor="user:1", now=NOW)
            await shared.pause()
        await asyncio.sleep(0.1)
        async with shared.writing() as connection:
            # Each round deletes the objects whose names end with another digit.
            await connection.execute("delete from resource where name like 's%' and right(name, 1) = $1", str(digit))


async def submit_jobs(shared: SharedObjects) -> None:
    """Submit jobs. Their versions are from the same sequence as those of objects, but are assigned under another lock."""
    for index in range(2 * ROUNDS):
        labels = {"team": shared.random.choice(("a", "b"))}
        job = NewJob(
            f"j{index}",
            namespace="default",
            spec="{}",
            repository=None,
            action="sync",
            labels=labels,
            created="2026-01-01T00:00:00Z",
            coalesce_key=None,
            concurrency_group=None,
            wake_key="work.sync",
        )
        async with shared.writing() as connection:
            submitted = await jobs.submit(connection, JOB, [job], submitted_by={})
            await shared.pause()
        async with shared.writing() as connection:
            await connection.execute("update job set status = $2 where uid = $1", submitted.jobs[0].uid, f'{{"message": "{index}"}}')
            if index % 3 == 0:
                await connection.execute("delete from job where uid = $1", submitted.jobs[0].uid)


@dataclass
class Follower:
    """Copy of a selection that one client builds from events."""

    shared: SharedObjects
    kind: Kind
    path: str
    selectors: dict[str, str]
    #: Seed of the random choices of this client.
    number: int
    #: Version of the last event. 0 is before any event: the next watch starts with the present objects.
    position: int = 0
    #: Selected objects at the position, by name.
    objects: dict[str, Any] = field(default_factory=dict)
    #: Former positions, with their objects.
    history: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    #: Number of bookmarks at which the objects equalled those of the store.
    check_count: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)

    async def follow(self) -> None:
        """Watch, stop and continue until writing has ended and a bookmark confirms that all changes were sent."""
        while True:
            is_last = self.shared.has_writing_ended
            # Sometimes the client resumes at a former position, as after a restart from a backup.
            if self.history and not is_last and self.random.random() < 0.2:
                version, objects = self.random.choice(self.history)
                self.position, self.objects = version, dict(objects)
            event_limit = None if is_last else self.random.choice((1, 2, 5, 50, 400, None))
            is_complete = await self._watch(event_limit)
            if is_last and is_complete:
                return

    async def _watch(self, event_limit: int | None) -> bool:
        """Read one watch for a number of events, or until it ends. Return whether it ended because all changes were sent."""
        api = self.random.choice(self.shared.apis)
        query: dict[str, Any] = {"allowWatchBookmarks": "true", "timeoutSeconds": 1, **self.selectors}
        if self.position:
            query["resourceVersion"] = self.position
        else:
            self.objects = {}
            if self.random.random() < 0.5:
                query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        async with watching(api, self.path, **query) as watch:
            assert watch.response.status == 200
            return await self._read_events(watch, event_limit, is_initial=not self.position, has_end_mark="sendInitialEvents" in query)

    async def _read_events(self, watch: OpenWatch, event_limit: int | None, *, is_initial: bool, has_end_mark: bool) -> bool:
        """Apply events until the limit, the bookmark or the end. Return whether a bookmark has confirmed that all changes were sent."""
        count = 0
        while (event := await watch.event()) is not None:
            version, event_type = int(event["object"]["metadata"]["resourceVersion"]), event["type"]
            if event_type == "BOOKMARK":
                await self._check(version)
                if is_initial and has_end_mark:
                    assert event["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
                    is_initial = False
                else:
                    return True
            else:
                is_initial = self._apply(event, version, is_initial=is_initial)
            if not is_initial:
                self.history.append((self.position, dict(self.objects)))
            count += 1
            # The initial objects are sent in the order of their names: a client that disconnects among them cannot resume.
            if event_limit is not None and count >= event_limit and not is_initial:
                return False
        return False

    def _apply(self, event: Any, version: int, *, is_initial: bool) -> bool:
        """Apply one event; return whether initial objects may still be sent."""
        event_type, item = event["type"], event["object"]
        name = item["metadata"]["name"]
        follows_in_order = not self.objects or name > max(self.objects)
        if is_initial and event_type == "ADDED" and follows_in_order:
            self.objects[name] = item
            return True
        assert version > self.position, f"{self} received {event_type} {name} at {version}"
        # Jobs have no stored history. A watch that resumes may repeat or omit the ADDED event of a job.
        if self.kind is not JOB:
            assert (name in self.objects) is (event_type != "ADDED"), f"{self} received {event_type} {name} at {version}"
        self.position = version
        if event_type == "DELETED":
            self.objects.pop(name, None)
        else:
            self.objects[name] = item
        return False

    async def _check(self, version: int) -> None:
        """Check that the objects that a client has seen up to a version equal those in the store at that version."""
        assert version >= self.position
        self.position = version
        if self.kind is not JOB:
            async with self.shared.database.connection() as connection:
                page = await lists.page(connection, self.kind, "default", version=version, after="", limit=10_000)
            stored = {item.name: orjson.loads(item.encode(self.kind.version)) for item in page.items}
        elif self.shared.has_writing_ended:
            async with self.shared.database.connection() as connection:
                stored_jobs = await jobs.list_page(connection, JOB, "default", after="", limit=10_000)
            stored = {job.name: orjson.loads(job.encode()) for job in stored_jobs.items}
        else:
            return
        selection = parse_selection(self.selectors.get("labelSelector", ""), self.selectors.get("fieldSelector", ""), "default")
        expected = {
            name: stored_item for name, stored_item in stored.items() if matches(selection, stored_item["metadata"].get("labels", {}), name)
        }
        assert self.objects == expected, f"{self} at {version}"
        self.check_count += 1

    def __repr__(self) -> str:
        return f"follower {self.number} of {self.kind.plural} {self.selectors} at {self.position}"


SELECTIONS: Final[list[tuple[Kind, str, dict[str, str]]]] = [
    # Two followers of one selection stop and resume at different versions.
    (DASHBOARD, DASHBOARDS, {}),
    (DASHBOARD, DASHBOARDS, {}),
    (DASHBOARD, DASHBOARDS, {"labelSelector": "team=a"}),
    (DASHBOARD, DASHBOARDS, {"labelSelector": "team notin (a),team"}),
    (DASHBOARD, DASHBOARDS, {"fieldSelector": "metadata.name=d7"}),
    (FOLDER, FOLDERS, {}),
    (JOB, JOBS, {}),
    (JOB, JOBS, {"labelSelector": "team=b"}),
]


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_watcher_ends_with_the_content_of_the_store(start_api: StartApi, database: Database, seed: int) -> None:
    """Watches stop and resume at any point during any writes: no change is missed or repeated."""
    apis = [await start_api(), await start_api()]
    for folder in FOLDER_NAMES[1:]:
        assert (await apis[0]("POST", FOLDERS, {"metadata": {"name": folder}, "spec": {"title": folder}}))[0] == 201
    shared = SharedObjects(apis, database, seed)
    followers = [Follower(shared, *selection, seed * 100 + index) for index, selection in enumerate(SELECTIONS)]
    async with asyncio.TaskGroup() as group:
        for follower in followers:
            group.create_task(follower.follow())
        await asyncio.gather(
            change_one_by_one(shared), change_one_by_one(shared), create_and_delete(shared), write_syncs(shared), submit_jobs(shared)
        )
        shared.has_writing_ended = True
    assert all(follower.check_count for follower in followers)

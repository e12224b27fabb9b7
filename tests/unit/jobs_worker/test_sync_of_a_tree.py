"""A complete sync from a tree to the stored objects."""

import asyncio
import hashlib
from collections.abc import Callable

import orjson
import pytest
from tests.unit.jobs_worker.doubles import REPOSITORY, MemoryCheckout, Messages, Store, dashboard_file, dashboard_key, folder_key, run_sync

from dashwright.common.errors import Conflict, PreconditionFailed, Unavailable
from dashwright.common.jobs.names import folder_name
from dashwright.common.kinds import annotations
from dashwright.common.kinds.registry import LIBRARY_PANEL
from dashwright.common.models.provisioning import State, SyncTarget
from dashwright.jobs_worker.domain.objects import File, Removal, Write

MANAGED_BY_REPOSITORY = {annotations.MANAGED_BY: "repo", annotations.MANAGER_ID: REPOSITORY}


async def test_file_becomes_a_managed_object_in_its_folder() -> None:
    """Object and folders have manager, path and checksum; each folder is in the one above."""
    store = Store()
    await run_sync({"team/prod/cpu.json": dashboard_file("cpu", "CPU")}, store)
    dashboard = store.dashboards()["team/prod/cpu.json"]
    prod = folder_name(REPOSITORY, "team/prod")
    team = folder_name(REPOSITORY, "team")
    assert dashboard.key == dashboard_key("cpu")
    assert dashboard.extract.title == "CPU"
    assert dashboard.folder == prod
    assert dashboard.api_version == "dashboard.grafana.app/v0alpha1"
    assert dashboard.annotations == {
        **MANAGED_BY_REPOSITORY,
        annotations.SOURCE_PATH: "team/prod/cpu.json",
        annotations.SOURCE_CHECKSUM: hashlib.sha1(dashboard_file("cpu", "CPU")).hexdigest(),
        annotations.FOLDER_KEY: prod,
    }
    prod_folder = store.objects[folder_key(prod)]
    assert prod_folder.extract.title == "prod"
    assert prod_folder.folder == team
    assert prod_folder.spec == b'{"title":"prod"}'
    assert prod_folder.annotations == {**MANAGED_BY_REPOSITORY, annotations.SOURCE_PATH: "team/prod", annotations.FOLDER_KEY: team}
    assert store.objects[folder_key(team)].folder == ""


async def test_target_folder_puts_all_into_the_repositorys_folder() -> None:
    """The root folder has the name and title of the repository, and contains its dashboards. A new title renames the folder."""
    store = Store()
    await run_sync({"a.json": dashboard_file("a"), "sub/b.json": dashboard_file("b")}, store, target=SyncTarget.FOLDER)
    root = store.objects[folder_key(REPOSITORY)]
    assert root.extract.title == "The team"
    assert root.folder == ""
    assert root.annotations == MANAGED_BY_REPOSITORY
    assert store.dashboards()["a.json"].folder == REPOSITORY
    assert store.folders()["sub"].folder == REPOSITORY
    progress = await run_sync(
        {"a.json": dashboard_file("a"), "sub/b.json": dashboard_file("b")}, store, target=SyncTarget.FOLDER, title="Renamed"
    )
    assert store.objects[folder_key(REPOSITORY)].extract.title == "Renamed"
    assert [(entry.resource, entry.update, entry.noop) for entry in progress.summary()] == [("dashboards", 0, 2), ("folders", 0, 1)]


async def test_all_changes_are_one_call() -> None:
    """All changes become visible together; folders are created before and deleted after their content."""
    store = Store()
    await run_sync({"a/x.json": dashboard_file("x"), "b/y.json": dashboard_file("y")}, store)
    progress = await run_sync({"a/x.json": dashboard_file("x", "Newer"), "c/z.json": dashboard_file("z")}, store)
    # First two folders and two dashboards, then the five changes below.
    assert [len(changes) for changes in store.applied] == [4, 5]
    _, changes = store.applied
    assert [(type(change).__name__, change.key.resource) for change in changes] == [
        ("Write", "folders"),
        ("Write", "dashboards"),
        ("Write", "dashboards"),
        ("Removal", "dashboards"),
        ("Removal", "folders"),
    ]
    dashboards, folders = progress.summary()
    assert dashboards.create == 1
    assert dashboards.update == 1
    assert dashboards.delete == 1
    assert dashboards.write == 2
    assert dashboards.total == 3
    assert folders.create == 1
    assert folders.delete == 1
    assert folders.noop == 1
    assert progress.outcome == (State.SUCCESS, "completed successfully")


async def test_a_sync_without_changes_reads_and_writes_nothing() -> None:
    """A second sync of unchanged files compares checksums only."""
    store = Store()
    files = {"a/x.json": dashboard_file("x"), "README.md": b"#"}
    await run_sync(files, store, target=SyncTarget.FOLDER)
    tree = MemoryCheckout(files)
    progress = await run_sync(tree, store, target=SyncTarget.FOLDER)
    assert tree.reads == []
    assert len(store.applied) == 1
    assert progress.outcome == (State.SUCCESS, "no changes to sync")
    assert [(entry.noop, entry.total) for entry in progress.summary()] == [(1, 1), (1, 1)]


async def test_a_bad_file_does_not_affect_other_files() -> None:
    """If one file is bad, all others are stored. The job ends as an error and names the file."""
    store = Store()
    progress = await run_sync(
        {"bad.json": b"{", "good.json": dashboard_file("good"), "odd\\.json": b"", "other.yaml": b"kind: Dashboard"}, store
    )
    assert list(store.dashboards()) == ["good.json"]
    assert progress.outcome == (State.ERROR, "completed with errors")
    # A path is refused before any file is read.
    assert [text.partition(" (file: ")[2] for text in progress.errors] == [
        "odd\\.json, action: create)",
        "bad.json, action: create)",
        "other.yaml, action: create)",
    ]
    (entry,) = progress.summary()
    assert entry.create == 1
    assert entry.error == 3
    assert entry.total == 4


async def test_the_error_of_a_bad_file_can_be_stored() -> None:
    """The message of a bad file may quote any string of any length and is valid for the database and in responses."""
    store = Store()
    odd_body = b'{"apiVersion": "dashboard.grafana.app/\\u0000\\ud800", "kind": "' + b"x" * 5000 + b'"}'
    body_with_umlauts = odd_body.replace(b"x", b"\xc3\xbc")
    progress = await run_sync({"odd.json": odd_body, "long.json": body_with_umlauts}, store)
    assert progress.error_count == 2
    for result in (*progress.errors, *(item.message for item in store.quarantine.values())):
        assert "\0" not in result
        # Messages are cut to a length far below that of the quoted string.
        assert len(result.encode()) < 3000


@pytest.mark.parametrize("broken", [b"{", b'{"panels": []}', b"x" * 6_000_000], ids=["not JSON", "no title", "too large"])
async def test_a_broken_file_keeps_its_object(broken: bytes) -> None:
    """The object of a broken file keeps its revision and checksum, so the next sync examines the file again."""
    store = Store()
    await run_sync({"a/x.json": dashboard_file("x", "Before")}, store)
    progress = await run_sync({"a/x.json": broken}, store)
    assert store.dashboards()["a/x.json"].extract.title == "Before"
    assert len(store.applied) == 1
    assert progress.error_count == 1
    await run_sync({"a/x.json": dashboard_file("x", "After")}, store)
    assert store.dashboards()["a/x.json"].extract.title == "After"


async def test_a_file_deleted_during_the_sync_keeps_its_object() -> None:
    """The object of a file that is deleted during a sync is kept until the next sync."""
    store = Store()
    await run_sync({"x.json": dashboard_file("x")}, store)
    tree = MemoryCheckout({"x.json": dashboard_file("x", "Newer"), "y.json": dashboard_file("y")})
    # The entries are listed before the file is deleted.
    entries = await tree.entries()
    del tree.files["x.json"]
    tree.entries = lambda: asyncio.sleep(0, entries)  # type: ignore[method-assign]
    progress = await run_sync(tree, store)
    assert sorted(store.dashboards()) == ["x.json", "y.json"]
    assert progress.errors == ["file was deleted (file: x.json, action: update)"]


async def test_a_file_changed_during_the_sync_has_its_checksum() -> None:
    """Checksum and content come from the same reading, so the next sync finds nothing to do."""
    store = Store()
    tree = MemoryCheckout({"x.json": dashboard_file("x")})
    # The entries are listed before the file is changed.
    entries = await tree.entries()
    tree.files["x.json"] = dashboard_file("x", "Newer")
    tree.entries = lambda: asyncio.sleep(0, entries)  # type: ignore[method-assign]
    await run_sync(tree, store)
    await run_sync({"x.json": dashboard_file("x", "Newer")}, store)
    assert len(store.applied) == 1


async def test_moved_file_moves_its_object() -> None:
    """An unchanged name under another path is an update: history and links are kept."""
    store = Store()
    await run_sync({"old/x.json": dashboard_file("x")}, store)
    await run_sync({"new/x.json": dashboard_file("x")}, store)
    assert list(store.dashboards()) == ["new/x.json"]
    _, changes = store.applied
    (moved,) = [change for change in changes if change.key == dashboard_key("x")]
    assert isinstance(moved, Write)
    assert not moved.is_new


async def test_renamed_object_replaces_the_old_one() -> None:
    """If a file gets the name of another object, the sync creates this object and deletes the former one."""
    store = Store()
    await run_sync({"x.json": dashboard_file("before")}, store)
    await run_sync({"x.json": dashboard_file("after")}, store)
    assert [write.key.name for write in store.dashboards().values()] == ["after"]
    _, changes = store.applied
    assert Removal(dashboard_key("before")) in changes


async def test_two_files_may_swap_their_names() -> None:
    """Two files may swap their names: their objects exchange the files in the same step."""
    store = Store()
    await run_sync({"1.json": dashboard_file("a"), "2.json": dashboard_file("b")}, store)
    progress = await run_sync({"1.json": dashboard_file("b"), "2.json": dashboard_file("a")}, store)
    assert {path: write.key.name for path, write in store.dashboards().items()} == {"1.json": "b", "2.json": "a"}
    assert progress.error_count == 0


async def test_first_of_two_new_files_gets_the_name() -> None:
    """The first of two new files with one name is stored. The second file is an error that names both, in each sync."""
    store = Store()
    files = {"b.json": dashboard_file("dash", "B"), "a.json": dashboard_file("dash", "A")}
    # The first sync and the next one.
    for _ in range(2):
        progress = await run_sync(files, store)
        assert progress.errors == ["duplicate resource name: dash, b.json and a.json (file: b.json, name: dash, action: create)"]
        assert store.dashboards()["a.json"].extract.title == "A"
    assert len(store.applied) == 1


@pytest.mark.parametrize(
    ("owner_body", "title"),
    [(dashboard_file("dash", "Original"), "Original"), (dashboard_file("dash", "Changed"), "Changed"), (b"broken", "Original")],
)
async def test_file_that_has_the_name_keeps_it(owner_body: bytes, title: str) -> None:
    """A file keeps its object whether it is unchanged, changed or broken: no other file takes the object over, even if it comes earlier."""
    store = Store()
    await run_sync({"z.json": dashboard_file("dash", "Original")}, store)
    progress = await run_sync({"a.json": dashboard_file("dash", "Copy"), "z.json": owner_body}, store)
    assert {path: write.extract.title for path, write in store.dashboards().items()} == {"z.json": title}
    assert "duplicate resource name: dash, a.json and z.json (file: a.json, name: dash, action: create)" in progress.errors


async def test_a_rejected_file_keeps_its_object() -> None:
    """A file that may not take a new name keeps its object, so a third file cannot take the old name, either."""
    store = Store()
    await run_sync({"1.json": dashboard_file("a"), "2.json": dashboard_file("b")}, store)
    progress = await run_sync({"0.json": dashboard_file("a"), "1.json": dashboard_file("b"), "2.json": dashboard_file("b")}, store)
    assert {path: write.key.name for path, write in store.dashboards().items()} == {"1.json": "a", "2.json": "b"}
    assert progress.errors == [
        "duplicate resource name: a, 0.json and 1.json (file: 0.json, name: a, action: create)",
        "duplicate resource name: b, 1.json and 2.json (file: 1.json, name: b, action: update)",
    ]


def library_panel(title: str) -> bytes:
    """Return a file with the library panel ``p``."""
    spec = {"type": "text", "title": title, "options": {}, "fieldConfig": {}}
    api_version = LIBRARY_PANEL.api_version()
    return orjson.dumps({"apiVersion": api_version, "kind": "LibraryPanel", "metadata": {"name": "p"}, "spec": spec})


@pytest.mark.parametrize(
    "faulty_files", [{"2.json": library_panel("B")}, {"1.json": b"{"}], ids=["second file with the name", "broken file"]
)
async def test_a_refused_library_panel_is_not_counted_as_a_dashboard(faulty_files: dict[str, bytes]) -> None:
    """The summary counts a file by the kind of its object or, if it is broken, of the object that was stored from it."""
    store, files = Store(), {"1.json": library_panel("A")}
    await run_sync(files, store)
    progress = await run_sync(files | faulty_files, store)
    assert [(entry.resource, entry.error) for entry in progress.summary() if entry.error] == [("librarypanels", 1)]


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        ({}, "resource 'x' already exists and is not managed"),
        (
            {annotations.MANAGED_BY: "terraform", annotations.MANAGER_ID: "stacks-1"},
            "resource 'x' is managed by terraform 'stacks-1' and cannot be modified by repo 'team-repo'",
        ),
        (
            {annotations.MANAGED_BY: "repo", annotations.MANAGER_ID: "other"},
            "resource 'x' is managed by repo 'other' and cannot be modified by repo 'team-repo'",
        ),
    ],
)
async def test_object_of_another_manager_is_not_touched(owner: dict[str, str], text: str) -> None:
    """An object of a user or of another manager is not changed, and the error of the file names the manager."""
    store = Store()
    unrelated = store.store_unrelated("x", owner)
    progress = await run_sync({"x.json": dashboard_file("x"), "y.json": dashboard_file("y")}, store)
    assert store.objects[dashboard_key("x")] is unrelated
    assert dashboard_key("y") in store.objects
    assert progress.errors == [f"{text} (file: x.json, name: x, action: create)"]


async def test_an_object_whose_manager_allows_edits_is_taken_over() -> None:
    """If the manager of an object allows edits, the repository becomes its manager."""
    store = Store()
    store.store_unrelated("x", {annotations.MANAGED_BY: "repo", annotations.MANAGER_ID: "other", "grafana.app/managerAllowsEdits": "true"})
    progress = await run_sync({"x.json": dashboard_file("x")}, store)
    assert store.objects[dashboard_key("x")].annotations[annotations.MANAGER_ID] == REPOSITORY
    assert progress.error_count == 0


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        ({}, "target folder is not managed by a repository"),
        ({annotations.MANAGED_BY: "repo", annotations.MANAGER_ID: "other"}, "target folder is managed by a different repository (other)"),
    ],
)
async def test_a_foreign_folder_stops_only_its_content(owner: dict[str, str], text: str) -> None:
    """Nothing is stored in a folder that has another manager. Files in other directories are stored."""
    store = Store()
    store.store_unrelated(folder_name(REPOSITORY, "a"), owner, folder=True)
    progress = await run_sync({"a/b/x.json": dashboard_file("x"), "y.json": dashboard_file("y")}, store)
    assert list(store.dashboards()) == ["y.json"]
    # The errors of ``a/``, ``a/b/`` and ``a/b/x.json``.
    assert [error.partition(" (file")[0] for error in progress.errors] == [text] * 3


async def test_a_foreign_root_folder_stops_the_sync() -> None:
    """A repository whose root folder has another manager cannot be stored."""
    store = Store()
    store.store_unrelated(REPOSITORY, {}, folder=True)
    with pytest.raises(Conflict, match=f"target folder is not managed by a repository: folder '{REPOSITORY}' exists"):
        await run_sync({"x.json": dashboard_file("x")}, store, target=SyncTarget.FOLDER)
    assert store.applied == []


async def test_failed_write_counts_nothing() -> None:
    """If the transaction fails, no counter includes its writes."""
    store = Store(failure=Unavailable("database is away"))
    messages = Messages()
    with pytest.raises(Unavailable):
        await run_sync({"x.json": dashboard_file("x")}, store, messages=messages)
    assert store.objects == {}
    assert messages.texts == ["execute sync job", "reading changed files", "replicating changes"]


async def test_failure_of_the_worker_while_reading_ends_the_job() -> None:
    """An unavailable checkout is not a bad file: nothing is deleted for it."""

    class UnavailableCheckout(MemoryCheckout):
        def open_reader(self) -> Callable[[str], File]:
            raise Unavailable("disk is away")

    with pytest.raises(Unavailable):
        await run_sync(UnavailableCheckout({"x.json": dashboard_file("x")}), Store())


async def test_sync_that_is_not_enabled_is_refused() -> None:
    """A repository whose sync is disabled is refused before any file is read."""
    with pytest.raises(PreconditionFailed, match="sync is not enabled"):
        await run_sync({}, Store(), enabled=False)


async def test_progress_only_grows() -> None:
    """Every file is reported from the first read to the last write, and the progress ends at 100."""
    messages = Messages()
    progress = await run_sync({f"{index}.json": dashboard_file(f"n{index}") for index in range(5)}, Store(), messages=messages)
    assert messages.texts == ["execute sync job", "reading changed files", "replicating changes", "update status and stats"]
    assert messages.percents == sorted(messages.percents)
    assert messages.percents[-1] == 100
    assert progress.done == 5
    assert progress.uncommitted == 0

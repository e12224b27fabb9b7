"""Incremental sync: only the difference of two commits is examined, and the result equals that of a full sync."""

from dataclasses import replace
from itertools import pairwise

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.jobs_worker import revisions
from tests.unit.jobs_worker.doubles import Messages, Revision, Store, dashboard_file, dashboard_key, run_sync
from tests.unit.jobs_worker.revisions import Files

from dashwright.common.jobs import paths
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.annotations import FOLDER_KEY, SOURCE_PATH
from dashwright.common.models.provisioning import SyncTarget
from dashwright.jobs_worker.domain.objects import Key, Write

pytestmark = pytest.mark.exhaustive

TARGETS = st.sampled_from(list(SyncTarget))
#: Files without a name of their object, whose name is therefore derived from the path.
UNNAMED_FILES = st.integers(0, 99).map(lambda number: orjson.dumps({"title": f"T{number}", "panels": []}))


def stored_state(store: Store) -> dict[Key, Write]:
    """Return everything that is stored, whether it was created or replaced."""
    return {key: replace(write, is_new=True) for key, write in store.objects.items()}


async def state_by_path(store: Store, tree: Revision) -> dict[str, Write]:
    """Return the stored objects by path, without the generated names of folders, which depend on their history.

    Empty folders are left out, too, because they depend on former content.
    """
    resources = {write.annotations[SOURCE_PATH] for write in store.dashboards().values()}
    needed = {directory for path in resources for directory in paths.directories(path)}
    empty_folders = {
        f"folders:{entry.path.rstrip('/')}" for entry in await tree.entries() if entry.path.endswith("/") and entry.path not in needed
    }
    folder_paths = {write.key.name: path for path, write in store.folders().items()}
    writes = {}
    for write in stored_state(store).values():
        parent_path = folder_paths.get(write.folder, "")
        annotations = {**write.annotations, FOLDER_KEY: parent_path}
        key = write.key._replace(name="") if write.key.resource == "folders" else write.key
        path = annotations.get(SOURCE_PATH, "")
        writes[f"{key.resource}:{path}"] = replace(write, key=key, folder=parent_path, annotations=annotations)
    return {write_key: write for write_key, write in writes.items() if write_key not in empty_folders}


async def sync_revision(store: Store, number: int, files: Files, before: Files, target: SyncTarget) -> JobProgress:
    """Sync to a revision: the difference from the previous one if that is stored completely, and otherwise all files."""
    return await run_sync(Revision(number, files, before), store, target=target, since=store.commit)


@given(revisions.histories(UNNAMED_FILES, with_odd_names=False), TARGETS)
@settings(max_examples=150, deadline=None)
async def test_each_revision_is_stored_as_if_it_were_the_first(history: list[Files], target: SyncTarget) -> None:
    """The objects of valid files equal those of a full sync into an empty store, except for the names of moved folders."""
    store = Store()
    for index, (before, files) in enumerate(pairwise([{}, *history])):
        progress = await sync_revision(store, index, files, before, target)
        fresh, tree = Store(), Revision(index, files, before)
        fresh_progress = await run_sync(tree, fresh, target=target)
        assert fresh_progress.error_count == 0
        assert progress.error_count == 0
        assert await state_by_path(store, tree) == await state_by_path(fresh, tree)
        assert store.commit == str(index)


@given(
    # Two of ten files have no valid dashboard.
    revisions.histories(
        st.one_of(*[revisions.VALID_DASHBOARDS] * 8, revisions.BROKEN_FILES, revisions.FILES_WITHOUT_DASHBOARD), with_odd_names=True
    ),
    TARGETS,
)
@settings(max_examples=200, deadline=None)
async def test_incremental_and_full_syncs_are_equal(history: list[Files], target: SyncTarget) -> None:
    """Objects, quarantine and errors equal those of full syncs of each revision, also with broken, duplicate and rejected files."""
    store, full = Store(), Store()
    for index, (before, files) in enumerate(pairwise([{}, *history])):
        progress = await sync_revision(store, index, files, before, target)
        expected = await run_sync(Revision(index, files, before), full, target=target)
        assert stored_state(store) == stored_state(full)
        assert store.quarantine == full.quarantine
        assert store.commit == str(index)
        assert full.commit == str(index)
        assert sorted(progress.errors) == sorted(expected.errors)
        if not full.quarantine:
            fresh = Store()
            tree = Revision(index, files, before)
            await run_sync(tree, fresh, target=target)
            assert await state_by_path(store, tree) == await state_by_path(fresh, tree)


async def test_only_changed_files_are_read() -> None:
    """One file of a hundred is read, and only it and the folders above it are counted."""
    before = {f"d{index % 10}/{index}.json": dashboard_file(f"n{index}") for index in range(100)}
    store, messages = Store(), Messages()
    await run_sync(Revision(1, before, {}), store)
    tree = Revision(2, {**before, "d1/1.json": dashboard_file("n1", "New")}, before)
    progress = await run_sync(tree, store, since=store.commit, messages=messages)
    assert tree.reads == ["d1/1.json"]
    assert progress.total == 2
    assert store.objects[dashboard_key("n1")].extract.title == "New"
    assert messages.texts[-3:] == ["replicating versioned changes", "versioned changes replicated", "update status and stats"]


async def test_a_commit_without_a_difference_counts_as_stored() -> None:
    """A commit without a difference counts as stored, and the message of the job says that nothing changed."""
    store, files = Store(), {"a.json": dashboard_file("a")}
    await run_sync(Revision(1, files, {}), store)
    progress = await run_sync(Revision(2, files, files), store, since=store.commit)
    assert progress.final_message == "no changes detected between commits"
    assert progress.total == 0
    assert store.commit == "2"


async def test_the_name_of_an_unchanged_file_is_refused_in_another_one() -> None:
    """A new file cannot take the name of an unchanged file, although the unchanged file is not in the difference."""
    store = Store()
    before = {"a.json": dashboard_file("a", "Old")}
    await run_sync(Revision(1, before, {}), store)
    progress = await run_sync(Revision(2, {**before, "b.json": dashboard_file("a", "New")}, before), store, since=store.commit)
    assert progress.errors == ["duplicate resource name: a, b.json and a.json (file: b.json, name: a, action: create)"]
    assert store.objects[dashboard_key("a")].extract.title == "Old"


@pytest.mark.parametrize(
    "change", [{"b.json": b"{"}, {"a.json": b"{", "b.json": dashboard_file("b")}], ids=["nothing-written", "some-written"]
)
async def test_a_bad_file_is_read_once(change: Files) -> None:
    """The error of a bad file is repeated by the next syncs, which do not read the file until it changes."""
    store, before = Store(), {"a.json": dashboard_file("a")}
    await run_sync(Revision(1, before, {}), store)
    files_with_fault = {**before, **change}
    first = await run_sync(Revision(2, files_with_fault, before), store, since=store.commit)
    later = {**files_with_fault, "c.json": dashboard_file("c")}
    incremental_tree = Revision(3, later, files_with_fault)
    incremental = await run_sync(incremental_tree, store, since="2")
    assert incremental.errors == first.errors
    assert incremental_tree.reads == ["c.json"]
    full_tree = Revision(3, later, files_with_fault)
    full = await run_sync(full_tree, store)
    assert full.errors == first.errors
    # All valid files are unchanged.
    assert full_tree.reads == []
    repaired = {**later, **{path: dashboard_file(path[0], "Corrected") for path in change}}
    assert (await run_sync(Revision(4, repaired, later), store, since="3")).error_count == 0
    assert store.quarantine == {}
    assert {write.extract.title for path, write in store.dashboards().items() if path in change} == {"Corrected"}


async def test_a_file_that_another_object_blocks_is_read_again() -> None:
    """A file whose name another object has is stored as soon as that object is deleted."""
    store, files = Store(), {"a.json": dashboard_file("a")}
    store.store_unrelated("a")
    assert (await run_sync(Revision(1, files, {}), store)).error_count == 1
    del store.objects[dashboard_key("a")]
    tree = Revision(2, files, files)
    assert (await run_sync(tree, store, since="1")).error_count == 0
    assert tree.reads == ["a.json"]
    assert list(store.dashboards()) == ["a.json"]


async def test_refused_files_are_read_again_with_other_rules() -> None:
    """Files that the rules of an earlier version refused are read again."""
    store, files = Store(), {"a.json": b"{"}
    await run_sync(Revision(1, files, {}), store)
    store.quarantine = {path: replace(item, rules_fingerprint="earlier") for path, item in store.quarantine.items()}
    tree = Revision(2, files, files)
    await run_sync(tree, store, since="1")
    assert tree.reads == ["a.json"]


@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "full"])
async def test_a_moved_directory_with_few_changes_keeps_its_folder(*, incremental: bool) -> None:
    """A moved directory keeps its folder if more than half of its files are unchanged; nested directories move along."""
    store = Store()
    at_a = {
        "a/1.json": dashboard_file("n1"),
        "a/2.json": dashboard_file("n2"),
        "a/3.json": dashboard_file("n3"),
        "a/b/4.json": dashboard_file("n4"),
    }
    at_z = {
        "z/1.json": dashboard_file("n1"),
        "z/2.json": dashboard_file("n2"),
        "z/3.json": dashboard_file("n3"),
        "z/b/4.json": dashboard_file("n4", "Changed"),
    }
    at_y = {
        "y/1.json": dashboard_file("n1"),
        "y/2.json": dashboard_file("n2"),
        "y/3.json": dashboard_file("n3", "Changed"),
        "y/b/4.json": dashboard_file("n4"),
    }
    names = []
    for index, (before, files) in enumerate(pairwise([{}, at_a, at_z, at_y])):
        progress = await run_sync(Revision(index, files, before), store, since=store.commit if incremental else "")
        assert progress.error_count == 0
        names.append({path: write.key.name for path, write in store.folders().items()})
    names_at_a, names_at_z, names_at_y = names
    # Three of the four files in ``a/`` are unchanged in ``z/``.
    assert names_at_z["z"] == names_at_a["a"]
    assert names_at_z["z/b"] == names_at_a["a/b"]
    # Only two of the four files in ``z/`` are unchanged in ``y/``: ``b/4.json`` has its first content again.
    assert names_at_y["y"] != names_at_z["z"]
    assert names_at_y["y/b"] != names_at_z["z/b"]


async def test_a_moved_directory_keeps_its_folder() -> None:
    """Directories below a moved one keep their folders, too. A new directory at the old path is another folder.

    A directory that moves out of the one above it keeps its folder.
    """
    store = Store()
    history = [
        {"a/b/1.json": dashboard_file("n1"), "a/2.json": dashboard_file("n2")},
        {"z/b/1.json": dashboard_file("n1"), "z/2.json": dashboard_file("n2")},
        {"z/b/1.json": dashboard_file("n1"), "z/2.json": dashboard_file("n2"), "a/3.json": dashboard_file("n3")},
        {"y/b/1.json": dashboard_file("n1"), "z/2.json": dashboard_file("n2"), "a/3.json": dashboard_file("n3")},
    ]
    names = []
    for index, (before, files) in enumerate(pairwise([{}, *history])):
        progress = await sync_revision(store, index, files, before, SyncTarget.INSTANCE)
        assert progress.error_count == 0
        names.append({path: write.key.name for path, write in store.folders().items()})
    first, moved, with_new, split = names
    assert moved["z"] == first["a"]
    assert moved["z/b"] == first["a/b"]
    assert with_new["z"] == first["a"]
    assert with_new["a"] != first["a"]
    assert split["z"] == first["a"]
    assert split["y/b"] == first["a/b"]
    # The folders of ``y/``, ``y/b/``, ``z/`` and ``a/``.
    assert len(split) == 4
    assert len(set(split.values())) == 4

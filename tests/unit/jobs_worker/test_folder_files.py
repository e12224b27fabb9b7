"""``_folder.json``, a file that gives the folder of its directory a name, title and description."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.jobs_worker import revisions
from tests.unit.jobs_worker.doubles import Revision, Store, dashboard_file, folder_key, run_sync
from tests.unit.jobs_worker.revisions import Files

from dashwright.common.jobs.names import folder_name
from dashwright.common.jobs.progress import JobProgress
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID
from dashwright.common.models.provisioning import State, SyncTarget
from dashwright.jobs_worker.domain.folder_files import MAX_FOLDER_FILE_BYTES
from dashwright.jobs_worker.domain.objects import Key, Write

INCREMENTAL_OR_FULL = pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "full"])


def folder_file(name: str, title: str | None = "A folder", **members: object) -> bytes:
    """Return a ``_folder.json`` as Grafana writes it, with other values of ``members``."""
    spec = {} if title is None else {"title": title}
    tree = {"kind": "Folder", "apiVersion": "folder.grafana.app/v1", "metadata": {"name": name}, "spec": spec}
    return orjson.dumps({**tree, **members})


async def sync_revision(store: Store, number: int, files: Files, before: Files, *, incremental: bool) -> JobProgress:
    """Sync a revision, of all files or of the difference from the stored commit."""
    return await run_sync(Revision(number, files, before), store, since=store.commit if incremental else "")


async def run_history(store: Store, history: Sequence[Files], *, incremental: bool) -> JobProgress:
    """Sync each revision after the one before, and return the progress of the last."""
    for index, (before, files) in enumerate(pairwise([{}, *history])):
        progress = await sync_revision(store, index, files, before, incremental=incremental)
        assert progress.error_count == 0
    return progress


def folders(store: Store) -> dict[str, tuple[str, str]]:
    """Return the name and title of the folder of each directory."""
    return {path: (write.key.name, write.extract.title) for path, write in store.folders().items()}


def folder_names(store: Store) -> dict[str, str]:
    """Return the name of the folder of each directory."""
    return {path: write.key.name for path, write in store.folders().items()}


def folders_of_dashboards(store: Store) -> dict[str, str]:
    """Return the name of each dashboard's folder, by the path of the dashboard."""
    return {path: write.folder for path, write in store.dashboards().items()}


def warnings(progress: JobProgress) -> list[str]:
    """Return all warnings of a sync."""
    return [warning for entry in progress.summary() for warning in entry.warnings or []]


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1", "v0alpha1"])
async def test_a_folder_has_the_name_title_and_description_of_its_file(version: str) -> None:
    """A file of any version of the group sets name, title and description of the folder. Directories below are in the folder."""
    body = folder_file("team-web", apiVersion=f"folder.grafana.app/{version}", spec={"title": "The Web", "description": "All of it"})
    store = Store()
    progress = await run_sync({"web/_folder.json": body, "web/sub/cpu.json": dashboard_file("cpu")}, store)
    assert progress.outcome == (State.SUCCESS, "completed successfully")
    stored = store.objects[folder_key("team-web")]
    assert orjson.loads(stored.spec) == {"title": "The Web", "description": "All of it"}
    assert store.folders()["web"] == stored
    assert store.folders()["web/sub"].folder == "team-web"
    assert len(store.dashboards()) == 1


async def test_the_directory_names_a_folder_without_a_title() -> None:
    """If the title in the file is empty or missing, the folder has the name of the directory as its title."""
    store = Store()
    await run_sync({"a/_folder.json": folder_file("fa", None), "b/_folder.json": folder_file("fb", "  ")}, store)
    assert folders(store) == {"a": ("fa", "a"), "b": ("fb", "b")}


async def test_a_directory_with_a_file_is_a_folder_without_dashboards() -> None:
    """A directory with a ``_folder.json`` is a folder even without dashboards, and so are the directories above.

    The file itself is not a resource, and does not count as ignored.
    """
    store = Store()
    progress = await run_sync({"a/b/_folder.json": folder_file("fb")}, store)
    assert folders(store) == {"a": (folder_name("team-repo", "a"), "a"), "a/b": ("fb", "A folder")}
    assert [(entry.resource, entry.create, entry.ignored) for entry in progress.summary()] == [("folders", 2, 0)]


@INCREMENTAL_OR_FULL
async def test_a_moved_directory_keeps_its_folder_whatever_changes_in_it(*, incremental: bool) -> None:
    """A moved directory keeps its folder although all dashboards differ, and a nested directory without a file moves along."""
    before = {"a/_folder.json": folder_file("fa"), "a/1.json": dashboard_file("n1"), "a/b/2.json": dashboard_file("n2")}
    after = {"z/y/_folder.json": folder_file("fa"), "z/y/1.json": dashboard_file("n1", "New"), "z/y/b/2.json": dashboard_file("n2", "New")}
    store = Store()
    await run_history(store, [before], incremental=incremental)
    nested = folders(store)["a/b"]
    await sync_revision(store, 1, after, before, incremental=incremental)
    assert folders(store) == {"z": (folder_name("team-repo", "z"), "z"), "z/y": ("fa", "A folder"), "z/y/b": nested}
    assert folders_of_dashboards(store) == {"z/y/1.json": "fa", "z/y/b/2.json": nested[0]}
    assert store.folders()["z/y/b"].folder == "fa"


@INCREMENTAL_OR_FULL
async def test_another_name_is_another_folder_with_the_same_content(*, incremental: bool) -> None:
    """If the file has another name, unchanged dashboards and folders move to the new folder, and the former one is deleted."""
    dashboards = {"a/1.json": dashboard_file("n1"), "a/b/2.json": dashboard_file("n2"), "c/3.json": dashboard_file("n3")}
    store = Store()
    history = [{"a/_folder.json": folder_file("old"), **dashboards}, {"a/_folder.json": folder_file("new"), **dashboards}]
    await run_history(store, history, incremental=incremental)
    assert folder_names(store)["a"] == "new"
    assert folder_key("old") not in store.objects
    assert folders_of_dashboards(store)["a/1.json"] == "new"
    assert store.folders()["a/b"].folder == "new"


@INCREMENTAL_OR_FULL
async def test_a_deleted_file_leaves_the_folder_with_the_title_of_the_directory(*, incremental: bool) -> None:
    """If its file is deleted, a folder keeps its name, because access rules and links refer to the name."""
    dashboards = {"a/1.json": dashboard_file("n1")}
    store = Store()
    await run_history(store, [{"a/_folder.json": folder_file("fa"), **dashboards}, dashboards], incremental=incremental)
    assert folders(store) == {"a": ("fa", "a")}
    await run_sync(dashboards, store)
    assert folders(store) == {"a": ("fa", "a")}


@INCREMENTAL_OR_FULL
async def test_changes_of_title_and_description_are_stored(*, incremental: bool) -> None:
    """A changed title or description is stored, although no dashboard changes."""
    dashboards = {"a/1.json": dashboard_file("n1")}
    specs = [{"title": "T"}, {"title": "U"}, {"title": "U", "description": "D"}]
    store = Store()
    await run_history(store, [{"a/_folder.json": folder_file("fa", spec=spec), **dashboards} for spec in specs], incremental=incremental)
    assert orjson.loads(store.objects[folder_key("fa")].spec) == specs[-1]


async def test_an_unchanged_file_is_not_written_again() -> None:
    """A second sync, and one of another file in the directory, leave the folder as it is."""
    files = {"a/_folder.json": folder_file("fa"), "a/1.json": dashboard_file("n1")}
    store = Store()
    await run_sync(Revision(1, files, {}), store)
    progress = await run_sync(Revision(2, {**files, "a/1.json": dashboard_file("n1", "New")}, files), store, since="1")
    assert [(entry.resource, entry.update, entry.noop) for entry in progress.summary()] == [("dashboards", 1, 0), ("folders", 0, 1)]


INVALID_FILES = {
    "not JSON": b'{"kind": "Folder"',
    "empty": b"",
    "list": b"[]",
    "other kind": orjson.dumps({"apiVersion": "dashboard.grafana.app/v1", "kind": "Dashboard", "metadata": {"name": "x"}, "spec": {}}),
    "other version": folder_file("x", apiVersion="folder.grafana.app/v7"),
    "no name": folder_file("x", metadata={}),
    "number as name": folder_file("x", metadata={"name": 7}),
    "long name": folder_file("x" * 41),
    "slash in name": folder_file("a/b"),
    "name of the root": folder_file("general"),
    "other namespace": folder_file("x", metadata={"name": "x", "namespace": "org-7"}),
    "number as title": folder_file("x", spec={"title": 7}),
    "long title": folder_file("x", "t" * 5001),
    "NUL in title": folder_file("x", "\0"),
    "list as spec": folder_file("x", spec=[]),
    "large file": folder_file("x", "x") + b" " * MAX_FOLDER_FILE_BYTES,
    "title of 5 MB": folder_file("x", "t" * 5_000_000),
    "deep JSON": b"[" * 10_000,
}


@INCREMENTAL_OR_FULL
@pytest.mark.parametrize("body", INVALID_FILES.values(), ids=INVALID_FILES)
async def test_an_invalid_file_is_a_warning_and_changes_no_folder(body: bytes, *, incremental: bool) -> None:
    """An invalid ``_folder.json`` leaves the name and title of a stored folder. A new folder is named by its path.

    The dashboards of both are stored.
    """
    first = {"a/_folder.json": folder_file("fa"), "a/1.json": dashboard_file("n1")}
    second = {"a/_folder.json": body, "a/1.json": dashboard_file("n1", "New"), "b/_folder.json": body, "b/2.json": dashboard_file("n2")}
    store = Store()
    progress = await run_history(store, [first, second], incremental=incremental)
    assert progress.outcome == (State.SUCCESS, "completed successfully")
    assert [warning.partition(":")[0] for warning in warnings(progress)] == [
        "a/_folder.json has no effect on the folder",
        "b/_folder.json has no effect on the folder",
    ]
    assert folders(store) == {"a": ("fa", "A folder"), "b": (folder_name("team-repo", "b"), "b")}
    assert store.dashboards()["a/1.json"].extract.title == "New"
    repaired = {**second, "a/_folder.json": folder_file("fa", "Corrected"), "b/_folder.json": folder_file("fb", "B")}
    progress = await sync_revision(store, 2, repaired, second, incremental=incremental)
    assert folders(store) == {"a": ("fa", "Corrected"), "b": ("fb", "B")}
    assert store.quarantine == {}


async def test_the_warning_of_an_invalid_file_is_repeated() -> None:
    """A later sync of other files repeats the warning of an invalid file."""
    files = {"a/_folder.json": b"{", "a/1.json": dashboard_file("n1")}
    store = Store()
    first = await run_history(store, [files], incremental=True)
    later = await run_sync(Revision(1, {**files, "c.json": dashboard_file("c")}, files), store, since=store.commit)
    assert len(warnings(first)) == 1
    assert warnings(later) == warnings(first)


@INCREMENTAL_OR_FULL
async def test_the_stored_one_of_two_directories_with_one_name_keeps_it(*, incremental: bool) -> None:
    """A copied directory becomes another folder. It gets the name in its file when the original directory is deleted."""
    original = {"b/_folder.json": folder_file("fb"), "b/1.json": dashboard_file("n1")}
    both_directories = {**original, "a/_folder.json": folder_file("fb"), "a/2.json": dashboard_file("n2")}
    store = Store()
    progress = await run_history(store, [original, both_directories], incremental=incremental)
    assert folders(store) == {"b": ("fb", "A folder"), "a": (folder_name("team-repo", "a"), "A folder")}
    message = "a/_folder.json has no effect on the folder: uid 'fb' is used by another directory (file: a/_folder.json)"
    assert warnings(progress) == [message]
    remaining_files = {path: body for path, body in both_directories.items() if path.startswith("a/")}
    progress = await sync_revision(store, 2, remaining_files, both_directories, incremental=incremental)
    assert folders(store) == {"a": ("fb", "A folder")}
    assert folders_of_dashboards(store) == {"a/2.json": "fb"}
    assert warnings(progress) == []


@INCREMENTAL_OR_FULL
async def test_a_directory_with_an_invalid_file_keeps_its_name(*, incremental: bool) -> None:
    """A directory whose file becomes invalid keeps its name, which the file of another directory cannot claim."""
    first = {"a/_folder.json": folder_file("fa"), "a/1.json": dashboard_file("n1")}
    second = {**first, "a/_folder.json": b"{", "b/_folder.json": folder_file("fa")}
    store = Store()
    await run_history(store, [first, second], incremental=incremental)
    assert folder_names(store) == {"a": "fa", "b": folder_name("team-repo", "b")}


@INCREMENTAL_OR_FULL
async def test_a_directory_without_a_file_keeps_its_generated_name(*, incremental: bool) -> None:
    """The file of another directory cannot claim a generated name, so unchanged dashboards stay in their folder."""
    name = folder_name("team-repo", "a")
    first = {"a/1.json": dashboard_file("n1")}
    store = Store()
    progress = await run_history(store, [first, {**first, "b/_folder.json": folder_file(name)}], incremental=incremental)
    assert folder_names(store) == {"a": name, "b": folder_name("team-repo", "b")}
    assert f"uid '{name}' is used by another directory" in "".join(warnings(progress))


@pytest.mark.parametrize(("first", "second"), [("a", "b"), ("a", "a/b"), ("z", "a/b")], ids=["siblings", "nested", "the higher one first"])
async def test_the_first_of_two_new_directories_with_one_name_gets_it(first: str, second: str) -> None:
    """The first of two new directories with one name in their files gets the name.

    A directory comes before the directories below it, so that no folder contains itself.
    """
    store = Store()
    await run_sync({f"{path}/_folder.json": folder_file("fx") for path in (first, second)}, store)
    assert folder_names(store)[first] == "fx"
    assert folder_names(store)[second] == folder_name("team-repo", second)


@INCREMENTAL_OR_FULL
async def test_names_may_be_exchanged(*, incremental: bool) -> None:
    """If a directory and a directory in it exchange their names, the inner folder becomes the outer one."""
    dashboards = {"a/1.json": dashboard_file("n1"), "a/b/2.json": dashboard_file("n2")}
    before = {"a/_folder.json": folder_file("x"), "a/b/_folder.json": folder_file("y"), **dashboards}
    after = {"a/_folder.json": folder_file("y"), "a/b/_folder.json": folder_file("x"), **dashboards}
    store = Store()
    await run_history(store, [before, after], incremental=incremental)
    assert folder_names(store) == {"a": "y", "a/b": "x"}
    assert store.objects[folder_key("x")].folder == "y"
    assert store.objects[folder_key("y")].folder == ""
    assert folders_of_dashboards(store) == {"a/1.json": "y", "a/b/2.json": "x"}


@INCREMENTAL_OR_FULL
@pytest.mark.parametrize(
    "annotations", [{}, {MANAGED_BY: "repo", MANAGER_ID: "other"}, {MANAGED_BY: "terraform", MANAGER_ID: "t"}], ids=str
)
async def test_an_unrelated_folder_is_not_taken_over(annotations: Mapping[str, str], *, incremental: bool) -> None:
    """If an unrelated folder has the name, the directory gets another folder with a warning.

    It gets the name of its file as soon as the name is free.
    """
    store = Store()
    files = {"a/_folder.json": folder_file("fa"), "a/1.json": dashboard_file("n1")}
    unrelated = store.store_unrelated("fa", annotations, folder=True)
    progress = await run_history(store, [files], incremental=incremental)
    assert store.objects[folder_key("fa")] is unrelated
    assert folders_of_dashboards(store) == {"a/1.json": folder_name("team-repo", "a")}
    assert warnings(progress)[0].startswith("a/_folder.json has no effect on the folder: uid 'fa' cannot be used: target folder is")
    del store.objects[folder_key("fa")]
    await sync_revision(store, 1, {**files, "b.json": dashboard_file("b")}, files, incremental=incremental)
    assert folders_of_dashboards(store) == {"a/1.json": "fa", "b.json": ""}


async def test_the_folder_of_the_repository_has_no_file() -> None:
    """The root folder is changed neither by a file at the root nor by a file that has the name of the root folder."""
    store = Store()
    files = {"_folder.json": folder_file("fx"), "a/_folder.json": folder_file("team-repo"), "a/1.json": dashboard_file("n1")}
    progress = await run_sync(files, store, target=SyncTarget.FOLDER)
    assert folders(store) == {"": ("team-repo", "The team"), "a": (folder_name("team-repo", "a"), "A folder")}
    assert len(warnings(progress)) == 2


async def test_directories_without_a_file_are_warnings_if_others_have_one() -> None:
    """If a repository has any ``_folder.json``, a directory without one is a warning."""
    files = {"a/1.json": dashboard_file("n1"), "b/2.json": dashboard_file("n2")}
    assert warnings(await run_sync(files, Store())) == []
    progress = await run_sync({**files, "a/_folder.json": folder_file("fa")}, Store())
    assert [warning.partition(":")[0] for warning in warnings(progress)] == ["b/ has no _folder.json"]


@INCREMENTAL_OR_FULL
async def test_a_folder_is_kept_for_a_dashboard_that_cannot_move_out_of_it(*, incremental: bool) -> None:
    """If a dashboard's file becomes invalid when its folder gets another name, the former folder is kept until the file is corrected."""
    first = {"a/_folder.json": folder_file("old"), "a/1.json": dashboard_file("n1"), "a/2.json": dashboard_file("n2")}
    second = {**first, "a/_folder.json": folder_file("new"), "a/1.json": b"{"}
    repaired = {**second, "a/1.json": dashboard_file("n1", "Corrected")}
    store = Store()
    await run_history(store, [first], incremental=incremental)
    for index, (before, files) in enumerate([(first, second), (second, repaired)], 1):
        await sync_revision(store, index, files, before, incremental=incremental)
        folders_in_use = {"old", "new"} if files is second else {"new"}
        assert {write.key.name for key, write in store.objects.items() if key.resource == "folders"} == folders_in_use
    assert folders_of_dashboards(store) == {"a/1.json": "new", "a/2.json": "new"}


@INCREMENTAL_OR_FULL
async def test_a_folder_without_dashboards_moves_with_the_directory_above(*, incremental: bool) -> None:
    """The folder of a directory whose dashboards were deleted is kept, and moves into the new folder of the directory above."""
    first = {"a/1.json": dashboard_file("n1"), "a/b/2.json": dashboard_file("n2"), "a/b/README.md": b"text"}
    second = {path: body for path, body in first.items() if path != "a/b/2.json"}
    store = Store()
    await run_history(store, [first, second, {**second, "a/_folder.json": folder_file("fa")}], incremental=incremental)
    stored_folders = {write.key.name: write.folder for key, write in store.objects.items() if key.resource == "folders"}
    assert stored_folders == {"fa": "", folder_name("team-repo", "a/b"): "fa"}


FOLDER_FILES = st.builds(folder_file, st.sampled_from(["fa", "fb", "fc"]), st.sampled_from([None, "T", "U"]))
_FOLDER_PATHS = st.sampled_from([f"{directory}_folder.json" for directory in ("", "a/", "a/b/", "d/", "a/b/c/")])


@pytest.mark.exhaustive
@given(
    # One of three files is broken.
    revisions.histories(st.one_of(revisions.VALID_DASHBOARDS, revisions.VALID_DASHBOARDS, revisions.BROKEN_FILES), with_odd_names=False),
    st.data(),
)
@settings(max_examples=150, deadline=None)
async def test_incremental_and_full_syncs_store_the_same_folders(history: list[Files], data: st.DataObject) -> None:
    """For any valid, invalid and conflicting files, incremental and full syncs store the same objects and the same quarantine."""
    # One of three folder files is invalid.
    files_of_folders = st.dictionaries(_FOLDER_PATHS, st.one_of(FOLDER_FILES, FOLDER_FILES, st.just(b"{")), max_size=4)
    complete_files = [{**files, **_without_conflicts(data.draw(files_of_folders), files)} for files in history]
    store, full = Store(), Store()
    for index, (before, files) in enumerate(pairwise([{}, *complete_files])):
        await run_sync(Revision(index, files, before), store, since=store.commit)
        await run_sync(Revision(index, files, before), full)
        assert _stored_objects(store) == _stored_objects(full)
        assert store.quarantine == full.quarantine
    applied = len(full.applied)
    await run_sync(Revision(len(complete_files), complete_files[-1], {}), full)
    assert len(full.applied) == applied


def _without_conflicts(files: Files, others: Files) -> Files:
    """Return the files whose directories are not files of ``others``."""
    return {path: body for path, body in files.items() if not any(path.startswith(f"{other}/") for other in others)}


def _stored_objects(store: Store) -> dict[Key, Write]:
    """Return the objects, whether they were created or replaced."""
    return {key: replace(write, is_new=True) for key, write in store.objects.items()}

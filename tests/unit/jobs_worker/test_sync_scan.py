"""The comparison of a tree with the stored objects, without reading a file."""

import pytest
from tests.unit.jobs_worker.doubles import REPOSITORY, dashboard_key, folder_key

from dashwright.common.errors import Invalid
from dashwright.common.jobs import paths
from dashwright.common.jobs.names import folder_name
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.objects import Entry, ManagedObject
from dashwright.jobs_worker.domain.plan import PreparedFile, make_plan
from dashwright.jobs_worker.domain.scan import IgnoredFile, Scan, scan_entries

FOLDERS = Folders(REPOSITORY, "", has_root_folder=False)


def stored_folder(path: str) -> ManagedObject:
    """Return the folder of a directory, as a sync stores it."""
    *parent_names, name = path.split("/")
    parent_directory = "".join(f"{parent_name}/" for parent_name in parent_names)
    return ManagedObject(folder_key(folder_name(REPOSITORY, path)), path=path, folder=FOLDERS.name(parent_directory), title=name)


def stored_dashboard(path: str, checksum: str = "old") -> ManagedObject:
    """Return the dashboard of a file, as a sync stores it."""
    parent, slash, _ = path.rpartition("/")
    folder = FOLDERS.name(f"{parent}{slash}")
    return ManagedObject(dashboard_key(path.replace("/", "-")), path=path, checksum=checksum, folder=folder)


def folder_changes(scan: Scan, *managed: ManagedObject) -> tuple[list[str], list[str]]:
    """Return the directories whose folders are written, and the paths of the objects that are deleted."""
    prepared = [PreparedFile(file.path, file.checksum, dashboard_key(file.path), file.stored_objects, ticket=0) for file in scan.candidates]
    scan.directories.update(directory for file in prepared for directory in paths.directories(file.path))
    plan = make_plan(scan, prepared, managed, {}, FOLDERS)
    return plan.directories, [item.path for item in plan.removals]


def test_only_files_with_another_checksum_are_read() -> None:
    """A file with the stored checksum ``old`` is not read. New and changed files are read, the deepest first."""
    scan = scan_entries(
        [Entry("b.json", "x"), Entry("same.json", "old"), Entry("a/deep.yaml", "x"), Entry("new.yml", "x")],
        [stored_dashboard("same.json"), stored_dashboard("b.json")],
        FOLDERS,
    )
    assert [(file.path, bool(file.stored_objects)) for file in scan.candidates] == [
        ("a/deep.yaml", False),
        ("b.json", True),
        ("new.yml", False),
    ]
    assert [item.path for item in scan.unchanged] == ["same.json"]


def test_object_in_another_folder_is_read_again() -> None:
    """An unchanged file whose object is in the wrong folder counts as changed."""
    misplaced = ManagedObject(dashboard_key("x"), path="a/x.json", checksum="old", folder="elsewhere")
    (candidate,) = scan_entries([Entry("a/x.json", "old")], [misplaced], FOLDERS).candidates
    assert candidate.path == "a/x.json"


def test_a_path_with_two_objects_is_read_again() -> None:
    """The file of a path with two objects is read again, because only the file can decide which object is current."""
    two_objects = [stored_dashboard("a.json"), ManagedObject(dashboard_key("copy"), path="a.json", checksum="old")]
    (candidate,) = scan_entries([Entry("a.json", "old")], two_objects, FOLDERS).candidates
    assert len(candidate.stored_objects) == 2


def test_only_the_root_folder_may_have_an_empty_path() -> None:
    """Only the root folder may have an empty path."""
    with pytest.raises(Invalid, match="empty path on a non folder"):
        scan_entries([], [ManagedObject(dashboard_key("x"), "")], FOLDERS)
    assert scan_entries([], [ManagedObject(folder_key(REPOSITORY), "")], FOLDERS).faults == []


@pytest.mark.parametrize(
    ("entries", "folders"),
    [
        pytest.param([Entry("a/b/c.json", "x")], ["a/", "a/b/"], id="nested"),
        pytest.param([Entry("a b/c#d (e)/x.yml", "x")], ["a b/", "a b/c#d (e)/"], id="special characters"),
        pytest.param([Entry("a/b/c.md"), Entry("a/"), Entry("b/")], [], id="no resource"),
        pytest.param([Entry("one/two/.hidden/x.json"), Entry("one/.gitkeep")], [], id="hidden"),
        pytest.param([Entry("a/.keep")], [], id="placeholder"),
        pytest.param([Entry("a/x.json", fault="a symbolic link")], [], id="fault"),
        pytest.param([Entry("/".join("abcdefghijklmnop") + "/")], [], id="deep and empty"),
        pytest.param([Entry(".hidden/x.json"), Entry("README.md")], [], id="hidden at the root"),
    ],
)
def test_directories_with_resources_get_a_folder(entries: list[Entry], folders: list[str]) -> None:
    """A directory gets a folder if a resource is in it or below it. The folder of the directory above is created first."""
    written, deleted = folder_changes(scan_entries(entries, [], FOLDERS))
    assert written == folders
    assert deleted == []


def test_a_folder_is_kept_with_its_directory() -> None:
    """A folder is kept if its directory contains files of any type. Folders of other directories are deleted, the deepest first."""
    managed = [stored_folder(path) for path in ("doc", "hid", "odd", "gone", "gone/deep", "doc/gone")]
    scan = scan_entries([Entry("doc/a.md"), Entry("hid/"), Entry("hid/.keep"), Entry("odd/a%2e.json")], managed, FOLDERS)
    written, deleted = folder_changes(scan, *managed)
    assert written == []
    assert deleted == ["doc/gone", "gone/deep", "gone"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a\\b.json", "path contains invalid characters"),
        ("a\tb.yml", "path contains invalid characters"),
        ("a%2Eb/x.json", "path contains %2E"),
        ("../x.json", "path contains traversal"),
    ],
)
def test_an_unsafe_path_is_a_separate_error(path: str, message: str) -> None:
    """A file with an unsafe path is a fault with its path and the reason. Other files are read."""
    scan = scan_entries([Entry(path, "x"), Entry("good.json", "x")], [], FOLDERS)
    (fault,) = scan.faults
    assert fault.path == path
    assert fault.message.startswith(message)
    assert [file.path for file in scan.candidates] == ["good.json"]


def test_an_unsafe_file_without_a_resource_is_ignored() -> None:
    """An unsafe path of a file that is not a resource is ignored, because the file is not synced anyway."""
    assert scan_entries([Entry("notes\\1.txt"), Entry("odd%2e/")], [], FOLDERS).faults == []


def test_a_rejected_entry_keeps_its_objects() -> None:
    """The stored objects of an entry that cannot be read are kept."""
    (fault,) = scan_entries([Entry("a.json", fault="a symbolic link")], [stored_dashboard("a.json")], FOLDERS).faults
    assert fault.message == "a symbolic link"
    assert [item.path for item in fault.stored_objects] == ["a.json"]


@pytest.mark.parametrize("entry", [Entry("a/b/", fault="locked"), Entry("a/b", fault="a symbolic link")])
def test_directory_that_cannot_be_read_keeps_all_objects_below_it(entry: Entry) -> None:
    """Unseen files are not deleted: dashboards and folders below are kept, even if a link replaced the directory."""
    managed = [stored_folder(path) for path in ("a", "a/b", "a/b/c", "a/bc")] + [
        stored_dashboard("a/b/c/x.json"),
        stored_dashboard("a/b/y.json"),
        stored_dashboard("a/z.json"),
    ]
    scan = scan_entries([entry], managed, FOLDERS)
    (fault,) = scan.faults
    assert fault.path == entry.path
    assert fault.message == entry.fault
    assert {item.path for item in fault.stored_objects} == {"a/b/c/x.json", "a/b/y.json"}
    _, deleted = folder_changes(scan, *managed)
    assert deleted == ["a/z.json", "a/bc"]


def test_a_new_unreadable_directory_is_an_error() -> None:
    """An unreadable directory does not count as empty."""
    (fault,) = scan_entries([Entry("new/"), Entry("new/", fault="locked")], [], FOLDERS).faults
    assert fault.path == "new/"


def test_a_refused_entry_that_is_not_a_resource_is_ignored() -> None:
    """A link next to the dashboards is treated like any file that is not synced."""
    scan = scan_entries([Entry("README.md", fault="a symbolic link")], [], FOLDERS)
    assert scan.faults == []
    assert scan.ignored == []


def test_a_submodule_is_left_out_with_a_warning() -> None:
    """A submodule is left out with a warning, unless objects were stored from the directory that it replaced."""
    submodule = Entry("vendor", fault="a submodule", is_submodule=True)
    scan = scan_entries([submodule], [], FOLDERS)
    assert scan.faults == []
    assert scan.ignored == [IgnoredFile("vendor", remark="a submodule")]
    scan = scan_entries([submodule], [stored_dashboard("vendor/a.json")], FOLDERS)
    assert [fault.path for fault in scan.faults] == ["vendor"]
    assert scan.ignored == []

"""The paths of exported objects: every title has a path that a sync reads, and no two objects share one."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.jobs_worker.domain.export import Directories, ExportItem, candidate_paths, choose_path, may_replace, path_fault, slug
from dashwright.jobs_worker.domain.objects import Key

TITLES = st.one_of(
    st.text(max_size=8), st.sampled_from(["A", "a", "A/B", "a-b", ".git", "..", "CON", "x" * 5000, "\u00e9", "e\u0301", "📈", "a.json"])
)


def folder(name: str, title: str, parent: str = "") -> ExportItem:
    """Return a folder to export, in the folder ``parent``."""
    return ExportItem(Key(FOLDER.group, FOLDER.plural, name), name, 1, title, parent)


#: Function that returns why an export does not use a path, or an empty string.
fault_of_path = partial(path_fault, max_folder_depth=8)


def is_free(path: str) -> bool:
    """Return True: no path has a file of another object."""
    return True


def dashboard(name: str, title: str, parent: str = "") -> ExportItem:
    """Return a dashboard to export, in the folder ``parent``."""
    return ExportItem(Key(DASHBOARD.group, DASHBOARD.plural, name), name, 1, title, parent)


@given(st.lists(st.tuples(TITLES, st.integers(0, 5)), max_size=6), st.lists(st.tuples(TITLES, st.integers(0, 6)), max_size=8))
def test_no_two_objects_share_a_path(folder_data: list[tuple[str, int]], dashboard_data: list[tuple[str, int]]) -> None:
    """Paths of folders and dashboards of any titles differ, also without regard to case."""
    folders: list[ExportItem] = []
    for index, (title, parent_number) in enumerate(folder_data):
        # The parent of a folder is an earlier folder or the root.
        parent = f"f{parent_number % index}" if index and parent_number else ""
        folders.append(folder(f"f{index}", title, parent))
    directories = Directories(folders, "")
    chosen_paths = [directories.path(item.key.name) or "" for item in folders]
    used_paths: set[str] = set()
    for index, (title, parent_number) in enumerate(dashboard_data):
        # Two names at a time differ only in case.
        name = f"n{index // 2}" if index % 2 == 0 else f"N{index // 2}"
        parent = f"f{parent_number % len(folders)}" if folders and parent_number else ""
        item = dashboard(name, title, parent)
        chosen_paths.append(choose_path(item, directories.path(item.folder) or "", used_paths, is_free, fault_of_path))
    assert len({path.casefold() for path in chosen_paths}) == len(chosen_paths)
    for path in chosen_paths:
        # A directory is checked by a file in it.
        file = path if path.endswith(".json") else f"{path}x.json"
        assert fault_of_path(file) == ""


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Test dashboard. Created at v2", "test-dashboard-created-at-v2"),
        ("Größe der Äpfel_2", "größe-der-äpfel-2"),
        ("日本 語", "日本-語"),
        ("../../etc/passwd", "etc-passwd"),
        ("📈 ***", ""),
        # 120 bytes in UTF-8.
        ("é" * 100, "é" * 60),
    ],
)
def test_a_slug_is_the_readable_part_of_a_title(title: str, expected: str) -> None:
    """A slug has the letters and digits of a title in lower case, joined by hyphens, and at most 120 bytes."""
    assert slug(title) == expected


def test_the_oldest_of_objects_with_one_title_has_the_plain_path() -> None:
    """The first of several objects with one title has the path without a suffix.

    The path of another object ends with its name or, if the path with the name is used, with a digest.
    """
    used_paths: set[str] = set()
    first, second, third = (choose_path(dashboard(name, "CPU"), "", used_paths, is_free, fault_of_path) for name in ("b", "a", "A"))
    assert first == "cpu.json"
    assert second == "cpu-a.json"
    # The name A differs from a only in case, so the path ends with a digest of 16 characters.
    assert third.startswith("cpu-")
    assert len(third) == len("cpu-.json") + 16


def test_a_dashboard_without_a_slug_has_a_file_named_by_its_name() -> None:
    assert next(candidate_paths(dashboard("abc", "***"), "d/")) == "d/abc.json"


def test_paths_of_other_files_are_not_used() -> None:
    """An object for which no path is free is not exported."""
    with pytest.raises(BadRequest, match="other files are at its path"):
        choose_path(dashboard("a", "A"), "", set(), lambda _: False, fault_of_path)


def test_a_folder_without_a_path_has_no_directory() -> None:
    """A folder whose parent is deleted, or which is its own ancestor, has no directory."""
    directories = Directories([folder("a", "A", "gone"), folder("b", "B", "c"), folder("c", "C", "b")], "")
    # The last folder does not exist.
    for name in ("a", "b", "c", "none"):
        assert directories.path(name) is None
    assert directories.path("") == ""


@pytest.mark.parametrize(
    ("tree", "is_replaced"),
    [
        pytest.param(
            {"apiVersion": "dashboard.grafana.app/v1", "kind": "Dashboard", "metadata": {"name": "a"}, "spec": {}}, True, id="same name"
        ),
        pytest.param(
            {"apiVersion": "dashboard.grafana.app/v1", "kind": "Dashboard", "metadata": {"name": "b"}, "spec": {}}, False, id="another name"
        ),
        pytest.param({"apiVersion": "dashboard.grafana.app/v1", "kind": "Dashboard", "spec": {}}, True, id="earlier export without a name"),
        pytest.param(
            {"apiVersion": "dashboard.grafana.app/v1", "kind": "Dashboard", "metadata": ["a"], "spec": {}}, False, id="invalid metadata"
        ),
        pytest.param({"uid": "a", "panels": []}, True, id="same uid"),
        pytest.param({"uid": "b", "panels": []}, False, id="another uid"),
        pytest.param({"panels": []}, False, id="no uid"),
        pytest.param(
            {"apiVersion": "dashboard.grafana.app/v1", "kind": "Dashboard", "metadata": {"labels": {"a": "b"}}, "spec": {}},
            False,
            id="labels without a name",
        ),
        pytest.param({"apiVersion": "v1", "kind": "ConfigMap"}, False, id="another kind"),
        pytest.param({"something": "else"}, False, id="another program"),
        pytest.param([], False, id="no object"),
    ],
)
def test_files_of_other_objects_are_not_replaced(tree: object, *, is_replaced: bool) -> None:
    """An export replaces only files of the exported objects.

    A file without a name that is not an earlier export was written by a user, and is kept.
    """
    assert may_replace(json.dumps(tree).encode(), dashboard("a", "A").key) is is_replaced
    assert not may_replace(b"{", dashboard("a", "A").key)

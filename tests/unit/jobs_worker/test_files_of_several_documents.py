"""YAML files of several documents: each document is a resource of its own."""

import re
import time
from itertools import pairwise

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.jobs_worker import revisions
from tests.unit.jobs_worker.doubles import MemoryCheckout, Revision, Store, dashboard_file, dashboard_key, run_sync
from tests.unit.jobs_worker.revisions import Files

from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID, SOURCE_PATH
from dashwright.common.models.provisioning import State
from dashwright.jobs_worker.domain.objects import Key
from dashwright.jobs_worker.domain.yaml_documents import MAX_DOCUMENTS, split_documents

INCREMENTAL_OR_FULL = pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "full"])
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
TEMPLATE = "kind: {{ .Values.kind }}\n"


def resource_text(name: str, title: str = "T", version: str = "v1beta1") -> str:
    """Return a dashboard as a document of seven lines. The document after it and a marker begins at line 9."""
    return f"""\
apiVersion: dashboard.grafana.app/{version}
kind: Dashboard
metadata:
  name: {name}
spec:
  title: {title}
  panels: []
"""


def join_documents(*documents: str) -> bytes:
    """Return a file with several documents."""
    return "---\n".join(documents).encode()


async def sync_revision(store: Store, number: int, files: Files, before: Files, *, incremental: bool) -> tuple[State, list[str]]:
    """Sync a revision and return the state and errors of the job."""
    progress = await run_sync(Revision(number, files, before), store, since=store.commit if incremental else "")
    return progress.outcome[0], progress.errors


def stored_titles(store: Store) -> dict[str, str]:
    """Return the titles of the stored dashboards by name."""
    return {key.name: write.extract.title for key, write in store.objects.items() if key.resource == "dashboards"}


async def test_each_document_is_stored() -> None:
    """Documents in every form are stored from one file; empty ones and those of other programs are not."""
    store = Store()
    body = join_documents(
        "# a comment\n", resource_text("a"), SERVICE, "uid: b\ntitle: B\npanels: []\n", "\n", resource_text("c", version="v0alpha1")
    )
    progress = await run_sync({"web/all.yaml": body}, store)
    assert progress.outcome[0] is State.SUCCESS
    assert stored_titles(store) == {"a": "T", "b": "B", "c": "T"}
    writes = [write for key, write in store.objects.items() if key.resource == "dashboards"]
    assert {write.annotations[SOURCE_PATH] for write in writes} == {"web/all.yaml"}
    assert len({write.folder for write in writes}) == 1
    unchanged_tree = MemoryCheckout({"web/all.yaml": body})
    assert (await run_sync(unchanged_tree, store)).final_message == "no changes to sync"
    assert unchanged_tree.reads == []


@INCREMENTAL_OR_FULL
async def test_documents_are_added_changed_and_removed(*, incremental: bool) -> None:
    """A removed document deletes its object, a new one creates one, and the others are kept; a move keeps all."""
    history = [
        {"x.yaml": join_documents(resource_text("a"), resource_text("b"), resource_text("c"))},
        {"x.yaml": join_documents(resource_text("d"), resource_text("c", "New"), resource_text("a"))},
        {"x.yaml": join_documents(resource_text("a"))},
        {"y/z.yml": join_documents(resource_text("a"), resource_text("b"))},
        {"y/z.yml": join_documents(resource_text("b")), "y/a.json": dashboard_file("a", "Own file")},
    ]
    expected = [
        {"a": "T", "b": "T", "c": "T"},
        {"d": "T", "c": "New", "a": "T"},
        {"a": "T"},
        {"a": "T", "b": "T"},
        {"b": "T", "a": "Own file"},
    ]
    store = Store()
    before: Files = {}
    for index, (files, titles) in enumerate(zip(history, expected, strict=True)):
        assert await sync_revision(store, index, files, before, incremental=incremental) == (State.SUCCESS, [])
        assert stored_titles(store) == titles
        before = files


@INCREMENTAL_OR_FULL
async def test_an_invalid_document_does_not_affect_the_others(*, incremental: bool) -> None:
    """The error of a document names its position and line. Its object is kept and the error repeated until the document is corrected."""
    valid_files = {"x.yaml": join_documents(resource_text("a"), resource_text("b"), resource_text("c"))}
    files_with_fault = {
        "x.yaml": join_documents(resource_text("a", "New"), resource_text("b").replace("title: T", "title: ''"), resource_text("c", "New"))
    }
    store = Store()
    await sync_revision(store, 0, valid_files, {}, incremental=incremental)
    state, errors = await sync_revision(store, 1, files_with_fault, valid_files, incremental=incremental)
    assert state is State.ERROR
    assert errors == ["document 2 at line 9: Dashboard title cannot be empty (file: x.yaml, action: update)"]
    assert stored_titles(store) == {"a": "New", "b": "T", "c": "New"}
    with_other_file = {**files_with_fault, "o.json": dashboard_file("o")}
    assert await sync_revision(store, 2, with_other_file, files_with_fault, incremental=incremental) == (state, errors)
    assert await sync_revision(store, 3, valid_files, with_other_file, incremental=incremental) == (State.SUCCESS, [])
    assert stored_titles(store) == {"a": "T", "b": "T", "c": "T"}
    assert store.quarantine == {}


async def test_a_syntax_error_names_the_line_of_the_file() -> None:
    """The line of a syntax error is counted from the beginning of the file, not of the document."""
    progress = await run_sync({"x.yaml": join_documents(resource_text("a"), "panels:\n  - a: [\n")}, Store())
    (error,) = progress.errors
    assert error.startswith("document 2 at line 9: not valid YAML:")
    # Line 10 or 11 of the file, which is line 2 or 3 of the document.
    assert re.search(r"YAML.* line 1[01]\b", error, re.DOTALL)


FAULTS = {
    "no name": (
        join_documents(resource_text("a"), resource_text("x").replace("  name: x\n", "  labels: {}\n")),
        "metadata.name is missing: each document",
    ),
    "one name twice": (join_documents(resource_text("a"), resource_text("a", "Other")), "duplicate resource name: a, twice in x.yaml"),
    "not a dashboard": (join_documents(resource_text("a"), "kind: Dashboard\n"), "apiVersion and kind must both be strings"),
    "a dashboard with a merge key": (join_documents(resource_text("a"), "<<: {}\npanels: []\n"), "merge keys"),
    "a name of another repository": (join_documents(resource_text("a"), resource_text("unrelated")), "managed by repo 'others'"),
}


@INCREMENTAL_OR_FULL
@pytest.mark.parametrize(("body", "reason"), FAULTS.values(), ids=FAULTS)
async def test_the_fault_of_a_document_is_repeated(body: bytes, reason: str, *, incremental: bool) -> None:
    """The valid document of a file is stored. Each sync reports the fault of the other document, even if the file has not changed."""
    store, files = Store(), {"x.yaml": body}
    store.store_unrelated("unrelated", {MANAGED_BY: "repo", MANAGER_ID: "others"})
    _, first_errors = await sync_revision(store, 0, files, {}, incremental=incremental)
    (first_error,) = first_errors
    assert reason in first_error
    assert store.objects[dashboard_key("a")].extract.title == "T"
    _, second_errors = await sync_revision(store, 1, {**files, "o.json": dashboard_file("o")}, files, incremental=incremental)
    (second_error,) = second_errors
    # Only the text before the file is equal: the second action may be an update of the object that the first sync has created.
    assert second_error.partition(" (file: ")[0] == first_error.partition(" (file: ")[0]
    assert list(store.quarantine) == ["x.yaml"]


async def test_a_refused_document_is_stored_when_its_name_is_free() -> None:
    """A document that is refused because of another object is stored as soon as the name is free, although the file has not changed."""
    store = Store()
    files = {"x.yaml": join_documents(resource_text("a"), resource_text("unrelated", "New"))}
    store.store_unrelated("unrelated")
    await sync_revision(store, 0, files, {}, incremental=True)
    del store.objects[dashboard_key("unrelated")]
    assert await sync_revision(store, 1, files, files, incremental=True) == (State.SUCCESS, [])
    assert stored_titles(store) == {"a": "T", "unrelated": "New"}


async def test_a_copy_of_a_file_of_several_documents_is_a_warning() -> None:
    """A copy of a file is a warning. It replaces the original when the original is deleted."""
    body = join_documents(resource_text("a"), resource_text("b"))
    store = Store()
    both_files = {"1/x.yaml": body, "2/x.yaml": body}
    progress = await run_sync(Revision(0, both_files, {}), store)
    assert progress.errors == []
    assert store.quarantine["2/x.yaml"].is_copy is True
    remaining_files = {"2/x.yaml": body}
    assert await sync_revision(store, 1, remaining_files, both_files, incremental=True) == (State.SUCCESS, [])
    assert {write.annotations[SOURCE_PATH] for key, write in store.objects.items() if key.resource == "dashboards"} == {"2/x.yaml"}


async def test_a_file_that_lost_all_of_its_documents_is_an_error() -> None:
    """A file that lost all of its documents keeps its objects, because it may have been truncated by mistake."""
    store = Store()
    files = {"x.yaml": join_documents(resource_text("a"), resource_text("b"))}
    await sync_revision(store, 0, files, {}, incremental=True)
    state, errors = await sync_revision(store, 1, {"x.yaml": join_documents(SERVICE, SERVICE)}, files, incremental=True)
    assert state is State.ERROR
    assert "delete the file" in errors[0]
    assert stored_titles(store) == {"a": "T", "b": "T"}


async def test_an_object_is_kept_while_its_file_has_a_name_twice() -> None:
    """If two documents have one new name, either may be the renamed one, so the object of the old name is kept.

    A repeated sync of the file changes nothing.
    """
    store = Store()
    first = {"x.yaml": join_documents(resource_text("a"))}
    second = {"x.yaml": join_documents(resource_text("b"), resource_text("b", "Copy"))}
    await sync_revision(store, 0, first, {}, incremental=True)
    for number, before in ((1, first), (2, second)):
        await sync_revision(store, number, second, before, incremental=False)
        assert stored_titles(store) == {"a": "T", "b": "T"}
        assert len(store.applied) == 2


async def test_templates_and_manifests_are_ignored() -> None:
    """A file whose documents hold no dashboard has no error."""
    progress = await run_sync(
        {"x.yaml": join_documents(SERVICE, TEMPLATE), "y.yaml": join_documents(SERVICE, "a: &a {}\nb: {<<: *a}\n")}, Store()
    )
    assert progress.errors == []
    assert progress.summary()[0].ignored == 2


@pytest.mark.exhaustive
async def test_the_number_of_documents_is_limited() -> None:
    """A file of 1,000 documents is stored, one of more is refused as a whole; both are read in linear time."""
    store = Store()
    documents = [resource_text(f"n{index}") for index in range(MAX_DOCUMENTS)]
    started = time.process_time()
    assert (await run_sync({"x.yaml": join_documents(*documents)}, store)).error_count == 0
    assert len(stored_titles(store)) == MAX_DOCUMENTS
    progress = await run_sync({"x.yaml": join_documents(*documents, resource_text("more"))}, Store())
    assert progress.errors == ["more than 1000 documents in one file: split the file (file: x.yaml, action: create)"]
    broken = "\n" * 1_000_000 + "---\n".join(["panels: [\n"] * MAX_DOCUMENTS)
    progress = await run_sync({"x.yaml": broken.encode()}, Store())
    # Five of the 1,000 faulty documents are named.
    assert progress.errors[0].endswith("and 995 more documents (file: x.yaml, action: create)")
    # In quadratic time, the last file alone would take minutes.
    assert time.process_time() - started < 30


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("a: 1\n", ["a: 1"]),
        ("---\na: 1\n---\n", ["a: 1"]),
        ("%YAML 1.2\n---\na: 1\n...\n# end\n---\nb: 2", ["a: 1", "b: 2"]),
        ("a: |\n  ---\n  x\n--- {b: 1}\n--- # note\n\nc: 1\n", ["a: |\n  ---\n  x", "{b: 1}", "# note\n\nc: 1"]),
        ("# ---- a line\n---\r\na: 1\r\n---\r\nb: 1\r\n", ["a: 1", "b: 1"]),
        ("a: ---b\n----\n", ["a: ---b\n----"]),
    ],
)
def test_documents_are_separated_as_in_yaml(text: str, contents: list[str]) -> None:
    """Only a marker at the beginning of a line separates documents; those without content are left out."""
    assert [document.content(text).strip() for document in split_documents(text)] == contents


PARTS = st.sampled_from(["a: 1\n", "- x\n- y\n", "b: |\n  ---\n  c\n", "'q\n\n ---r'\n", "# c\n", "\n", "{a: [1, 2]}\n", "...\n"])


@given(st.lists(PARTS, max_size=8))
@settings(max_examples=300)
def test_the_documents_are_those_of_another_parser(parts: list[str]) -> None:
    """The documents of a text have the same values as those that PyYAML reads from the whole text."""
    text = "---\n".join(parts)
    try:
        expected = [value for value in yaml.safe_load_all(text) if value is not None]
    except yaml.YAMLError:
        return
    assert [yaml.safe_load(document.content(text)) for document in split_documents(text)] == expected


DOCUMENTS = st.lists(
    st.one_of(
        st.builds(resource_text, st.sampled_from(["n1", "n2", "n3", "n4", "n5"]), st.sampled_from(["T", "U"])),
        st.sampled_from([SERVICE, "kind: Dashboard\n", "# none\n"]),
    ),
    min_size=1,
    max_size=4,
).map(lambda documents: join_documents(*documents))


@pytest.mark.exhaustive
@given(revisions.histories(st.one_of(revisions.VALID_DASHBOARDS, revisions.BROKEN_FILES), with_odd_names=False), st.data())
@settings(max_examples=150, deadline=None)
async def test_incremental_and_full_syncs_are_equal(history: list[Files], data: st.DataObject) -> None:
    """Incremental syncs result in the objects, quarantine and errors of full syncs, and a further full sync writes nothing."""
    names = st.sampled_from(["m.yaml", "a/m.yaml", "a/b/m.yml", "d/m.yaml"])
    complete_files: list[Files] = []
    for files in history:
        drawn_files = data.draw(st.dictionaries(names, DOCUMENTS, max_size=3))
        complete_files.append({**files, **{path: body for path, body in drawn_files.items() if _fits(path, files)}})
    store, full = Store(), Store()
    for index, (before, files) in enumerate(pairwise([{}, *complete_files])):
        progress = await run_sync(Revision(index, files, before), store, since=store.commit)
        expected = await run_sync(Revision(index, files, before), full)
        assert _bodies(store) == _bodies(full)
        assert store.quarantine == full.quarantine
        assert sorted(progress.errors) == sorted(expected.errors)
    applied = len(full.applied)
    await run_sync(Revision(len(complete_files), complete_files[-1], {}), full)
    assert len(full.applied) == applied


def _fits(path: str, files: Files) -> bool:
    """Return whether a file can be at the path, because each directory above it is not a file."""
    return not any(path.startswith(f"{other}/") for other in files)


def _bodies(store: Store) -> dict[Key, tuple[object, ...]]:
    """Return the content of all stored objects by key, whether they were created or replaced."""
    return {key: (write.spec, write.folder, dict(write.annotations), write.version) for key, write in store.objects.items()}

"""Properties of the sync for any tree and any sequence of edits."""

import random
import re

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.jobs_worker.doubles import Store, dashboard_file, run_sync

from dashwright.common.jobs import paths
from dashwright.common.models.provisioning import SyncTarget

pytestmark = pytest.mark.exhaustive

DIRECTORIES = st.sampled_from(["", "a/", "a/b/", "c/", "a b/", ".hidden/", "c/.git/", "bad%2f/"])
FILES = st.sampled_from(["1.json", "2.json", "3.yaml", "x.md", ".keep", ".dot.json", "odd\\.json"])
NAMES = st.sampled_from(["n1", "n2", "n3", "n4", ""])
BODIES = st.one_of(
    st.builds(lambda name, title: orjson.dumps({"uid": name, "title": title, "panels": []}), NAMES, st.sampled_from(["T", "U", "V"])),
    st.sampled_from([b"{", b'{"kind": "Dashboard"}', b"", b"[]"]),
)
TREES = st.dictionaries(st.tuples(DIRECTORIES, FILES).map("".join), BODIES, max_size=10)
TREES_WITH_UNIQUE_NAMES = st.dictionaries(
    st.builds(lambda directory, index: f"{directory}{index}.json", st.sampled_from(["", "a/", "a/b/", "c/d/e/"]), st.integers(0, 9)),
    st.sampled_from(["T", "U", "V"]),
    max_size=10,
).map(lambda titles: {path: dashboard_file(path.replace("/", "_").replace(".", "-"), title) for path, title in titles.items()})
TARGETS = st.sampled_from(list(SyncTarget))


@given(st.lists(TREES_WITH_UNIQUE_NAMES, min_size=1, max_size=4), TARGETS)
@settings(max_examples=60, deadline=None)
async def test_the_stored_objects_equal_the_tree(trees: list[dict[str, bytes]], target: SyncTarget) -> None:
    """After a sync of valid files with unique names, the stored titles and folders are those of the tree.

    Objects that earlier syncs stored do not matter.
    """
    store = Store()
    for tree in trees:
        progress = await run_sync(tree, store, target=target)
        assert progress.error_count == 0
    last = trees[-1]
    assert {path: write.extract.title for path, write in store.dashboards().items()} == {
        path: orjson.loads(body)["title"] for path, body in last.items()
    }
    directories = {directory.rstrip("/") for path in last for directory in paths.directories(path)}
    # The root folder has an empty path.
    if target is SyncTarget.FOLDER:
        directories.add("")
    assert set(store.folders()) == directories


@given(st.lists(TREES, min_size=1, max_size=4), TARGETS)
@settings(max_examples=100, deadline=None)
async def test_second_sync_has_nothing_to_do(trees: list[dict[str, bytes]], target: SyncTarget) -> None:
    """A second sync of any tree, even with broken, duplicate and unsafe files, applies nothing and finds the same errors."""
    store = Store()
    for tree in trees:
        progress = await run_sync(tree, store, target=target)
    applied_count = len(store.applied)
    repeated = await run_sync(trees[-1], store, target=target)
    assert len(store.applied) == applied_count
    assert repeated.error_count == progress.error_count


@given(st.lists(TREES, min_size=1, max_size=3), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
async def test_order_of_entries_does_not_matter(trees: list[dict[str, bytes]], shuffler: random.Random) -> None:
    """Two syncs of the same files, listed in another order, make the same changes and have the same results."""
    store, store_of_shuffled = Store(), Store()
    for tree in trees:
        shuffled = list(tree.items())
        shuffler.shuffle(shuffled)
        progress = await run_sync(tree, store)
        progress_of_shuffled = await run_sync(dict(shuffled), store_of_shuffled)
    assert store.objects == store_of_shuffled.objects
    assert store.applied == store_of_shuffled.applied
    assert progress == progress_of_shuffled


@given(TREES, TREES)
@settings(max_examples=60, deadline=None)
async def test_the_object_of_a_rejected_file_is_kept(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """A stored object is kept while its file is rejected, and no object remains without its file."""
    store = Store()
    await run_sync(before, store)
    stored = store.dashboards()
    progress = await run_sync(after, store)
    for path in stored.keys() & {_path_of_error(error) for error in progress.errors}:
        assert store.dashboards()[path] == stored[path]
    assert store.dashboards().keys() <= after.keys()


def _path_of_error(error: str) -> str:
    """Return the path that an error is about."""
    match = re.match(r"duplicate resource name: \S+, (.+) and ", error) or re.search(r" \(file: (.+?), ", error)
    assert match, error
    return match[1]

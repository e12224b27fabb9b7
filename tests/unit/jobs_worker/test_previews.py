"""Previews of syncs: they describe exactly what the sync then does, and write nothing."""

from itertools import pairwise
from typing import Any

import jsonpatch
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.jobs_worker import revisions
from tests.unit.jobs_worker.doubles import (
    MemoryCheckout,
    Revision,
    Store,
    dashboard_file,
    document,
    folder_key,
    run_preview,
    run_sync,
)
from tests.unit.jobs_worker.revisions import Files

from dashwright.common.json_documents import write_json
from dashwright.common.kinds.annotations import MANAGED_BY, MANAGER_ID, SOURCE_CHECKSUM, SOURCE_PATH
from dashwright.common.models.provisioning import SyncTarget
from dashwright.common.models.repository_views import PlannedChange
from dashwright.jobs_worker.actions import preview as previews
from dashwright.jobs_worker.domain import json_patch
from dashwright.jobs_worker.domain.objects import Change, Key, Removal, Write

pytestmark = pytest.mark.exhaustive

MANAGER_ANNOTATIONS = {MANAGED_BY, MANAGER_ID, SOURCE_PATH, SOURCE_CHECKSUM}


def key_of_change(item: PlannedChange) -> Key:
    """Return the key of a changed object."""
    return Key(item.group, item.resource, item.name)


def action_of(change: Change) -> str:
    """Return the action that a preview has for a change."""
    if isinstance(change, Removal):
        return "delete"
    return "create" if change.is_new else "update"


def object_of(write: Write) -> dict[str, Any]:
    """Return an object as clients see it, without the annotations of its manager."""
    stored = document(write)
    annotations = {name: text for name, text in stored.annotations.items() if name not in MANAGER_ANNOTATIONS}
    metadata = {"labels": dict(stored.labels), "annotations": annotations}
    return {"apiVersion": stored.api_version, "metadata": metadata, "spec": orjson.loads(stored.spec)}


@given(
    # One of ten files is broken.
    revisions.histories(st.one_of(*[revisions.VALID_DASHBOARDS] * 9, revisions.BROKEN_FILES), with_odd_names=True),
    st.sampled_from(list(SyncTarget)),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
async def test_a_sync_makes_the_changes_of_its_preview(history: list[Files], target: SyncTarget, incremental: bool) -> None:
    """A sync creates, changes, deletes and rejects what its preview listed, and each diff leads from the old object to the new one."""
    store = Store()
    for index, (before, files) in enumerate(pairwise([{}, *history])):
        old_objects = dict(store.objects)
        applied_count = len(store.applied)
        plan = await run_preview(Revision(index, files, before), store, target=target)
        # The preview writes nothing.
        assert store.objects == old_objects
        assert len(store.applied) == applied_count
        progress = await run_sync(Revision(index, files, before), store, target=target, title="The team")
        changes = [change for batch in store.applied[applied_count:] for change in batch]
        refused = [item for item in plan.items if item.action == "refuse"]
        planned = [item for item in plan.items if item.action != "refuse"]
        assert [(item.action.value, key_of_change(item)) for item in planned] == [(action_of(change), change.key) for change in changes]
        assert len(refused) == progress.error_count
        assert plan.summary == progress.summary()
        for item in plan.items:
            if item.diff is not None:
                assert item.action == "update"
                key = key_of_change(item)
                assert jsonpatch.apply_patch(object_of(old_objects[key]), item.diff) == object_of(store.objects[key])


async def test_a_change_has_name_path_title_and_folder() -> None:
    """Each change has name, path, title and folder; updates have a diff, and rejections a reason."""
    store = Store()
    before = {"a/1.json": dashboard_file("n1", "Old"), "a/2.json": dashboard_file("n2"), "3.json": dashboard_file("n3")}
    await run_sync(MemoryCheckout(before), store)
    folder = store.folders()["a"].key.name
    after = {"a/1.json": dashboard_file("n1", "New"), "3.json": b"{", "a/4.json": dashboard_file("n4", "Four")}
    plan = await run_preview(MemoryCheckout(after), store)
    refused, updated, created, deleted = (item.model_dump(mode="json", exclude_none=True) for item in plan.items)
    dashboards = {"group": "dashboard.grafana.app", "resource": "dashboards"}
    assert "not valid JSON" in refused.pop("message")
    assert refused == {**dashboards, "action": "refuse", "name": "", "path": "3.json"}
    diff = [{"op": "replace", "path": "/spec/title", "value": "New"}]
    assert updated == {**dashboards, "action": "update", "name": "n1", "path": "a/1.json", "folder": folder, "title": "New", "diff": diff}
    assert created == {**dashboards, "action": "create", "name": "n4", "path": "a/4.json", "folder": folder, "title": "Four"}
    assert deleted == {**dashboards, "action": "delete", "name": "n2", "path": "a/2.json", "folder": folder, "title": "A title"}


async def test_a_dashboard_that_moves_shows_its_folder() -> None:
    """The folder of a moved dashboard is an annotation, as clients know it. Annotations of the manager are hidden."""
    store = Store()
    await run_sync(MemoryCheckout({"a/1.json": dashboard_file("n1"), "b/2.json": dashboard_file("n2")}), store)
    plan = await run_preview(MemoryCheckout({"b/1.json": dashboard_file("n1"), "b/2.json": dashboard_file("n2")}), store)
    update = next(item for item in plan.items if item.action == "update")
    folder = store.folders()["b"].key.name
    assert update.diff == [{"op": "replace", "path": "/metadata/annotations/grafana.app~1folder", "value": folder}]


async def test_numbers_keep_their_digits() -> None:
    """The diff has the digits of the stored numbers."""
    store = Store()
    body = b'{"uid": "n1", "title": "T", "panels": [], "limit": %s}'
    await run_sync(MemoryCheckout({"1.json": body % b"1.10"}), store)
    plan = await run_preview(MemoryCheckout({"1.json": body % b"12345678901234567890123"}), store)
    assert write_json(plan.items[0].diff) == b'[{"op":"replace","path":"/spec/limit","value":12345678901234567890123}]'


async def test_changes_without_items_are_only_counted() -> None:
    """Without ``with_items``, changes are counted only. Their names, paths and diffs are omitted, and ``is_truncated`` is set."""
    store = Store()
    await run_sync(MemoryCheckout({"1.json": dashboard_file("n1", "Old")}), store)
    plan = await run_preview(MemoryCheckout({"1.json": dashboard_file("n1", "New")}), store, with_items=False)
    assert plan.items == []
    assert plan.is_truncated is True
    assert plan.summary[0].update == 1


async def test_the_reason_for_writing_nothing_is_reported() -> None:
    """If a quota is reached, the plan has the error and all changes.

    If the root folder is not of this repository, the plan has only the error.
    """
    store = Store(max_created=1)
    plan = await run_preview(MemoryCheckout({"1.json": dashboard_file("n1"), "2.json": dashboard_file("n2")}), store)
    assert plan.errors == ["too many"]
    assert len(plan.items) == 2
    store.store_unrelated("team-repo", folder=True)
    plan = await run_preview(MemoryCheckout({"1.json": dashboard_file("n1")}), store, target=SyncTarget.FOLDER)
    assert plan.items == []
    assert "rename the repository" in plan.errors[0]


async def test_items_and_diffs_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items above the limit are omitted, and the counts are complete. A message replaces each diff above a limit."""
    store = Store()
    names = [f"n{index}" for index in range(30)]
    await run_sync(MemoryCheckout({f"{name}.json": dashboard_file(name, "Old") for name in names}), store)
    changed = MemoryCheckout({f"{name}.json": dashboard_file(name, "New") for name in names})
    monkeypatch.setattr(previews, "MAX_ITEMS", 7)
    plan = await run_preview(changed, store)
    assert len(plan.items) == 7
    assert plan.is_truncated is True
    assert plan.summary[0].update == 30
    monkeypatch.setattr(previews, "MAX_ITEMS", 30)
    monkeypatch.setattr(previews, "MAX_TOTAL_DIFF_BYTES", 100)
    plan = await run_preview(changed, store)
    # The limit is checked before each batch of ten changes, and the first batch exceeds it.
    assert len(plan.items) == 30
    assert sum(item.diff is not None for item in plan.items) == 10
    assert "too many changes" in (plan.items[-1].message or "")
    monkeypatch.setattr(json_patch, "MAX_DIFF_BYTES", 10)
    assert "at most 10" in ((await run_preview(changed, store)).items[0].message or "")
    monkeypatch.setattr(json_patch, "MAX_COMPARED_BYTES", 10)
    assert "more than 10 bytes" in ((await run_preview(changed, store)).items[0].message or "")


async def test_long_lists_are_not_compared() -> None:
    """Long lists are not compared item by item: if all items differed, comparing would take minutes that cannot be interrupted."""
    store = Store()
    length = json_patch.MAX_COMPARED_ITEMS
    old_panel = {"tags": list(range(length))}
    new_panel = {"tags": list(range(1, length + 1))}
    old, new = (orjson.dumps({"uid": "n", "title": "T", "panels": [panel]}) for panel in (old_panel, new_panel))
    await run_sync(MemoryCheckout({"n.json": old}), store)
    (item,) = (await run_preview(MemoryCheckout({"n.json": new}), store)).items
    assert item.diff is None
    assert item.message == f"not compared: the lists of the object have more than {length} items"


async def test_the_folder_of_the_repository_is_reported() -> None:
    """The folder of the repository is listed without a path. The summary does not count it, as in the status of a job."""
    plan = await run_preview(MemoryCheckout({}), Store(), target=SyncTarget.FOLDER)
    assert [(item.action.value, key_of_change(item), item.path) for item in plan.items] == [("create", folder_key("team-repo"), "")]
    assert plan.summary == []

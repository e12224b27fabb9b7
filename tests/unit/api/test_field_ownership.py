"""Owners of fields after updates and applies."""

from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.api.test_field_sets import SETS, TREES

from dashwright.api.domain.fields.managers import (
    ANCIENT_CHANGES,
    MAX_APPLIERS,
    MAX_ENTRIES,
    MAX_ENTRY_LENGTH,
    MAX_UPDATERS,
    ManagedFieldsEntry,
    is_same_ownership,
    limit_entries,
    managed_fields_json,
    parse_managed_fields,
)
from dashwright.api.domain.fields.ownership import ApplyResult, FieldManager, apply, settle, tracked_fields, update
from dashwright.api.domain.fields.sets import FieldSet, leaves, merge, paths, to_node, to_tree
from dashwright.common.errors import Conflict, TooLarge
from dashwright.common.json_documents import write_json

VERSION = "dashboard.grafana.app/v1beta1"


def _writer(manager: str, now: str = "2026-01-01T00:00:00Z") -> FieldManager:
    """Return a manager that writes at a time."""
    return FieldManager(manager, VERSION, now)


def _entry(manager: str, operation: Literal["Apply", "Update"], fields: FieldSet, *, time: str = "") -> ManagedFieldsEntry:
    """Return the entry of a manager that owns fields."""
    return ManagedFieldsEntry(manager=manager, operation=operation, version=VERSION, time=time, fields=fields)


def _fields_by_owner(entries: tuple[ManagedFieldsEntry, ...]) -> dict[str, list[str]]:
    """Return the paths of owned fields by manager and operation: ``a Apply``."""
    return {f"{entry.manager} {entry.operation}": list(paths(entry.fields)) for entry in entries if entry.fields}


def _apply_config(
    config: dict[str, Any], manager: str = "a", live: dict[str, Any] | None = None, entries: tuple[ManagedFieldsEntry, ...] = ()
) -> ApplyResult:
    """Return the result of a server-side apply to a live object, or to a missing one, without force."""
    return apply(live, config, entries, _writer(manager), SETS)


def test_the_creator_owns_the_object() -> None:
    """The creator of an object owns all of its fields, by update or apply."""
    assert _fields_by_owner(update({}, {"b": {"x": 1}, "c": [1]}, (), _writer("ui"))) == {"ui Update": [".b.x", ".c"]}
    assert _fields_by_owner(_apply_config({"b": {"x": 1}}).entries) == {"a Apply": [".b.x"]}


def test_an_update_owns_changed_fields() -> None:
    """The writer of an update becomes the owner of changed fields. Deleted fields have no owner, and the others keep theirs."""
    old, new = {"b": 1, "c": 2, "d": 3}, {"b": 9, "c": 2}
    created = update({}, old, (), _writer("a"))
    assert _fields_by_owner(update(old, new, created, _writer("b"))) == {"a Update": [".c"], "b Update": [".b"]}


def test_an_update_without_effect_owns_nothing() -> None:
    """A write that changes nothing leaves all entries unchanged, including their times."""
    created = update({}, {"b": 1}, (), _writer("a"))
    # The numbers 1 and 1.0 are equal, so the second write changes nothing.
    later = settle(update({"b": 1}, {"b": 1.0}, created, _writer("b", "2027-01-01T00:00:00Z")), {"b": 1})
    assert managed_fields_json(later) == managed_fields_json(created)


def test_equal_applies_share_a_field() -> None:
    """Applying the existing value makes both managers owners of the field, without a conflict."""
    first = _apply_config({"b": 1, "c": 1})
    shared = _apply_config({"b": 1}, "z", first.tree, first.entries)
    assert shared.tree == first.tree
    assert _fields_by_owner(shared.entries) == {"a Apply": [".b", ".c"], "z Apply": [".b"]}


def test_a_field_omitted_by_its_only_owner_is_deleted() -> None:
    """An apply deletes the fields that it omits and that only its manager owns. A field with another owner is kept."""
    first = _apply_config({"b": {"x": 1}, "c": 1})
    after_apply = _apply_config({"c": 1}, "z", first.tree, first.entries)
    without_all = _apply_config({"d": 5}, "a", after_apply.tree, after_apply.entries)
    assert without_all.tree == {"c": 1, "d": 5}
    assert _fields_by_owner(without_all.entries) == {"a Apply": [".d"], "z Apply": [".c"]}


def test_items_of_a_set_are_owned_one_by_one() -> None:
    """Each of two appliers keeps its items of a set; an omitted item is removed."""
    first = _apply_config({"a": ["x", "y"]})
    second = _apply_config({"a": ["y", "z"]}, "b", first.tree, first.entries)
    third = _apply_config({"a": ["q"]}, "a", second.tree, second.entries)
    assert second.tree == {"a": ["x", "y", "z"]}
    assert third.tree == {"a": ["y", "z", "q"]}


def test_an_object_applied_as_empty_is_kept() -> None:
    """An object that loses all members is kept if the applied configuration contains it as an empty object."""
    first = _apply_config({"b": {"x": 1}})
    assert _apply_config({"b": {}}, "a", first.tree, first.entries).tree == {"b": {}}


@pytest.mark.parametrize(
    ("live", "by_update", "config", "message"),
    [
        pytest.param({"b": 1}, False, {"b": 2}, 'Apply failed with 1 conflict: conflict with "o": .b', id="an applier"),
        pytest.param(
            {"b": 1},
            True,
            {"b": 2},
            f'Apply failed with 1 conflict: conflict with "o" using {VERSION} at 2026-01-01T00:00:00Z: .b',
            id="an updater",
        ),
        pytest.param(
            {"b": {"x": 1}, "c": [1], "d": 1},
            False,
            {"b": {"x": 2}, "c": [2], "d": 1},
            'Apply failed with 2 conflicts: conflicts with "o":\n- .b.x\n- .c',
            id="two fields",
        ),
        pytest.param({"b": {"x": 1}}, False, {"b": 7}, 'Apply failed with 1 conflict: conflict with "o": .b.x', id="a value over members"),
        pytest.param({"b": 7}, False, {"b": {"x": 1}}, 'Apply failed with 1 conflict: conflict with "o": .b', id="members over a value"),
    ],
)
def test_an_apply_to_fields_of_others_conflicts(live: dict[str, Any], by_update: bool, config: dict[str, Any], message: str) -> None:
    """An apply that would change fields of others is refused with the message of Kubernetes. Each cause is a conflict with the owner."""
    owners = update({}, live, (), _writer("o")) if by_update else _apply_config(live, "o").entries
    with pytest.raises(Conflict) as refused:
        _apply_config(config, "a", live, owners)
    assert refused.value.message == message
    assert {cause.reason for cause in refused.value.causes} == {"FieldManagerConflict"}
    assert all(cause.message.startswith('conflict with "o"') for cause in refused.value.causes)


def test_conflicts_are_grouped_by_owner() -> None:
    """The message of a conflict has a paragraph for each owner, in the order of their names."""
    first = _apply_config({"b": 1}, "o")
    second = _apply_config({"c": 1}, "n", first.tree, first.entries)
    with pytest.raises(Conflict, match="Apply failed with 2 conflicts") as refused:
        _apply_config({"b": 2, "c": 2}, "a", second.tree, second.entries)
    assert refused.value.message.split(": ", 1)[1] == 'conflicts with "n":\n- .c\nconflicts with "o":\n- .b'
    assert [cause.field for cause in refused.value.causes] == [".c", ".b"]


def test_force_resolves_conflicts() -> None:
    """A forced apply sets the value, and the applier becomes the only owner."""
    first = _apply_config({"b": 1, "c": 1}, "o")
    forced = apply(first.tree, {"b": 2}, first.entries, _writer("a"), SETS, force=True)
    assert forced.tree == {"b": 2, "c": 1}
    assert _fields_by_owner(forced.entries) == {"o Apply": [".c"], "a Apply": [".b"]}


def test_unchanged_fields_of_client_side_apply_need_no_force() -> None:
    """Fields that are unchanged since kubectl's last client-side apply change their owner without force; changed ones conflict."""
    created = update({}, {"b": 1, "c": 1}, (), _writer("old"))
    applied = apply({"b": 1, "c": 1}, {"b": 2}, created, _writer("new"), last_applied={"b": 1})
    assert _fields_by_owner(applied.entries) == {"new Apply": [".b"], "old Update": [".c"]}
    with pytest.raises(Conflict):
        apply({"b": 1, "c": 1}, {"b": 2}, created, _writer("new"), last_applied={"b": 7})


def test_earlier_fields_have_an_owner() -> None:
    """At the first apply to an object without known owners, its existing fields get the owner ``before-first-apply``."""
    live = {"b": 1, "c": 1}
    assert _fields_by_owner(_apply_config({"b": 1}, "a", live).entries) == {"before-first-apply Update": [".b", ".c"], "a Apply": [".b"]}
    with pytest.raises(Conflict, match="before-first-apply"):
        _apply_config({"b": 2}, "a", live)


def test_entries_of_another_subresource_are_kept() -> None:
    """The entry of a write to the subresource ``status`` is unchanged by an apply to the object."""
    status = update({}, {"status": {"x": 1}}, (), FieldManager("s", VERSION, time="", subresource="status"))
    applied = _apply_config({"b": 1}, "a", {"b": 1}, status)
    assert status[0] in applied.entries
    assert status[0] in settle(applied.entries, applied.tree, SETS)


def test_time_moves_only_with_a_change() -> None:
    """An apply that repeats the last one changes neither the entries nor their time; an apply with a change has its own time."""
    first = apply(None, {"b": 1}, (), _writer("a", "2026-01-01T00:00:00Z"))
    second = apply(first.tree, {"b": 1}, first.entries, _writer("a", "2026-02-01T00:00:00Z"))
    third = apply(second.tree, {"b": 2}, second.entries, _writer("a", "2026-03-01T00:00:00Z"))
    assert second.entries == first.entries
    assert third.entries[0].time == "2026-03-01T00:00:00Z"


def test_entries_own_only_stored_fields() -> None:
    """Fields that the kind's model drops have no owner."""
    applied = _apply_config({"b": {"x": 1, "secret": "s"}})
    assert _fields_by_owner(settle(applied.entries, {"b": {"x": 1, "added": 2}}, SETS)) == {"a Apply": [".b.x"]}


def test_old_updaters_become_one() -> None:
    """If too many managers have updated an object, the oldest ones share an entry. Managers that applied keep entries of their own."""
    entries = [_entry(f"m{index}", "Update", {f"f:{index}": {}}, time=f"2026-01-01T00:00:{index:02}Z") for index in range(MAX_UPDATERS + 2)]
    applier = _entry("a", "Apply", {"f:x": {}}, time="2025-01-01T00:00:00Z")
    remaining = limit_entries([*entries, applier])
    assert applier in remaining
    # The applier, and the permitted number of updaters, of which one is the shared entry.
    assert len(remaining) == 1 + MAX_UPDATERS
    assert [sorted(entry.fields) for entry in remaining if entry.manager == ANCIENT_CHANGES] == [["f:0", "f:1", "f:2"]]


def test_a_large_set_is_shortened() -> None:
    """A set of fields over the limit is shortened to whole objects, whose fields still conflict with other managers.

    A write without a change does not change the ownership.
    """
    live = {"b": {f"object {index}": {f"member {number}": 1 for number in range(60)} for index in range(100)}}
    created = settle(update({}, live, (), _writer("o")), live)
    assert len(write_json(created[0].fields)) <= MAX_ENTRY_LENGTH
    assert len(list(paths(created[0].fields))) == 100
    with pytest.raises(Conflict, match=r"\.b\.object 5\.member 7$"):
        _apply_config({"b": {"object 5": {"member 7": 2}}}, "a", live, created)
    assert is_same_ownership(settle(update(live, live, created, _writer("o")), live), created)
    unchanged_config = {"b": {"object 5": {"member 7": 1}}}
    settled_once = settle(_apply_config(unchanged_config, "a", live, created).entries, live)
    assert is_same_ownership(settle(_apply_config(unchanged_config, "a", live, settled_once).entries, live), settled_once)


def test_the_size_of_entries_is_limited() -> None:
    """The entries of all managers of an object together have a maximum size."""
    wide: FieldSet = {f"f:{'x' * 200}{index}": {} for index in range(200)}
    with pytest.raises(TooLarge):
        limit_entries([_entry(f"m{index}", "Apply", wide) for index in range(30)])


def test_too_many_appliers_are_refused() -> None:
    """The number of appliers is limited, and entries of many updaters are joined, so that an object has at most ``MAX_ENTRIES``."""
    appliers = [_entry(f"a{index}", "Apply", {"f:x": {}}) for index in range(MAX_APPLIERS)]
    updaters = [_entry(f"u{index}", "Update", {"f:x": {}}) for index in range(MAX_UPDATERS * 2)]
    assert len(limit_entries([*appliers, *updaters])) == MAX_ENTRIES
    with pytest.raises(TooLarge, match=f"more than {MAX_APPLIERS} managers apply"):
        limit_entries([*appliers, replace(appliers[0], manager="one more")])


@pytest.mark.parametrize(
    ("sent", "is_accepted"),
    [
        pytest.param(None, False, id="nothing"),
        pytest.param([], False, id="an empty list"),
        pytest.param([{"manager": "x"}], False, id="no fields"),
        pytest.param([{"manager": "x", "operation": "Apply", "fieldsType": "FieldsV2", "fieldsV1": {}}], False, id="another type"),
        pytest.param([{"manager": "x", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"title": {}}}], False, id="no names"),
        pytest.param(
            [{"manager": "x", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:b": {".": {}}}}], True, id="readable"
        ),
    ],
)
def test_sent_entries_replace_the_stored_ones(sent: object, is_accepted: bool) -> None:
    """Valid entries that a client sends replace the stored ones; an empty list, or invalid entries, do not."""
    stored = managed_fields_json([_entry("s", "Update", {"f:a": {}})])
    (entry,) = parse_managed_fields(stored, sent)
    # The manager of the sent entry is ``x``.
    assert entry.manager == ("x" if is_accepted else "s")


def test_one_empty_entry_clears_the_owners() -> None:
    """One empty entry in a request removes all owners."""
    assert parse_managed_fields(managed_fields_json([_entry("s", "Update", {"f:a": {}})]), [{}]) == ()


def test_entries_are_read_as_they_were_written() -> None:
    """Entries that are written as ``managedFields`` and read are equal. A manager without fields has no entry."""
    entries = (
        replace(_entry("s", "Update", {"f:a": {"v:1": {}}}, time="2026-01-01T00:00:00Z"), subresource="status"),
        _entry("t", "Apply", {}),
    )
    assert parse_managed_fields(managed_fields_json(entries)) == entries[:1]


def test_server_fields_have_no_owner() -> None:
    """Names, versions, the store's annotations, the message of a change and the status belong to no manager."""
    value = {
        "apiVersion": VERSION,
        "metadata": {
            "name": "x",
            "resourceVersion": "5",
            "labels": {"grafana.app/deprecatedInternalID": "7"},
            "annotations": {"grafana.app/createdBy": "user:1", "grafana.app/message": "hello", "team": "a"},
        },
        "spec": {"title": "T"},
        "status": {"x": 1},
    }
    assert tracked_fields(value) == {"metadata": {"annotations": {"team": "a"}}, "spec": {"title": "T"}}


# The manager, whether the step is an apply instead of an update, and the written object.
STEPS = st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), TREES), min_size=1, max_size=5)


@given(STEPS)
def test_every_history_keeps_the_laws(steps: list[tuple[str, bool, dict[str, Any]]]) -> None:
    """After any sequence of updates and forced applies, only existing fields are owned.

    After an apply, the object contains the applied configuration, and a repeated apply changes nothing.
    """
    tree: dict[str, Any] | None = None
    entries: tuple[ManagedFieldsEntry, ...] = ()
    for manager, is_apply, body in steps:
        if not is_apply:
            entries, tree = update(tree or {}, body, entries, _writer(manager), SETS), body
        else:
            applied = apply(tree, body, entries, _writer(manager), SETS, force=True)
            live = to_node(applied.tree, SETS)
            # Merging the configuration into an object that contains it changes nothing.
            assert to_tree(merge(live, to_node(body, SETS))) == applied.tree
            repeated = apply(applied.tree, body, applied.entries, _writer(manager, "2030-01-01T00:00:00Z"), SETS)
            assert repeated.tree == applied.tree
            assert is_same_ownership(repeated.entries, applied.entries)
            tree, entries = applied.tree, applied.entries
        existing_paths = set(paths(leaves(to_node(tree, SETS))))
        assert all(set(paths(entry.fields)) <= existing_paths for entry in entries)


@given(TREES, TREES)
def test_an_update_shares_no_field_with_an_earlier_owner(old: dict[str, Any], new: dict[str, Any]) -> None:
    """After an update, no field has both its earlier owner and the writer as owners."""
    created = update({}, old, (), _writer("o"), SETS)
    owned = _fields_by_owner(update(old, new, created, _writer("w"), SETS))
    assert not set(owned.get("o Update", ())) & set(owned.get("w Update", ()))

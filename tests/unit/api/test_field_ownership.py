"""Owners of fields after updates and applies."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.api.test_field_sets import SETS, TREES

from dashwright.api.domain.fields.managers import (
    ANCIENT_CHANGES,
    LARGEST_ENTRY,
    MOST_APPLIERS,
    MOST_ENTRIES,
    MOST_UPDATERS,
    ManagedFieldsEntry,
    bound,
    is_same_ownership,
    managed_fields_json,
    managers_of,
)
from dashwright.api.domain.fields.ownership import ApplyResult, FieldManager, apply, settle, tracked_fields, update
from dashwright.api.domain.fields.sets import FieldSet, leaves, merge, paths, to_node, to_tree
from dashwright.common.document import write_json
from dashwright.common.errors import Conflict, TooLarge

VERSION = "dashboard.grafana.app/v1beta1"


def _writer(manager: str, now: str = "2026-01-01T00:00:00Z") -> FieldManager:
    return FieldManager(manager, VERSION, now)


def _owned(entries: tuple[ManagedFieldsEntry, ...]) -> dict[str, list[str]]:
    return {f"{entry.manager} {entry.operation}": list(paths(entry.fields)) for entry in entries if entry.fields}


def _applied(
    config: dict[str, Any], manager: str = "a", live: dict[str, Any] | None = None, by: tuple[ManagedFieldsEntry, ...] = ()
) -> ApplyResult:
    return apply(live, config, by, _writer(manager), SETS)


def test_the_maker_owns_what_was_made() -> None:
    """The creator of an object owns all of it, by an update as by an apply."""
    assert _owned(update({}, {"b": {"x": 1}, "c": [1]}, (), _writer("ui"))) == {"ui Update": [".b.x", ".c"]}
    assert _owned(_applied({"b": {"x": 1}}).managers) == {"a Apply": [".b.x"]}


def test_an_update_takes_what_it_changes() -> None:
    """Changed fields move to the writer, removed ones lose their owner, the rest is unchanged."""
    old, new = {"b": 1, "c": 2, "d": 3}, {"b": 9, "c": 2}
    made = update({}, old, (), _writer("a"))
    assert _owned(update(old, new, made, _writer("b"))) == {"a Update": [".c"], "b Update": [".b"]}


def test_an_update_without_effect_owns_nothing() -> None:
    """A write that changes nothing leaves all entries as they are, times too."""
    made = update({}, {"b": 1}, (), _writer("a"))
    later = settle(update({"b": 1}, {"b": 1.0}, made, _writer("b", "2027-01-01T00:00:00Z")), {"b": 1})
    assert managed_fields_json(later) == managed_fields_json(made)


def test_fields_are_shared_by_those_who_agree() -> None:
    """Applying what is there already makes the field the property of both, without a conflict."""
    first = _applied({"b": 1, "c": 1})
    both = _applied({"b": 1}, "z", first.tree, first.managers)
    assert both.tree == first.tree
    assert _owned(both.managers) == {"a Apply": [".b", ".c"], "z Apply": [".b"]}


def test_a_field_left_out_by_its_only_owner_is_removed() -> None:
    """Another owner keeps it."""
    first = _applied({"b": {"x": 1}, "c": 1})
    both = _applied({"c": 1}, "z", first.tree, first.managers)
    without_all = _applied({"d": 5}, "a", both.tree, both.managers)
    assert without_all.tree == {"c": 1, "d": 5}
    assert _owned(without_all.managers) == {"a Apply": [".d"], "z Apply": [".c"]}


def test_items_of_a_set_are_owned_one_by_one() -> None:
    """Two appliers of a set keep each their items; leaving one out removes that one."""
    first = _applied({"a": ["x", "y"]})
    second = _applied({"a": ["y", "z"]}, "b", first.tree, first.managers)
    third = _applied({"a": ["q"]}, "a", second.tree, second.managers)
    assert second.tree == {"a": ["x", "y", "z"]}
    assert third.tree == {"a": ["y", "z", "q"]}


def test_an_object_applied_as_empty_is_kept() -> None:
    """An object that loses all members is kept if the apply has it as empty."""
    first = _applied({"b": {"x": 1}})
    assert _applied({"b": {}}, "a", first.tree, first.managers).tree == {"b": {}}


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
def test_conflicts(live: dict[str, Any], by_update: bool, config: dict[str, Any], message: str) -> None:
    """An apply that would change what others own is refused in Kubernetes' words; one cause a field."""
    owners = update({}, live, (), _writer("o")) if by_update else _applied(live, "o").managers
    with pytest.raises(Conflict) as refused:
        _applied(config, "a", live, owners)
    assert refused.value.message == message
    assert {cause.reason for cause in refused.value.causes} == {"FieldManagerConflict"}
    assert all(cause.message.startswith('conflict with "o"') for cause in refused.value.causes)


def test_conflicts_are_grouped_by_owner() -> None:
    """The message has a paragraph for each owner, in the order of their names."""
    first = _applied({"b": 1}, "o")
    second = _applied({"c": 1}, "n", first.tree, first.managers)
    with pytest.raises(Conflict, match="Apply failed with 2 conflicts") as refused:
        _applied({"b": 2, "c": 2}, "a", second.tree, second.managers)
    assert refused.value.message.split(": ", 1)[1] == 'conflicts with "n":\n- .c\nconflicts with "o":\n- .b'
    assert [cause.field for cause in refused.value.causes] == [".c", ".b"]


def test_force_takes_what_is_contested() -> None:
    """With force the value is the applier's, and so is the field, alone."""
    first = _applied({"b": 1, "c": 1}, "o")
    forced = apply(first.tree, {"b": 2}, first.managers, _writer("a"), SETS, force=True)
    assert forced.tree == {"b": 2, "c": 1}
    assert _owned(forced.managers) == {"o Apply": [".c"], "a Apply": [".b"]}


def test_what_is_yielded_needs_no_force() -> None:
    """Fields that still are as an earlier way of applying left them may be taken; changed since, they may not."""
    made = update({}, {"b": 1, "c": 1}, (), _writer("old"))
    taken = apply({"b": 1, "c": 1}, {"b": 2}, made, _writer("new"), yielded={"b": 1})
    assert _owned(taken.managers) == {"new Apply": [".b"], "old Update": [".c"]}
    with pytest.raises(Conflict):
        apply({"b": 1, "c": 1}, {"b": 2}, made, _writer("new"), yielded={"b": 7})


def test_what_was_there_before_the_first_apply_is_owned() -> None:
    """The first apply to an object without known owners does not take or remove its fields."""
    live = {"b": 1, "c": 1}
    assert _owned(_applied({"b": 1}, "a", live).managers) == {"before-first-apply Update": [".b", ".c"], "a Apply": [".b"]}
    with pytest.raises(Conflict, match="before-first-apply"):
        _applied({"b": 2}, "a", live)


def test_entries_of_another_subresource_are_left_alone() -> None:
    """Fields written through the status neither conflict with other writes nor change by them."""
    status = update({}, {"status": {"x": 1}}, (), FieldManager("s", VERSION, "", "status"))
    done = _applied({"b": 1}, "a", {"b": 1}, status)
    assert status[0] in done.managers
    assert status[0] in settle(done.managers, done.tree, SETS)


def test_time_moves_only_with_a_change() -> None:
    """An equal apply keeps the entries with the time of the first."""
    first = apply(None, {"b": 1}, (), _writer("a", "2026-01-01T00:00:00Z"))
    second = apply(first.tree, {"b": 1}, first.managers, _writer("a", "2026-02-01T00:00:00Z"))
    third = apply(second.tree, {"b": 2}, second.managers, _writer("a", "2026-03-01T00:00:00Z"))
    assert second.managers == first.managers
    assert third.managers[0].time == "2026-03-01T00:00:00Z"


def test_settled_entries_own_only_what_is_stored() -> None:
    """Fields that the kind's model drops have no owner."""
    done = _applied({"b": {"x": 1, "secret": "s"}})
    assert _owned(settle(done.managers, {"b": {"x": 1, "added": 2}}, SETS)) == {"a Apply": [".b.x"]}


def test_old_updaters_become_one() -> None:
    """More updating managers than are kept apart: the oldest share an entry, appliers never."""
    entries = [
        ManagedFieldsEntry(f"m{at}", "Update", VERSION, f"2026-01-01T00:00:{at:02}Z", {f"f:{at}": {}}) for at in range(MOST_UPDATERS + 2)
    ]
    applier = ManagedFieldsEntry("a", "Apply", VERSION, "2025-01-01T00:00:00Z", {"f:x": {}})
    kept = bound([*entries, applier])
    assert applier in kept
    assert len(kept) == MOST_UPDATERS + 1
    assert [sorted(entry.fields) for entry in kept if entry.manager == ANCIENT_CHANGES] == [["f:0", "f:1", "f:2"]]


def test_a_large_set_is_shortened() -> None:
    """A set over the limit has whole objects instead, which still conflict with other managers."""
    live = {"b": {f"object {at}": {f"member {of}": 1 for of in range(60)} for at in range(100)}}
    made = settle(update({}, live, (), _writer("o")), live)
    assert len(write_json(made[0].fields)) <= LARGEST_ENTRY
    assert len(list(paths(made[0].fields))) == 100
    with pytest.raises(Conflict, match=r"\.b\.object 5\.member 7$"):
        _applied({"b": {"object 5": {"member 7": 2}}}, "a", live, made)
    assert is_same_ownership(settle(update(live, live, made, _writer("o")), live), made)
    agreed = {"b": {"object 5": {"member 7": 1}}}
    once = settle(_applied(agreed, "a", live, made).managers, live)
    assert is_same_ownership(settle(_applied(agreed, "a", live, once).managers, live), once)


def test_too_many_large_sets_are_refused() -> None:
    """There is a limit to what all managers of an object may take."""
    wide: FieldSet = {f"f:{'x' * 200}{at}": {} for at in range(200)}
    with pytest.raises(TooLarge):
        bound([ManagedFieldsEntry(f"m{at}", "Apply", VERSION, "", wide) for at in range(30)])


def test_too_many_appliers_are_refused() -> None:
    """Updating managers give way to each other; those that apply are counted, so that an object never has more entries than may be sent."""
    appliers = [ManagedFieldsEntry(f"a{at}", "Apply", VERSION, "", {"f:x": {}}) for at in range(MOST_APPLIERS)]
    updaters = [ManagedFieldsEntry(f"u{at}", "Update", VERSION, "", {"f:x": {}}) for at in range(MOST_UPDATERS * 2)]
    assert len(bound([*appliers, *updaters])) == MOST_ENTRIES
    with pytest.raises(TooLarge, match=f"more than {MOST_APPLIERS} managers apply"):
        bound([*appliers, replace(appliers[0], manager="one more")])


@pytest.mark.parametrize(
    ("sent", "counts"),
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
def test_sent_entries(sent: object, counts: bool) -> None:
    """Entries that a client sends replace the stored ones where they can be read."""
    stored = managed_fields_json([ManagedFieldsEntry("s", "Update", VERSION, "", {"f:a": {}})])
    assert [entry.manager for entry in managers_of(stored, sent)] == (["x"] if counts else ["s"])


def test_entries_can_be_dropped_on_purpose() -> None:
    """One empty entry clears all owners."""
    assert managers_of(managed_fields_json([ManagedFieldsEntry("s", "Update", VERSION, "", {"f:a": {}})]), [{}]) == ()


def test_entries_are_read_as_they_were_written() -> None:
    """``managedFields`` of entries gives the same entries again; a manager without fields has none."""
    entries = (
        ManagedFieldsEntry("s", "Update", VERSION, "2026-01-01T00:00:00Z", {"f:a": {"v:1": {}}}, "status"),
        ManagedFieldsEntry("t", "Apply", VERSION, "", {}),
    )
    assert managers_of(managed_fields_json(entries)) == entries[:1]


def test_what_the_store_says_is_not_owned() -> None:
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


STEPS = st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), TREES), min_size=1, max_size=5)


@given(STEPS)
def test_every_history_keeps_the_laws(steps: list[tuple[str, bool, dict[str, Any]]]) -> None:
    """After any updates and forced applies: only existing fields are owned, an applied tree is live and owned, and a repeated
    apply changes nothing.
    """
    tree: dict[str, Any] | None = None
    entries: tuple[ManagedFieldsEntry, ...] = ()
    for manager, is_apply, wanted in steps:
        if not is_apply:
            entries, tree = update(tree or {}, wanted, entries, _writer(manager), SETS), wanted
        else:
            done = apply(tree, wanted, entries, _writer(manager), SETS, force=True)
            live = to_node(done.tree, SETS)
            assert to_tree(merge(live, to_node(wanted, SETS))) == done.tree
            again = apply(done.tree, wanted, done.managers, _writer(manager, "2030-01-01T00:00:00Z"), SETS)
            assert again.tree == done.tree
            assert is_same_ownership(again.managers, done.managers)
            tree, entries = done.tree, done.managers
        found = set(paths(leaves(to_node(tree, SETS))))
        assert all(set(paths(entry.fields)) <= found for entry in entries)


@given(TREES, TREES)
def test_an_update_owns_all_it_made(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Every field that an update gave another value is the writer's alone."""
    made = update({}, old, (), _writer("o"), SETS)
    owned = _owned(update(old, new, made, _writer("w"), SETS))
    assert not set(owned.get("o Update", ())) & set(owned.get("w Update", ()))

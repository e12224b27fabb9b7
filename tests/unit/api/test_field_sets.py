"""Sets of fields: trees flattened into fields, and set operations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.domain.fields.sets import (
    changed_fields,
    covered_by,
    expand,
    intersection,
    leaves,
    merge,
    paths,
    remove_fields,
    subtract,
    to_node,
    to_tree,
    union,
)

# Few keys and values, so that random trees often agree.
_SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2)
TREES = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(
        _SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
    ),
    max_size=3,
)
#: The paths of lists that are sets. Other lists are one field.
SETS = frozenset({("a",), ("b", "c")})


def _paths(tree: object) -> list[str]:
    """Return the paths of all fields of a tree."""
    return list(paths(leaves(to_node(tree, SETS))))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        pytest.param({"b": {"x": 1, "y": None}}, [".b.x", ".b.y"], id="members"),
        pytest.param({"b": [1, {"x": 1}]}, [".b"], id="a list is whole"),
        pytest.param({"b": {}, "c": []}, [".b", ".c"], id="an empty object is a field"),
        pytest.param({"a": ["q", {"x": 1}]}, ['.a[="q"]', '.a[={"x":1e0}]'], id="items of a set"),
        pytest.param({"a": ["q", "q"]}, [".a"], id="a set with an item twice is a list"),
        pytest.param({"b": {"x\0": 1, "y": 1}}, [".b"], id="a key that cannot be stored makes its object whole"),
        pytest.param({}, [], id="nothing"),
    ],
)
def test_objects_and_sets_are_split_into_fields(tree: object, expected: list[str]) -> None:
    """Objects are split into their members, and sets into their items; any other value is one field."""
    assert _paths(tree) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"b": 1}, {"b": 1.0}, [], id="numbers by value"),
        pytest.param({"b": 1}, {"b": True}, [".b"], id="true is not a number"),
        pytest.param({"b": {"x": 1}}, {"b": {"x": 2, "y": 3}}, [".b.x", ".b.y"], id="members"),
        pytest.param({}, {"b": {"x": 1}}, [".b"], id="a new object as a whole"),
        pytest.param({"b": {"x": 1}}, {"b": 5}, [".b"], id="another kind of value"),
        pytest.param({"b": {}}, {"b": {"x": 1}}, [".b.x"], id="a filled object changes in its members"),
        pytest.param({"b": {"x": 1}}, {"b": {}}, [".b.x"], id="an emptied object changes in its members"),
        pytest.param({"a": [1, 2]}, {"a": [2, 3]}, [".a[=1e0]", ".a[=3e0]"], id="items of a set"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, [], id="a set has no order"),
        pytest.param({"c": [1, 2]}, {"c": [2, 1]}, [".c"], id="a list has an order"),
    ],
)
def test_a_difference_is_named_once_at_its_highest_level(old: object, new: object, expected: list[str]) -> None:
    """Each difference is one path: that of the highest value that differs as a whole."""
    assert list(paths(changed_fields(to_node(old, SETS), to_node(new, SETS)))) == expected


@pytest.mark.parametrize(
    ("minuend", "subtrahend", "difference"),
    [
        pytest.param({"f:a": {"f:x": {}, "f:y": {}}}, {"f:a": {"f:x": {}}}, {"f:a": {"f:y": {}}}, id="a part"),
        pytest.param({"f:a": {"f:x": {}}}, {"f:a": {}}, {}, id="a whole removes its parts"),
        pytest.param({"f:a": {}}, {"f:a": {"f:x": {}}}, {}, id="a part removes the whole"),
        pytest.param({"f:a": {}}, {"f:b": {}}, {"f:a": {}}, id="unrelated fields"),
    ],
)
def test_a_difference_of_sets_has_no_related_fields(
    minuend: dict[str, object], subtrahend: dict[str, object], difference: dict[str, object]
) -> None:
    """The difference of two sets has no field that equals, contains or is part of a field of the second set."""
    assert subtract(minuend, subtrahend) == difference


def test_items_are_added_to_a_set_in_order() -> None:
    """Items of a set keep their order, new ones are appended, and no item is repeated."""
    assert to_tree(merge(to_node({"a": [3, 1]}, SETS), to_node({"a": [1, 2]}, SETS))) == {"a": [3, 1, 2]}


def test_an_object_that_loses_all_members_is_removed() -> None:
    """An object that loses all members is removed. An object that was empty before is kept."""
    node = to_node({"b": {"c": {"x": 1}}, "c": {}})
    remaining = remove_fields(node, {"f:b": {"f:c": {"f:x": {}}}})
    assert remaining is not None
    assert to_tree(remaining) == {"c": {}}


@given(TREES)
def test_a_tree_is_unchanged_by_a_conversion_to_a_node_and_back(tree: object) -> None:
    """A tree that is converted to a node and back is equal to the original."""
    assert to_tree(to_node(tree, SETS)) == tree


@given(TREES, TREES)
def test_trees_without_a_difference_are_equal(old: object, new: object) -> None:
    """Trees without a changed field are equal except for the order of sets, and no tree differs from itself."""
    old_node, new_node = to_node(old, SETS), to_node(new, SETS)
    assert changed_fields(old_node, old_node) == {}
    if not changed_fields(old_node, new_node):
        assert leaves(old_node) == leaves(new_node)


@given(TREES, TREES)
def test_merging_is_idempotent(live: object, config: object) -> None:
    """A second merge of the same configuration changes nothing."""
    live_node, config_node = to_node(live, SETS), to_node(config, SETS)
    merged_once = merge(live_node, config_node)
    assert changed_fields(merged_once, merge(merged_once, config_node)) == {}


@given(TREES, TREES)
def test_sets_of_fields_behave_like_sets_of_paths(tree: object, other: object) -> None:
    """Difference, intersection and union of the fields of a tree are those of the sets of their paths."""
    node = to_node(tree, SETS)
    all_leaves = leaves(node)
    # ``expand`` returns the fields of the tree that equal or are part of the given fields, so this is a subset of all leaves.
    leaves_of_other = expand(leaves(to_node(other, SETS)), node)
    assert expand(all_leaves, node) == all_leaves
    assert set(paths(subtract(all_leaves, leaves_of_other))) == set(paths(all_leaves)) - set(paths(leaves_of_other))
    assert set(paths(intersection(all_leaves, leaves_of_other))) == set(paths(leaves_of_other))
    assert set(paths(covered_by(all_leaves, leaves_of_other))) == set(paths(leaves_of_other))
    assert union(subtract(all_leaves, leaves_of_other), leaves_of_other) == all_leaves

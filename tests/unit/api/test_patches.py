"""Patches as pure functions of trees."""

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.resources.writing.patches import MAX_OPERATIONS, MAX_SHIFTED_ITEMS, json_patch, merge_patch, strategic_patch
from dashwright.common.errors import BadRequest, Invalid, TooLarge
from dashwright.common.json_documents import read_json

# Members and pointers with the characters that pointers escape, and with numbers that are indexes of lists.
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab~/$", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a/b", "~", "0"]), inner, max_size=3),
    max_leaves=8,
)
PARTS = st.sampled_from(["a", "b", "a~1b", "~0", "0", "1", "-", "01", "x"])
POINTERS = st.lists(PARTS, max_size=3).map(lambda parts: "".join(f"/{part}" for part in parts))


@pytest.mark.parametrize(
    ("tree", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
    ids=str,
)
def test_merge_patches_have_the_results_of_the_standard(tree: Any, patch: Any, expected: Any) -> None:
    """The examples of RFC 7386, appendix A, have the results of the RFC. A strategic patch without directives has the same result."""
    assert merge_patch(copy.deepcopy(tree), patch) == expected
    assert strategic_patch(copy.deepcopy(tree), patch) == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param({"a": {"$patch": "delete"}}, {"l": [1, 2, 1.0]}, id="delete an object"),
        pytest.param({"a": {"$patch": "replace", "z": 1}}, {"a": {"z": 1}, "l": [1, 2, 1.0]}, id="replace an object"),
        pytest.param({"$patch": "replace", "z": 1}, {"z": 1}, id="replace the root"),
        pytest.param(
            {"$setElementOrder/l": [2, 1], "$retainKeys": ["a"], "a": {"y": 2}},
            {"a": {"x": 1, "y": 2}, "l": [1, 2, 1.0]},
            id="order and retained keys",
        ),
        pytest.param({"$deleteFromPrimitiveList/l": [1]}, {"a": {"x": 1}, "l": [2]}, id="delete items by value"),
        pytest.param({"$deleteFromPrimitiveList/none": [1]}, {"a": {"x": 1}, "l": [1, 2, 1.0]}, id="delete items of a missing list"),
        pytest.param({"l": [3]}, {"a": {"x": 1}, "l": [3]}, id="replace a list"),
    ],
)
def test_strategic_directives_replace_and_delete(patch: Any, expected: Any) -> None:
    """Directives replace or delete objects and items of lists. Those for the order and the keys of merged lists have no effect."""
    assert strategic_patch({"a": {"x": 1}, "l": [1, 2, 1.0]}, patch) == expected


@pytest.mark.parametrize("patch", [{"$patch": "delete"}, {"a": {"$patch": "shuffle"}}, {"l": [{"$patch": "delete", "name": "x"}]}], ids=str)
def test_unsupported_strategic_directives_are_rejected(patch: Any) -> None:
    """Unsupported directives are rejected, because they would otherwise be stored as data."""
    with pytest.raises(BadRequest):
        strategic_patch({"a": {}, "l": []}, patch)


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/a", "value": 1}], {"l": [1, 2], "a": 1}),
        ([{"op": "add", "path": "/l/-", "value": 3}], {"l": [1, 2, 3]}),
        ([{"op": "add", "path": "/l/0", "value": 3}], {"l": [3, 1, 2]}),
        ([{"op": "remove", "path": "/l/0"}], {"l": [2]}),
        ([{"op": "replace", "path": "/l", "value": {}}], {"l": {}}),
        ([{"op": "move", "from": "/l/1", "path": "/m"}], {"l": [1], "m": 2}),
        ([{"op": "copy", "from": "/l", "path": "/m"}, {"op": "add", "path": "/m/-", "value": 3}], {"l": [1, 2], "m": [1, 2, 3]}),
        ([{"op": "test", "path": "/l/0", "value": 1.0}], {"l": [1, 2]}),
        ([{"op": "add", "path": "", "value": []}], []),
        ([], {"l": [1, 2]}),
    ],
    ids=str,
)
def test_operations_of_a_json_patch_have_the_results_of_the_standard(operations: Any, expected: Any) -> None:
    """Each operation has the effect that RFC 6902 defines."""
    assert json_patch({"l": [1, 2]}, operations) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "test", "path": "/a", "value": True},
        {"op": "test", "path": "/b", "value": None},
        # The pointer ``/l/-`` is the position after the last item.
        {"op": "test", "path": "/l/-", "value": None},
        {"op": "remove", "path": "/b"},
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/l/7", "value": 1},
        {"op": "move", "from": "/b", "path": "/c"},
        {"op": "copy", "from": "/b", "path": "/c"},
        {"op": "copy", "from": "/l/-", "path": "/c"},
        # A value cannot be moved into itself.
        {"op": "move", "from": "/l", "path": "/l/0"},
    ],
    ids=str,
)
def test_a_patch_that_cannot_be_applied_is_invalid(operation: Any) -> None:
    """A patch is invalid if one of its tests fails, or if one of its paths does not exist."""
    with pytest.raises(Invalid):
        json_patch({"a": 1, "l": [1]}, [operation])


@pytest.mark.parametrize(
    "operations",
    [
        {},
        [1],
        [{}],
        [{"op": "add"}],
        [{"op": "add", "path": "/a"}],
        [{"op": "copy", "path": "/a"}],
        [{"op": "test", "path": "/a"}],
        [{"op": "move", "path": "/a"}],
        [{"op": "jump", "path": "/a"}],
        [{"op": ["add"], "path": "/a", "value": 1}],
        [{"op": "add", "path": 7, "value": 1}],
        [{"op": "test", "path": 7, "value": 1}],
    ],
    ids=str,
)
def test_invalid_json_patches_are_refused(operations: Any) -> None:
    """A JSON patch is refused if it is not a list of operations, or if a member of an operation is missing or invalid."""
    with pytest.raises(BadRequest):
        json_patch({"a": 1}, operations)


def test_the_operation_test_compares_long_numbers_exactly() -> None:
    """The operation ``test`` compares numbers by their exact value, which floats of 64 bits would round."""
    tree = read_json('{"a":12345678901234567890}')
    operations = read_json('[{"op":"test","path":"/a","value":12345678901234567891}]')
    with pytest.raises(Invalid):
        json_patch(tree, operations)
    # A number in another notation is equal.
    assert json_patch(tree, read_json('[{"op":"test","path":"/a","value":1.234567890123456789e19}]')) is tree
    tree_with_zeros = read_json('{"a":1234567890123450000}')
    assert json_patch(tree_with_zeros, read_json('[{"op":"test","path":"/a","value":1.23456789012345e18}]')) is tree_with_zeros


def test_the_size_of_a_patched_object_is_limited() -> None:
    """The size of a patched object and the number of operations are limited, because each copy of the whole object doubles its size."""
    doubling = [{"op": "copy", "from": "", "path": f"/{index}"} for index in range(64)]
    with pytest.raises(TooLarge):
        json_patch({"a": "x" * 100}, doubling)
    with pytest.raises(TooLarge):
        json_patch({}, [{"op": "add", "path": "/a", "value": 1}] * (MAX_OPERATIONS + 1))


@pytest.mark.parametrize(
    "shifting_operations",
    [
        [{"op": "add", "path": "/l/0", "value": 0}, {"op": "remove", "path": "/l/0"}],
        [{"op": "move", "from": "/l/0", "path": "/m"}, {"op": "move", "from": "/m", "path": "/l/0"}],
        [{"op": "move", "from": "/k/0", "path": "/k/1/0"}, {"op": "move", "from": "/k/1/0", "path": "/k/0"}],
    ],
    ids=["add and remove", "move out and in", "move into the next item and back"],
)
def test_operations_that_shift_many_items_are_limited(shifting_operations: Any) -> None:
    """Operations at the head of a list move all its items, so their number is limited for long lists."""
    size = 100_000
    tree = {"l": [0] * size, "k": [1, 2, [0] * size]}
    # Each pair of operations shifts the long list twice.
    repetitions = MAX_SHIFTED_ITEMS // (2 * size)
    assert json_patch(tree, shifting_operations * (repetitions - 1)) is tree
    with pytest.raises(TooLarge, match="long lists"):
        json_patch(tree, shifting_operations * (repetitions + 1))


def test_many_items_may_be_appended_to_a_long_list() -> None:
    """Appending to a long list moves no items, so the limit does not apply to it."""
    tree: dict[str, Any] = {"l": [0] * 100_000}
    assert len(json_patch(tree, [{"op": "add", "path": "/l/-", "value": 0}] * MAX_OPERATIONS)["l"]) == 100_000 + MAX_OPERATIONS


def test_a_patch_that_nests_without_end_is_refused() -> None:
    """Operations that together nest too deep are refused, although each of them is permitted."""
    operations = nesting_operations() * 2000
    with pytest.raises((BadRequest, Invalid, TooLarge)):
        json_patch({"a": {}}, operations)


def nesting_operations() -> list[dict[str, Any]]:
    """Return operations that nest the value of ``a`` one level deeper, and copy it."""
    return [
        {"op": "move", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/a", "value": {}},
        {"op": "move", "from": "/b", "path": "/a/a"},
        {"op": "copy", "from": "/a", "path": "/c"},
    ]


OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]), "path": POINTERS},
    optional={"from": POINTERS, "value": TREES},
)


@given(TREES, st.lists(OPERATIONS, max_size=5))
def test_any_patch_is_applied_or_refused(tree: Any, operations: Any) -> None:
    """Any patch is applied, or refused as a bad request, as invalid or as too large."""
    with suppress(BadRequest, Invalid, TooLarge):
        json_patch(tree, operations)


@given(TREES, TREES)
def test_merge_patches_are_idempotent(tree: Any, patch: Any) -> None:
    """A merge patch that is applied a second time changes nothing."""
    patched_once = merge_patch(copy.deepcopy(tree), copy.deepcopy(patch))
    assert merge_patch(copy.deepcopy(patched_once), patch) == patched_once

"""Patches of a JSON tree: JSON patch (RFC 6902), merge patch (RFC 7386) and strategic merge patch.

A patch may change its input tree, and the result may share values with the patch. Parse tree and patch again before each use.
"""

import copy
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import jsonpatch
import jsonpointer

from dashwright.common.errors import BadRequest, Invalid, TooLarge
from dashwright.common.json_documents import MAX_TREE_DEPTH, json_equal, write_json

Patch = Callable[[Any, Any], Any]
"""A function that takes a tree and a patch, and returns the patched tree.

Raises BadRequest for a malformed patch, and Invalid if the patch cannot be applied to the tree.
"""

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

MAX_OPERATIONS: Final = 10_000
"""Limit on the operations of one JSON patch."""
MAX_COPIED_BYTES: Final = 5 * 1024 * 1024
"""Limit on the bytes that all ``copy`` operations of one JSON patch add."""
MAX_SHIFTED_ITEMS: Final = 50_000_000
"""Limit on the list items that one JSON patch shifts. Each insertion and removal shifts all later items."""

_OPERATIONS: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "add": jsonpatch.AddOperation,
        "remove": jsonpatch.RemoveOperation,
        "replace": jsonpatch.ReplaceOperation,
        "move": jsonpatch.MoveOperation,
    }
)
_REMOVAL_MEMBERS: Final[Mapping[str, str]] = MappingProxyType({"remove": "path", "move": "from"})
"""The member that has the path of the removed value, by the name of the operation."""

_INSERTION_MEMBERS: Final[Mapping[str, str]] = MappingProxyType({"add": "path", "move": "path"})
"""The member that has the path of the inserted value, by the name of the operation."""

# Members of strategic merge patches that direct the merge. A key that ends in "/" is followed by the name of a list.
_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_SET_ELEMENT_ORDER: Final = "$setElementOrder/"
_DELETE_FROM_LIST: Final = "$deleteFromPrimitiveList/"


def json_patch(tree: Any, operations: Any) -> Any:
    """Return the tree after the operations. A test compares numbers by value. Raises Invalid for a failed test or a missing path."""
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise BadRequest("a JSON patch is a list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise TooLarge(f"the patch has {len(operations)} operations; {MAX_OPERATIONS} are allowed; send several patches")
    copied_bytes = shifted_items = 0
    for index, operation in enumerate(operations):
        try:
            # A copy becomes an add, so that the bytes that it adds can be counted.
            if operation.get("op") == "copy":
                operation = _copy_to_add(tree, operation)
                copied_bytes += len(write_json(operation["value"]))
                if copied_bytes > MAX_COPIED_BYTES:
                    raise TooLarge(f"the patch copies more than {MAX_COPIED_BYTES} bytes; send the resulting value instead")
            shifted_items += _items_after(tree, operation, _REMOVAL_MEMBERS)
            tree = _apply_operation(tree, operation)
            shifted_items += _items_after(tree, operation, _INSERTION_MEMBERS)
            if shifted_items > MAX_SHIFTED_ITEMS:
                raise TooLarge("the patch adds or removes too often at the start of long lists; send the resulting list instead")
        except (jsonpatch.InvalidJsonPatch, KeyError, TypeError) as error:
            raise BadRequest(f"operation {index} of the patch is not a JSON patch operation: {_error_text(error)}") from error
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
            raise Invalid(f"operation {index} of the patch does not fit the object: {_error_text(error)}") from error
        # Operations can create a tree that is nested more deeply than any sent one.
        except RecursionError as error:
            raise BadRequest(f"nested too deeply: at most {MAX_TREE_DEPTH} levels") from error
    return tree


def merge_patch(tree: Any, patch: Any) -> Any:
    """Return the tree with the patch merged: null removes a member, other values replace it."""
    if not isinstance(patch, dict):
        return patch
    patched: dict[str, Any] = tree if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            patched.pop(key, None)
        else:
            patched[key] = merge_patch(patched.get(key), value)
    return patched


def strategic_patch(tree: Any, patch: Any) -> Any:
    """Return the tree after a merge patch with directives to replace or delete objects.

    Lists are replaced: no kind has lists that are merged by a key.
    """
    if not isinstance(patch, dict):
        return patch
    patched: dict[str, Any] = tree if isinstance(tree, dict) else {}
    directive = patch.get(_DIRECTIVE, "merge")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive != "merge":
        raise BadRequest(f"{_DIRECTIVE}: {str(directive)[:40]!r} is supported for members only, as replace, delete or merge")
    for key, value in patch.items():
        # ``$patch`` is handled above. The others belong to strategies that no kind has, and change nothing.
        if key in (_DIRECTIVE, _RETAIN_KEYS) or key.startswith(_SET_ELEMENT_ORDER):
            continue
        if key.startswith(_DELETE_FROM_LIST):
            _delete_from_list(patched, key.removeprefix(_DELETE_FROM_LIST), value)
        elif value is None or (isinstance(value, dict) and value.get(_DIRECTIVE) == "delete"):
            patched.pop(key, None)
        elif isinstance(value, list):
            _check_no_directives(value, key)
            patched[key] = value
        else:
            patched[key] = strategic_patch(patched.get(key), value)
    return patched


PATCH_BY_MEDIA_TYPE: Final[Mapping[str, Patch]] = MappingProxyType(
    {JSON_PATCH: json_patch, MERGE_PATCH: merge_patch, STRATEGIC_PATCH: strategic_patch}
)


def _apply_operation(tree: Any, operation: Mapping[str, Any]) -> Any:
    """Return the tree after an operation other than ``copy``. Raises the errors of jsonpatch and jsonpointer."""
    operation_name = operation.get("op")
    # jsonpatch compares values with Python's ``==``, for which true equals 1.
    if operation_name == "test":
        value = jsonpointer.resolve_pointer(tree, operation["path"])
        if isinstance(value, jsonpointer.EndOfList) or not json_equal(value, operation["value"]):
            raise jsonpatch.JsonPatchTestFailed(f"the test of {operation['path']} failed")
        return tree
    operation_class = _OPERATIONS.get(operation_name) if isinstance(operation_name, str) else None
    if operation_class is None:
        raise jsonpatch.InvalidJsonPatch(f"op is {str(operation_name)[:40]!r}, and not add, remove, replace, move, copy or test")
    return operation_class(operation).apply(tree)


def _items_after(tree: Any, operation: Mapping[str, Any], position_members: Mapping[str, str]) -> int:
    """Return the number of list items from the position of an operation to the end; 0 if the position is not in a list.

    The path to the position is the member of the operation in ``position_members``.
    """
    member = position_members.get(operation["op"])
    if member is None:
        return 0
    container, index = jsonpointer.JsonPointer(operation[member]).to_last(tree)
    return len(container) - index if isinstance(container, list) and isinstance(index, int) else 0


def _copy_to_add(tree: Any, operation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``add`` with the effect of a ``copy``."""
    value = jsonpointer.resolve_pointer(tree, operation["from"])
    if isinstance(value, jsonpointer.EndOfList):
        raise jsonpatch.JsonPatchConflict(f"the path {operation['from']} does not exist")
    # If both places had the same object, a later operation on one of them would change both.
    return {"op": "add", "path": operation["path"], "value": copy.deepcopy(value)}


def _error_text(error: Exception) -> str:
    """Return the message of an error, shortened because it can quote values of the patch."""
    message = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    return message[:200]


def _delete_from_list(tree: dict[str, Any], key: str, values: Any) -> None:
    """Delete ``values`` from the list ``key`` of a tree, in place. Raises BadRequest unless they are a list."""
    if not isinstance(values, list):
        raise BadRequest(f"{_DELETE_FROM_LIST}{key} must be a list")
    if isinstance(items := tree.get(key), list):
        tree[key] = [item for item in items if not any(json_equal(item, value) for value in values)]


def _check_no_directives(items: list[Any], key: str) -> None:
    """Raise BadRequest if an item of the list ``key`` has a directive."""
    if any(isinstance(item, dict) and _DIRECTIVE in item for item in items):
        raise BadRequest(f"{_DIRECTIVE} in a list ({key}) is not supported: lists are replaced as a whole; send the resulting list")

"""Patches of a JSON tree: JSON patch (RFC 6902), merge patch (RFC 7386) and strategic merge patch.

A patch may change the tree that it is given, and the result may share values with the patch. A patch is applied once.
"""

import copy
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import jsonpatch
import jsonpointer

from dashwright.common.document import DEEPEST_TREE, json_equal, write_json
from dashwright.common.errors import BadRequest, Invalid, TooLarge

Patch = Callable[[Any, Any], Any]
"""A function of tree and sent patch that returns the patched tree. Raises BadRequest for a malformed patch, Invalid if it does not fit."""

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

MOST_OPERATIONS: Final = 10_000
MOST_COPIED: Final = 5 * 1024 * 1024
"""Bytes that all copies of one JSON patch may add."""
MOST_SHIFTED: Final = 50_000_000
"""List items that all operations of one JSON patch may move. Each insertion and removal moves the items behind it."""

_OPERATIONS: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {
        "add": jsonpatch.AddOperation,
        "remove": jsonpatch.RemoveOperation,
        "replace": jsonpatch.ReplaceOperation,
        "move": jsonpatch.MoveOperation,
    }
)
_LEFT: Final[Mapping[str, str]] = MappingProxyType({"remove": "path", "move": "from"})
_ENTERED: Final[Mapping[str, str]] = MappingProxyType({"add": "path", "move": "path"})
"""Members with the position at which an operation inserts a value; ``_LEFT`` has those where it removes one."""

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_REMOVED: Final = "$deleteFromPrimitiveList/"


def json_patch(tree: Any, operations: Any) -> Any:
    """Return the tree after the operations. Raises Invalid for a failed test or a missing position. A test compares numbers by value."""
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        raise BadRequest("a JSON patch is a list of operations")
    if len(operations) > MOST_OPERATIONS:
        raise TooLarge(f"the patch has {len(operations)} operations; {MOST_OPERATIONS} are allowed; send several patches")
    copied = shifted = 0
    for index, operation in enumerate(operations):
        try:
            # A copy becomes an add, so that the bytes it adds can be counted.
            if operation.get("op") == "copy":
                operation = _as_addition(tree, operation)
                copied += len(write_json(operation["value"]))
                if copied > MOST_COPIED:
                    raise TooLarge(f"the patch copies more than {MOST_COPIED} bytes; send the resulting value instead")
            shifted += _items_after(tree, operation, _LEFT)
            tree = _applied(tree, operation)
            shifted += _items_after(tree, operation, _ENTERED)
            if shifted > MOST_SHIFTED:
                raise TooLarge("the patch adds or removes too often at the head of long lists; send the resulting list instead")
        except (jsonpatch.InvalidJsonPatch, KeyError, TypeError) as error:
            raise BadRequest(f"operation {index} of the patch is not a JSON patch operation: {_reason(error)}") from error
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
            raise Invalid(f"operation {index} of the patch does not fit the object: {_reason(error)}") from error
        # Operations can nest a tree deeper than it was sent.
        except RecursionError as error:
            raise BadRequest(f"nested too deeply: at most {DEEPEST_TREE} levels") from error
    return tree


def merge_patch(tree: Any, patch: Any) -> Any:
    """Return the tree with the patch merged: null removes a member, other values replace it."""
    if not isinstance(patch, dict):
        return patch
    merged: dict[str, Any] = tree if isinstance(tree, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def strategic_patch(tree: Any, patch: Any) -> Any:
    """Return the tree after a merge patch with directives to replace or delete objects.

    Lists are replaced: no list of these kinds is merged by a key.
    """
    if not isinstance(patch, dict):
        return patch
    merged: dict[str, Any] = tree if isinstance(tree, dict) else {}
    directive = patch.get(_DIRECTIVE, "merge")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive != "merge":
        raise BadRequest(f"{_DIRECTIVE}: {str(directive)[:40]!r} is supported for members only, as replace, delete or merge")
    for key, value in patch.items():
        if key in (_DIRECTIVE, _RETAIN) or key.startswith(_ORDER):
            continue
        if key.startswith(_REMOVED):
            _remove(merged, key.removeprefix(_REMOVED), value)
        elif value is None or (isinstance(value, dict) and value.get(_DIRECTIVE) == "delete"):
            merged.pop(key, None)
        elif isinstance(value, list):
            merged[key] = _without_directives(value, key)
        else:
            merged[key] = strategic_patch(merged.get(key), value)
    return merged


BY_TYPE: Final[Mapping[str, Patch]] = MappingProxyType({JSON_PATCH: json_patch, MERGE_PATCH: merge_patch, STRATEGIC_PATCH: strategic_patch})


def _applied(tree: Any, operation: Mapping[str, Any]) -> Any:
    name = operation.get("op")
    if name == "test":
        found = jsonpointer.resolve_pointer(tree, operation["path"])
        if isinstance(found, jsonpointer.EndOfList) or not json_equal(found, operation["value"]):
            raise jsonpatch.JsonPatchTestFailed(f"the test of {operation['path']} failed")
        return tree
    make = _OPERATIONS.get(name) if isinstance(name, str) else None
    if make is None:
        raise jsonpatch.InvalidJsonPatch(f"op is {str(name)[:40]!r}, and not add, remove, replace, move, copy or test")
    return make(operation).apply(tree)


def _items_after(tree: Any, operation: Mapping[str, Any], places: Mapping[str, str]) -> int:
    """Return the number of list items behind the position of an operation; 0 if the position is not in a list."""
    member = places.get(operation["op"])
    if member is None:
        return 0
    holder, place = jsonpointer.JsonPointer(operation[member]).to_last(tree)
    return len(holder) - place if isinstance(holder, list) and isinstance(place, int) else 0


def _as_addition(tree: Any, operation: Mapping[str, Any]) -> dict[str, Any]:
    found = jsonpointer.resolve_pointer(tree, operation["from"])
    if isinstance(found, jsonpointer.EndOfList):
        raise jsonpatch.JsonPatchConflict(f"the path {operation['from']} does not exist")
    return {"op": "add", "path": operation["path"], "value": copy.deepcopy(found)}


def _reason(error: Exception) -> str:
    text = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    return text[:200]


def _remove(merged: dict[str, Any], key: str, values: Any) -> None:
    if not isinstance(values, list):
        raise BadRequest(f"{_REMOVED}{key} must be a list")
    if isinstance(found := merged.get(key), list):
        merged[key] = [item for item in found if not any(json_equal(item, value) for value in values)]


def _without_directives(items: list[Any], key: str) -> list[Any]:
    if any(isinstance(item, dict) and _DIRECTIVE in item for item in items):
        raise BadRequest(f"{_DIRECTIVE} in a list ({key}) is not supported: lists are replaced as a whole; send the resulting list")
    return items

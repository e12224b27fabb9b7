"""The JSON patch from a stored object to the object that a sync would store."""

from collections.abc import Mapping
from typing import Any, Final

import jsonpatch

from dashwright.common.errors import TooLarge
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.annotations import CLASSIC_ID_LABEL, FOLDER_KEY, MESSAGE
from dashwright.jobs_worker.domain.objects import Document, Write
from dashwright.jobs_worker.domain.ownership import SYSTEM_ANNOTATIONS

MAX_COMPARED_BYTES: Final = 1024 * 1024
"""Limit on the bytes of a body that is compared."""

MAX_COMPARED_ITEMS: Final = 20_000
"""Limit on the items of all lists of a body. Comparing that many different items takes seconds and cannot be interrupted."""

MAX_DIFF_BYTES: Final = 64 * 1024
"""Limit on the bytes of a patch."""

_OMITTED_ANNOTATIONS: Final = (SYSTEM_ANNOTATIONS | {MESSAGE}) - {FOLDER_KEY}
"""Annotations that are not compared. That of the folder is compared, because a move to another folder is a change for users."""


def json_patch(stored_object: Document, desired: Write) -> tuple[list[dict[str, Any]], int]:
    """Return the JSON patch from ``stored_object`` to ``desired``, and the size of the patch in bytes.

    Annotations that only the store or the sync sets are left out, except the folder. Raises TooLarge for bodies that are too large to
    compare and for a patch of more than MAX_DIFF_BYTES.
    """
    if max(len(stored_object.spec), len(desired.spec)) > MAX_COMPARED_BYTES:
        raise TooLarge(f"not compared: the object has more than {MAX_COMPARED_BYTES} bytes")
    old_tree = _tree(stored_object.api_version, stored_object.labels, stored_object.annotations, stored_object.spec)
    new_tree = _tree(desired.api_version, desired.labels, desired.annotations, desired.spec)
    if max(_count_list_items(old_tree), _count_list_items(new_tree)) > MAX_COMPARED_ITEMS:
        raise TooLarge(f"not compared: the lists of the object have more than {MAX_COMPARED_ITEMS} items")
    patch = jsonpatch.JsonPatch.from_diff(old_tree, new_tree, dumps=_json_string).patch
    size = len(write_json(patch))
    if size > MAX_DIFF_BYTES:
        raise TooLarge(f"the diff is left out: it has {size} bytes, at most {MAX_DIFF_BYTES} are shown")
    return patch, size


def _count_list_items(tree: Any) -> int:
    """Return the number of items in all lists of a tree."""
    if isinstance(tree, list):
        return len(tree) + sum(map(_count_list_items, tree))
    return sum(map(_count_list_items, tree.values())) if isinstance(tree, dict) else 0


def _json_string(tree: Any) -> str:
    """Return the JSON text of a value. ``jsonpatch`` compares values by their texts, because ``1 == True`` in Python."""
    return write_json(tree).decode()


def _tree(api_version: str, labels: Mapping[str, str], annotations: Mapping[str, str], spec: bytes) -> dict[str, Any]:
    """Return the object as the resource API shows it, because clients apply the paths of a patch to that form."""
    remaining_annotations = {key: value for key, value in annotations.items() if key not in _OMITTED_ANNOTATIONS}
    metadata = {"labels": {key: value for key, value in labels.items() if key != CLASSIC_ID_LABEL}, "annotations": remaining_annotations}
    return {"apiVersion": api_version, "metadata": metadata, "spec": read_json(spec.decode())}

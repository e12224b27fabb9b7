"""The difference between a stored object and the one that would be stored, as a JSON patch."""

from collections.abc import Mapping
from typing import Any, Final

import jsonpatch

from dashwright.common.document import read_json, write_json
from dashwright.common.errors import TooLarge
from dashwright.common.kinds.annotations import FOLDER_KEY, MESSAGE, NUMBER_LABEL
from dashwright.jobs_worker.domain.objects import Document, Write
from dashwright.jobs_worker.domain.ownership import SET_BY_US

MOST_COMPARED: Final = 1024 * 1024
"""Bytes of a body."""

MOST_LISTED: Final = 20_000
"""Items of all lists of a body. If all differ, comparing takes seconds, and for ten times as many minutes that cannot be interrupted."""

LARGEST_DIFF: Final = 64 * 1024

_LEFT_OUT: Final = (SET_BY_US | {MESSAGE}) - {FOLDER_KEY}


def difference(stored: Document, desired: Write) -> tuple[list[dict[str, Any]], int]:
    """Return the operations of the patch and its size in bytes.

    Raises TooLarge for bodies that are too large to compare and for a long patch.

    Annotations that only name the manager and its file are left out.
    """
    if max(len(stored.spec), len(desired.spec)) > MOST_COMPARED:
        raise TooLarge(f"not compared: the object has more than {MOST_COMPARED} bytes")
    old = _tree(stored.api_version, stored.labels, stored.annotations, stored.spec)
    new = _tree(desired.api_version, desired.labels, desired.annotations, desired.spec)
    if max(_listed(old), _listed(new)) > MOST_LISTED:
        raise TooLarge(f"not compared: the lists of the object have more than {MOST_LISTED} items")
    patch = jsonpatch.JsonPatch.from_diff(old, new, dumps=_text).patch
    size = len(write_json(patch))
    if size > LARGEST_DIFF:
        raise TooLarge(f"the diff is left out: it has {size} bytes, at most {LARGEST_DIFF} are shown")
    return patch, size


def _listed(tree: Any) -> int:
    """Return the number of items in all lists of a tree."""
    if isinstance(tree, list):
        return len(tree) + sum(map(_listed, tree))
    return sum(map(_listed, tree.values())) if isinstance(tree, dict) else 0


def _text(tree: Any) -> str:
    return write_json(tree).decode()


def _tree(api_version: str, labels: Mapping[str, str], annotations: Mapping[str, str], spec: bytes) -> dict[str, Any]:
    """Return the object as clients know it: the paths of a patch are those of the resource API."""
    kept = {key: text for key, text in annotations.items() if key not in _LEFT_OUT}
    metadata = {"labels": {key: text for key, text in labels.items() if key != NUMBER_LABEL}, "annotations": kept}
    return {"apiVersion": api_version, "metadata": metadata, "spec": read_json(spec.decode())}

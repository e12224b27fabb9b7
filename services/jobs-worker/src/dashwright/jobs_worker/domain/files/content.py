"""The bytes of written files: JSON and YAML in this program's style, each file in the form it already has.

A file is classic (the dashboard's own JSON) or a resource (apiVersion, kind, metadata, spec).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.common.document import json_equal, print_json, read_json, write_json
from dashwright.common.errors import Invalid
from dashwright.common.kinds.annotations import MESSAGE, NUMBER_LABEL
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.repository_calls import EditedObject
from dashwright.common.yaml import read_yaml, write_yaml
from dashwright.jobs_worker.domain.file_forms import is_classic, is_resource, unwrap_dashboard
from dashwright.jobs_worker.domain.ownership import SET_BY_US
from dashwright.jobs_worker.domain.resource import CLASSIC_VERSION, KEPT_BY_THE_STORE

_METADATA: Final = ("name", "namespace", "generateName", "labels", "annotations")
"""Members of an object's metadata that a file keeps: the others belong to the store."""

_NOT_OF_FILES: Final = SET_BY_US | {MESSAGE}


def read_content(text: str) -> Any:
    """Return the tree of a body that may be JSON or YAML, whatever the suffix of its file."""
    return read_json(text) if text.lstrip().startswith("{") else read_yaml(text)


def write_content(path: str, tree: Any, *, largest: int) -> bytes:
    """Return JSON or YAML, by the suffix of the file; JSON as ``print_content`` writes it."""
    return print_content(tree, largest=largest) if path.endswith(".json") else write_yaml(tree).encode()


def print_content(tree: Any, *, largest: int) -> bytes:
    """Return JSON with an indent of two spaces, or compact JSON if the indent exceeds the size limit of files.

    The indent of a dashboard may take more than the rest of it: a file that can be read from git must not be refused for that.
    """
    body = print_json(tree)
    return body if len(body) <= largest else write_json(tree) + b"\n"


def file_tree(tree: Any, namespace: str, suffix: Callable[[], str]) -> Any:
    """Return a submitted body as its file keeps it: without members that the store sets, and with a name in place of ``generateName``.

    ``suffix`` returns the end of a generated name. The Reader validates the result.
    """
    if is_resource(tree):
        kept = {key: value for key, value in tree.items() if key != "status"}
        if isinstance(kept.get("metadata"), dict):
            kept["metadata"] = _metadata(kept["metadata"], namespace, suffix)
        if isinstance(kept.get("spec"), dict):
            kept["spec"] = file_spec(kept["spec"])
        return kept
    if is_classic(tree):
        return {key: value for key, value in tree.items() if key not in ("id", "version")}
    if (inner := unwrap_dashboard(tree)) is not None:
        return {**tree, "dashboard": file_tree(inner, namespace, suffix)}
    return tree


def updated_tree(before: Mapping[str, Any], edited: EditedObject, *, name_it: bool) -> Any:
    """Return a file's tree with an edited object in the form of the file, keys in their present order.

    ``name_it``: the file must contain the object's name because its path no longer does.
    """
    if (inner := unwrap_dashboard(before)) is not None:
        made = updated_tree(inner, edited, name_it=name_it)
        return made if is_resource(made) else {**before, "dashboard": made}
    spec = read_json(edited.spec)
    is_laid_out = DASHBOARD.extract(spec).layout
    annotations, labels = file_annotations(edited.annotations), file_labels(edited.labels)
    if not is_resource(before) and not (annotations or labels or is_laid_out):
        own = {key: before[key] for key in KEPT_BY_THE_STORE if key in before}
        classic = {**spec, **own}
        if name_it or not is_classic(classic):
            classic["uid"] = edited.name
        return _in_order(before, classic)
    old = before.get("metadata") or {} if is_resource(before) else {}
    metadata: dict[str, Any] = {key: value for key, value in old.items() if key not in ("labels", "annotations")}
    if name_it or not is_resource(before) or "name" in metadata:
        metadata["name"] = edited.name
    metadata |= {key: texts for key, texts in (("labels", labels), ("annotations", annotations)) if texts}
    resource = {
        "apiVersion": _api_version(before, edited.version, is_laid_out=is_laid_out),
        "kind": DASHBOARD.kind,
        "metadata": metadata,
        "spec": spec,
    }
    return _in_order(before, resource) if is_resource(before) else {**resource, "spec": _in_order(before, spec)}


def file_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of an object that its file holds."""
    return {key: text for key, text in labels.items() if key != NUMBER_LABEL}


def file_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations of an object that its file holds."""
    return {key: text for key, text in annotations.items() if key not in _NOT_OF_FILES}


def file_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a stored spec as a file holds it."""
    return spec if DASHBOARD.extract(spec).layout else {key: value for key, value in spec.items() if key not in KEPT_BY_THE_STORE}


def object_tree(body: bytes) -> dict[str, Any]:
    """Return the tree of a stored object's JSON."""
    tree: dict[str, Any] = read_json(body.decode())
    return tree


def _api_version(before: Mapping[str, Any], version: str, *, is_laid_out: bool) -> str:
    """Return the version for the file.

    A body without a layout is equal in all versions here, but not for other programs: it keeps its version.
    """
    if is_laid_out or DASHBOARD.extract(before.get("spec") or {}).layout:
        return DASHBOARD.api_version(version)
    return str(before["apiVersion"]) if is_resource(before) else DASHBOARD.api_version(CLASSIC_VERSION)


def _metadata(metadata: Mapping[str, Any], namespace: str, suffix: Callable[[], str]) -> dict[str, Any]:
    kept = {key: value for key, value in metadata.items() if key in _METADATA}
    prefix = kept.pop("generateName", None)
    if prefix is not None and not isinstance(prefix, str):
        raise Invalid("metadata.generateName must be a text in quotes")
    if prefix and not kept.get("name"):
        kept = {"name": prefix + suffix(), **{key: value for key, value in kept.items() if key != "name"}}
    if kept.get("namespace") == namespace:
        del kept["namespace"]
    for field, unwanted in (("labels", {NUMBER_LABEL}), ("annotations", _NOT_OF_FILES)):
        if isinstance(kept.get(field), dict):
            kept[field] = {key: text for key, text in kept[field].items() if key not in unwanted}
            if not kept[field]:
                del kept[field]
    return kept


def _in_order(old: Any, new: Any) -> Any:
    """Return ``new`` with keys in the order of ``old`` and numbers written as there, so that a commit shows only real changes."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [*(key for key in old if key in new), *(key for key in new if key not in old)]
        return {key: _in_order(old.get(key), new[key]) for key in keys}
    if isinstance(old, list) and isinstance(new, list):
        return [_in_order(old[index] if index < len(old) else None, item) for index, item in enumerate(new)]
    return old if isinstance(old, float) and json_equal(old, new) else new

"""The content of written files, as JSON or YAML. A changed file keeps its form.

A file is classic (the dashboard's own JSON) or a resource (apiVersion, kind, metadata, spec).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.common.errors import Invalid
from dashwright.common.json_documents import format_json, json_equal, read_json, write_json
from dashwright.common.kinds.annotations import CLASSIC_ID_LABEL, MESSAGE
from dashwright.common.kinds.registry import DASHBOARD, LIBRARY_PANEL
from dashwright.common.models.repository_calls import EditedObject
from dashwright.common.yaml import read_yaml, write_yaml
from dashwright.jobs_worker.domain.file_forms import is_classic, is_resource, unwrap_dashboard
from dashwright.jobs_worker.domain.ownership import SYSTEM_ANNOTATIONS
from dashwright.jobs_worker.domain.resource import CLASSIC_VERSION, STORE_KEYS

_FILE_METADATA_KEYS: Final = ("name", "namespace", "generateName", "labels", "annotations")
"""Members of an object's metadata that a file contains; the store sets the others."""

_STORE_ANNOTATIONS: Final = SYSTEM_ANNOTATIONS | {MESSAGE}


def read_content(text: str) -> Any:
    """Return the tree of a submitted text in JSON or YAML. The suffix of the file does not matter."""
    return read_json(text) if text.lstrip().startswith("{") else read_yaml(text)


def write_content(path: str, tree: Any, *, max_file_bytes: int) -> bytes:
    """Return JSON or YAML, by the suffix of the file; JSON as ``format_content`` writes it."""
    return format_content(tree, max_file_bytes=max_file_bytes) if path.endswith(".json") else write_yaml(tree).encode()


def format_content(tree: Any, *, max_file_bytes: int) -> bytes:
    """Return JSON with an indent of two spaces, or compact JSON if the indent exceeds the size limit of files.

    The indent may take more bytes than the dashboard itself, and it must not make a file too large to be read again.
    """
    body = format_json(tree)
    return body if len(body) <= max_file_bytes else write_json(tree) + b"\n"


def file_tree(tree: Any, namespace: str, make_suffix: Callable[[], str]) -> Any:
    """Return a submitted body as the tree of its file, without members that the store sets and with ``generateName`` replaced by a name.

    ``make_suffix`` returns the end of a generated name. Nothing is validated here: ``ResourceReader`` does that.
    """
    if is_resource(tree):
        remaining_members = {key: value for key, value in tree.items() if key != "status"}
        if isinstance(remaining_members.get("metadata"), dict):
            remaining_members["metadata"] = _metadata(remaining_members["metadata"], namespace, make_suffix)
        if isinstance(remaining_members.get("spec"), dict):
            remaining_members["spec"] = file_spec(str(tree.get("kind")), remaining_members["spec"])
        return remaining_members
    if is_classic(tree):
        # ``uid``, the third member that the store sets, remains: it names the object.
        return {key: value for key, value in tree.items() if key not in ("id", "version")}
    if (inner := unwrap_dashboard(tree)) is not None:
        return {**tree, "dashboard": file_tree(inner, namespace, make_suffix)}
    return tree


def updated_tree(before: Mapping[str, Any], edited: EditedObject, *, with_name: bool) -> Any:
    """Return the tree of a file after an edit of its object. The file keeps its form, if possible, and the order of its keys.

    A classic file becomes a resource if the object has labels, annotations or a layout, which a classic file cannot hold. With
    ``with_name`` the file contains the object's name, because the path would give the object another name.
    """
    if (inner := unwrap_dashboard(before)) is not None:
        updated_dashboard = updated_tree(inner, edited, with_name=with_name)
        return updated_dashboard if is_resource(updated_dashboard) else {**before, "dashboard": updated_dashboard}
    spec = read_json(edited.spec)
    has_layout = DASHBOARD.extract(spec).layout
    annotations, labels = file_annotations(edited.annotations), file_labels(edited.labels)
    if not is_resource(before) and not (annotations or labels or has_layout):
        store_members = {key: before[key] for key in STORE_KEYS if key in before}
        classic = {**spec, **store_members}
        # An almost empty dashboard is recognized by its uid.
        if with_name or not is_classic(classic):
            classic["uid"] = edited.name
        return _in_order(before, classic)
    old_metadata = (before.get("metadata") or {}) if is_resource(before) else {}
    metadata: dict[str, Any] = {key: value for key, value in old_metadata.items() if key not in ("labels", "annotations")}
    if with_name or not is_resource(before) or "name" in metadata:
        metadata["name"] = edited.name
    metadata |= {key: values for key, values in (("labels", labels), ("annotations", annotations)) if values}
    resource = {
        "apiVersion": _api_version(before, edited.version, has_layout=has_layout),
        "kind": before["kind"] if is_resource(before) else DASHBOARD.kind,
        "metadata": metadata,
        "spec": spec,
    }
    return _in_order(before, resource) if is_resource(before) else {**resource, "spec": _in_order(before, spec)}


def file_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of an object that its file contains."""
    return {key: value for key, value in labels.items() if key != CLASSIC_ID_LABEL}


def file_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations of an object that its file contains."""
    return {key: value for key, value in annotations.items() if key not in _STORE_ANNOTATIONS}


def file_spec(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec for a file. In the spec of a dashboard without a layout, members that the store sets are left out."""
    is_kept_whole = kind == LIBRARY_PANEL.kind or DASHBOARD.extract(spec).layout
    return spec if is_kept_whole else {key: value for key, value in spec.items() if key not in STORE_KEYS}


def object_tree(body: bytes) -> dict[str, Any]:
    """Return the tree of a stored object's JSON."""
    tree: dict[str, Any] = read_json(body.decode())
    return tree


def _api_version(before: Mapping[str, Any], version: str, *, has_layout: bool) -> str:
    """Return the group and API version for the file of an edited dashboard.

    A dashboard without a layout is the same in all versions, so the file keeps its version, which other programs may need.
    """
    if has_layout or DASHBOARD.extract(before.get("spec") or {}).layout:
        return DASHBOARD.api_version(version)
    return str(before["apiVersion"]) if is_resource(before) else DASHBOARD.api_version(CLASSIC_VERSION)


def _metadata(metadata: Mapping[str, Any], namespace: str, make_suffix: Callable[[], str]) -> dict[str, Any]:
    """Return the metadata for a file: without members that the store sets, and with a name in place of ``generateName``."""
    remaining_members = {key: value for key, value in metadata.items() if key in _FILE_METADATA_KEYS}
    prefix = remaining_members.pop("generateName", None)
    if prefix is not None and not isinstance(prefix, str):
        raise Invalid("metadata.generateName must be a string in quotes")
    if prefix and not remaining_members.get("name"):
        remaining_members = {"name": prefix + make_suffix(), **{key: value for key, value in remaining_members.items() if key != "name"}}
    if remaining_members.get("namespace") == namespace:
        del remaining_members["namespace"]
    for field, excluded_keys in (("labels", {CLASSIC_ID_LABEL}), ("annotations", _STORE_ANNOTATIONS)):
        if isinstance(remaining_members.get(field), dict):
            remaining_members[field] = {key: value for key, value in remaining_members[field].items() if key not in excluded_keys}
            if not remaining_members[field]:
                del remaining_members[field]
    return remaining_members


def _in_order(reference: Any, value: Any) -> Any:
    """Return ``value`` with the order of keys and the notation of numbers of ``reference``, so that a commit has only real changes."""
    if isinstance(reference, dict) and isinstance(value, dict):
        keys = [*(key for key in reference if key in value), *(key for key in value if key not in reference)]
        return {key: _in_order(reference.get(key), value[key]) for key in keys}
    if isinstance(reference, list) and isinstance(value, list):
        return [_in_order(reference[index] if index < len(reference) else None, item) for index, item in enumerate(value)]
    return reference if isinstance(reference, float) and json_equal(reference, value) else value

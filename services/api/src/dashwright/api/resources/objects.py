"""Objects in request bodies: envelope, name and metadata. Admission checks the spec."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from dashwright.api.domain import names, unknown_fields
from dashwright.api.domain.fields.managers import MOST_ENTRIES
from dashwright.api.resources.metadata import manager_of
from dashwright.api.resources.options import FieldValidation
from dashwright.api.resources.writing.admission import require_texts
from dashwright.api.resources.writing.desired_object import MODIFIED, DesiredObject, Preconditions, conflict_error
from dashwright.common.document import check_depth, read_json, read_shallow, write_json
from dashwright.common.errors import BadRequest, Cause, Invalid
from dashwright.common.json_shapes import member_at
from dashwright.common.kinds import rendering
from dashwright.common.kinds.annotations import MANAGED_BY
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import StoredObject

_FIXED = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid"))
"""Members that no change of an object may change."""


@dataclass(frozen=True, slots=True)
class ObjectUpdate:
    """A replacement that a client sent, its envelope checked."""

    #: The object to store.
    desired: DesiredObject
    #: What the metadata expects of the stored object.
    preconditions: Preconditions


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """A status that a client sent."""

    status: dict[str, Any]
    preconditions: Preconditions


@dataclass(frozen=True, slots=True)
class ApplyConfiguration:
    """The part of an object that a client applies, its envelope checked."""

    #: The sent members only.
    tree: dict[str, Any]
    preconditions: Preconditions
    #: Returned to the client as Warning headers.
    warnings: tuple[str, ...]


def read_tree(body: bytes) -> Any:
    """Return the JSON of a body. Raises BadRequest for invalid JSON."""
    try:
        tree = read_shallow(body.decode())
    except UnicodeDecodeError as error:
        raise BadRequest("the body is not UTF-8 text") from error
    except Invalid as error:
        raise BadRequest(f"the body cannot be read: {error.message}") from error
    return tree


def read_new(tree: Any, kind: Kind, namespace: str, version: str, validation: FieldValidation = FieldValidation.IGNORE) -> DesiredObject:
    """Return the object to create. Raises BadRequest for an envelope that does not match the path."""
    metadata = _envelope(tree, kind, namespace, version)
    if metadata.get("resourceVersion"):
        raise BadRequest("resourceVersion should not be set on objects to be created")
    uid = metadata.get("uid") or ""
    if not isinstance(uid, str):
        raise BadRequest("metadata.uid must be text")
    return replace(_desired_object(tree, metadata, kind, _new_name(metadata, kind), version, validation), uid=uid)


def read_update(
    tree: Any, kind: Kind, namespace: str, version: str, name: str, validation: FieldValidation = FieldValidation.IGNORE
) -> ObjectUpdate:
    """Return the replacement for the named object. Raises BadRequest for an envelope that does not match the path."""
    metadata = _envelope(tree, kind, namespace, version)
    preconditions = _preconditions(metadata, kind, name)
    return ObjectUpdate(_desired_object(tree, metadata, kind, name, version, validation), preconditions)


def read_apply_configuration(
    tree: Any, kind: Kind, namespace: str, version: str, name: str, validation: FieldValidation = FieldValidation.IGNORE
) -> ApplyConfiguration:
    """Return the configuration to apply to the named object. Raises BadRequest for an envelope that does not match the path."""
    metadata = _envelope(tree, kind, namespace, version)
    preconditions = replace(_preconditions(metadata, kind, name), generation=None)
    if metadata.get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")
    if not isinstance(tree.get("spec", {}), dict):
        raise BadRequest("spec must be an object")
    require_texts(metadata)
    for field in ("labels", "annotations"):
        names.texts(metadata, field)
    return ApplyConfiguration(tree, preconditions, validation.warnings_for(unknown_fields.of_object(tree, kind)))


def _preconditions(metadata: dict[str, Any], kind: Kind, name: str) -> Preconditions:
    """Return what the sent metadata expects of the stored object. Raises BadRequest for another name."""
    if (given := metadata.get("name") or name) != name:
        raise BadRequest(f"the name of the object ({str(given)[:80]}) does not match the name on the URL ({name})")
    uid, resource_version, generation = metadata.get("uid") or "", metadata.get("resourceVersion") or "", metadata.get("generation") or None
    if not isinstance(uid, str) or not isinstance(resource_version, str) or not isinstance(generation, int | None):
        raise BadRequest("metadata.uid and metadata.resourceVersion must be text, and metadata.generation an integer")
    return Preconditions(uid, resource_version, generation if kind.history else None)


def patched_object(patch: Callable[[Any], Any], version: str, validation: FieldValidation, stored: StoredObject) -> DesiredObject:
    """Return the desired object after a patch of the object as a version shows it.

    A patch that removes the manager releases the object; a replacement without a manager does not. Raises BadRequest if the
    result is not an object, Invalid if it is a different one, and Conflict if the patch names another resource version.
    """
    tree = _patched_tree(patch, version, stored)
    sent = read_update(tree, stored.kind, stored.namespace, version, stored.name, validation)
    _check_version(sent.preconditions, stored)
    return replace(sent.desired, releases=manager_of(stored) is not None and MANAGED_BY not in sent.desired.annotations)


def patched_status(patch: Callable[[Any], Any], version: str, stored: StoredObject) -> dict[str, Any]:
    """Return the status after a patch. Raises as ``patched_object`` does."""
    tree = _patched_tree(patch, version, stored)
    sent = read_status_update(tree, stored.kind, stored.namespace, version, stored.name)
    _check_version(sent.preconditions, stored)
    return sent.status


def read_status_update(tree: Any, kind: Kind, namespace: str, version: str, name: str) -> StatusUpdate:
    """Return the new status of the named object. Other members of the body are ignored."""
    metadata = _envelope(tree, kind, namespace, version)
    preconditions = _preconditions(metadata, kind, name)
    require_texts(status := _object(tree, "status"))
    return StatusUpdate(status, Preconditions(preconditions.uid, preconditions.resource_version))


def _patched_tree(patch: Callable[[Any], Any], version: str, stored: StoredObject) -> dict[str, Any]:
    tree = read_json(stored.encode(version).decode())
    # Read before the patch, which may change the tree in place.
    fixed = {path: member_at(tree, *path) for path in _FIXED}
    tree = patch(tree)
    try:
        check_depth(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error
    if not isinstance(tree, dict) or not isinstance(tree.get("metadata"), dict):
        raise BadRequest(f"the patched {stored.kind.kind} is not an object with metadata; patch single members")
    if changed := [path for path, value in fixed.items() if member_at(tree, *path) != value]:
        causes = [
            Cause(".".join(path), "FieldValueInvalid", f"Invalid value: {_value_text(tree, path)}: field is immutable") for path in changed
        ]
        raise stored.kind.invalid(stored.name, causes)
    return tree


def _check_version(preconditions: Preconditions, stored: StoredObject) -> None:
    if preconditions.resource_version not in ("", str(stored.resource_version)):
        raise conflict_error(stored.kind, stored.name, MODIFIED)


def _value_text(tree: Any, path: tuple[str, ...]) -> str:
    return write_json(member_at(tree, *path)).decode()[:200]


def _desired_object(
    tree: dict[str, Any], metadata: dict[str, Any], kind: Kind, name: str, version: str, validation: FieldValidation
) -> DesiredObject:
    require_texts(metadata if kind.spec is None else {key: value for key, value in tree.items() if key != "status"})
    spec = tree.get("spec")
    if not isinstance(spec, dict):
        raise kind.invalid(name, [Cause("spec", "FieldValueRequired", "Required value: spec must be an object")])
    if faults := rendering.validation_errors(kind, spec):
        raise kind.invalid(name, faults)
    finalizers = _list(metadata, "finalizers")
    if not all(isinstance(text, str) for text in finalizers):
        raise BadRequest("metadata.finalizers must be a list of text")
    return DesiredObject(
        kind,
        name,
        version,
        spec,
        names.texts(metadata, "labels"),
        names.texts(metadata, "annotations"),
        list(dict.fromkeys(finalizers)),
        owner_references(metadata, kind, name),
        _managed_fields(metadata),
        warnings=validation.warnings_for(unknown_fields.of_object(tree, kind)),
        secure={} if kind.secure is None else _object(tree, "secure"),
    )


def _envelope(tree: Any, kind: Kind, namespace: str, version: str) -> dict[str, Any]:
    """Return the metadata of an object that matches the path."""
    if not isinstance(tree, dict):
        raise BadRequest(f"the body must be one {kind.kind} object")
    expected = kind.api_version(version)
    api_version = tree.get("apiVersion", expected)
    if api_version != expected:
        raise BadRequest(f"apiVersion {api_version!r} in the body does not match the path, which requires {expected!r}")
    if tree.get("kind", kind.kind) != kind.kind:
        raise BadRequest(f"kind {tree['kind']!r} in the body does not match the path, which requires {kind.kind!r}")
    metadata = _object(tree, "metadata")
    if metadata.get("namespace") not in (None, "", namespace):
        raise BadRequest(f"metadata.namespace is {metadata['namespace']!r}, but the path names {namespace!r}; they must agree")
    return metadata


def _object(value: dict[str, Any], field: str) -> dict[str, Any]:
    found = value.get(field)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadRequest(f"{field} must be an object")
    return found


def _list(metadata: dict[str, Any], field: str) -> list[Any]:
    found = metadata.get(field)
    if found is None:
        return []
    if not isinstance(found, list):
        raise BadRequest(f"metadata.{field} must be a list")
    return found


def _managed_fields(metadata: dict[str, Any]) -> object:
    """Return the sent entries. Unreadable entries are ignored later, but too many are refused."""
    found = metadata.get("managedFields")
    if isinstance(found, list) and len(found) > MOST_ENTRIES:
        raise BadRequest(f"metadata.managedFields has {len(found)} entries, {MOST_ENTRIES} are the most; [{{}}] drops all of them")
    return found


def _new_name(metadata: dict[str, Any], kind: Kind) -> str:
    name = names.name(metadata)
    if not name:
        raise kind.invalid("", [Cause("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")])
    return name


MOST_OWNERS: Final = 100

_FIELD: Final = "metadata.ownerReferences"
_TEXTS: Final = ("apiVersion", "kind", "name", "uid")
_SWITCHES: Final = ("controller", "blockOwnerDeletion")
_MEMBERS: Final = (*_TEXTS, *_SWITCHES)


def owner_references(metadata: dict[str, Any], kind: Kind, name: str) -> list[dict[str, Any]]:
    """Return the sent references. Raises Invalid for malformed ones. A switch that is null counts as missing."""
    sent = metadata.get("ownerReferences")
    if sent is None:
        return []
    if not isinstance(sent, list) or not all(isinstance(item, dict) for item in sent):
        raise kind.invalid(name, [Cause(_FIELD, "FieldValueTypeInvalid", "Invalid value: must be a list of objects")])
    if len(sent) > MOST_OWNERS:
        raise kind.invalid(name, [Cause(_FIELD, "FieldValueTooMany", f"Too many: {len(sent)}: must have at most {MOST_OWNERS} items")])
    references = [{key: value for key, value in item.items() if key not in _SWITCHES or value is not None} for item in sent]
    if causes := [cause for index, reference in enumerate(references) for cause in _faults(reference, f"{_FIELD}[{index}]")]:
        raise kind.invalid(name, causes)
    return references


def _faults(reference: dict[str, Any], field: str) -> list[Cause]:
    faults = [
        Cause(f"{field}.{key}", "FieldValueRequired", "Required value: must be text, and not empty")
        for key in _TEXTS
        if not isinstance(reference.get(key), str) or not reference[key]
    ]
    faults += [
        Cause(f"{field}.{key}", "FieldValueTypeInvalid", "Invalid value: must be true or false")
        for key in _SWITCHES
        if not isinstance(reference.get(key, False), bool)
    ]
    if unknown := sorted(reference.keys() - set(_MEMBERS)):
        text = f"Invalid value: a reference has no member {unknown[0][:80]!r}; it has {', '.join(_MEMBERS)}"
        faults.append(Cause(field, "FieldValueInvalid", text))
    return faults

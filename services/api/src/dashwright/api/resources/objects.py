"""Objects in request bodies: the check of their envelope, which is ``apiVersion``, ``kind`` and ``metadata``.

Admission checks the spec.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from dashwright.api.domain import names, unknown_fields
from dashwright.api.domain.fields.managers import MAX_ENTRIES
from dashwright.api.resources.metadata import declaring_file_of, manager_of
from dashwright.api.resources.options import FieldValidation
from dashwright.api.resources.writing.admission import require_storable_strings
from dashwright.api.resources.writing.desired_object import MODIFIED_MESSAGE, DesiredObject, Preconditions, conflict_error
from dashwright.common.errors import BadRequest, Cause, Invalid
from dashwright.common.json_documents import check_depth, read_json, read_shallow_json, write_json
from dashwright.common.json_shapes import member_at
from dashwright.common.kinds.annotations import MANAGED_BY
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import StoredObject

_IMMUTABLE_PATHS = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid"))
"""Members that a patch must not change."""

_MAX_QUOTED_NAME: Final = 80
"""Limit on the characters of a sent name that an error quotes."""
_MAX_QUOTED_VALUE: Final = 200
"""Limit on the characters of a sent JSON value that an error quotes."""


@dataclass(frozen=True, slots=True)
class ObjectUpdate:
    """A replacement that a client sent, after a check of its envelope."""

    #: The object to store.
    desired: DesiredObject
    #: The preconditions in the sent metadata: uid, resource version and generation.
    preconditions: Preconditions


@dataclass(frozen=True, slots=True)
class StatusUpdate:
    """A status that a client sent."""

    status: dict[str, Any]
    preconditions: Preconditions


@dataclass(frozen=True, slots=True)
class ApplyConfiguration:
    """The fields of an object that a client applies, after a check of their envelope."""

    #: The body of the request, with only the members that were sent.
    tree: dict[str, Any]
    preconditions: Preconditions
    #: Returned to the client as Warning headers.
    warnings: tuple[str, ...]


def parse_tree(body: bytes) -> Any:
    """Return the JSON of a body. Raises BadRequest for invalid JSON."""
    try:
        tree = read_shallow_json(body.decode())
    except UnicodeDecodeError as error:
        raise BadRequest("the body is not UTF-8 text") from error
    except Invalid as error:
        raise BadRequest(f"the body cannot be read: {error.message}") from error
    return tree


def read_new_object(
    tree: Any, kind: Kind, namespace: str, version: str, validation: FieldValidation = FieldValidation.IGNORE
) -> DesiredObject:
    """Return the object to create. Raises BadRequest for an envelope that does not match the path."""
    metadata = _envelope(tree, kind, namespace, version)
    if metadata.get("resourceVersion"):
        raise BadRequest("resourceVersion should not be set on objects to be created")
    uid = metadata.get("uid") or ""
    if not isinstance(uid, str):
        raise BadRequest("metadata.uid must be text")
    # The uid of a deleted object requests that the object is restored.
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
    """Return the configuration to apply to the named object.

    Raises BadRequest for an envelope that does not match the path, and for sent ``managedFields``, which an apply must not have.
    """
    metadata = _envelope(tree, kind, namespace, version)
    # An applied configuration is often copied from an old object, with its generation.
    preconditions = replace(_preconditions(metadata, kind, name), generation=None)
    if metadata.get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")
    if not isinstance(tree.get("spec", {}), dict):
        raise BadRequest("spec must be an object")
    require_storable_strings(metadata)
    for field in ("labels", "annotations"):
        names.check_string_map(metadata, field)
    return ApplyConfiguration(tree, preconditions, validation.warnings_for(unknown_fields.find_in_object(tree, kind)))


def _preconditions(metadata: dict[str, Any], kind: Kind, name: str) -> Preconditions:
    """Return the preconditions in the sent metadata. Raises BadRequest if the metadata has another name."""
    if (name_in_body := metadata.get("name") or name) != name:
        raise BadRequest(f"the name of the object ({str(name_in_body)[:_MAX_QUOTED_NAME]}) does not match the name on the URL ({name})")
    uid = metadata.get("uid") or ""
    resource_version = metadata.get("resourceVersion") or ""
    # As in Kubernetes, 0 means that the member is not set.
    generation = metadata.get("generation") or None
    if not isinstance(uid, str) or not isinstance(resource_version, str) or not isinstance(generation, int | None):
        raise BadRequest("metadata.uid and metadata.resourceVersion must be text, and metadata.generation an integer")
    return Preconditions(uid, resource_version, generation if kind.history else None)


def patched_object(patch: Callable[[Any], Any], version: str, validation: FieldValidation, current: StoredObject) -> DesiredObject:
    """Return the desired object after a patch of the ``current`` object in an API version.

    A patch that removes the manager releases the object; a replacement without a manager does not. Raises BadRequest if the
    result is not an object, Invalid if an immutable member changed, and Conflict if the patch names another resource version.
    """
    tree = _patched_tree(patch, version, current)
    update = read_update(tree, current.kind, current.namespace, version, current.name, validation)
    _check_resource_version(update.preconditions, current)
    has_manager = manager_of(current) is not None or declaring_file_of(current) is not None
    return replace(update.desired, releases_manager=has_manager and MANAGED_BY not in update.desired.annotations)


def patched_status(patch: Callable[[Any], Any], version: str, current: StoredObject) -> dict[str, Any]:
    """Return the status after a patch. Raises the same errors as ``patched_object``."""
    tree = _patched_tree(patch, version, current)
    update = read_status_update(tree, current.kind, current.namespace, version, current.name)
    _check_resource_version(update.preconditions, current)
    return update.status


def read_status_update(tree: Any, kind: Kind, namespace: str, version: str, name: str) -> StatusUpdate:
    """Return the new status of the named object. The spec in the body is ignored. Raises the errors of ``read_update``."""
    metadata = _envelope(tree, kind, namespace, version)
    preconditions = _preconditions(metadata, kind, name)
    status = _object_member(tree, "status")
    require_storable_strings(status)
    return StatusUpdate(status, Preconditions(preconditions.uid, preconditions.resource_version))


def _patched_tree(patch: Callable[[Any], Any], version: str, current: StoredObject) -> dict[str, Any]:
    """Return the tree of the ``current`` object after a patch. Raises the errors of ``patched_object`` about the result."""
    tree = read_json(current.encode(version).decode())
    # Read before the patch, which may change the tree in place.
    immutable_values = {path: member_at(tree, *path) for path in _IMMUTABLE_PATHS}
    tree = patch(tree)
    try:
        check_depth(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error
    if not isinstance(tree, dict) or not isinstance(tree.get("metadata"), dict):
        raise BadRequest(f"the patched {current.kind.kind} is not an object with metadata; patch single members")
    if changed_paths := [path for path, value in immutable_values.items() if member_at(tree, *path) != value]:
        causes = [
            Cause(".".join(path), "FieldValueInvalid", f"Invalid value: {_displayed_value(tree, path)}: field is immutable")
            for path in changed_paths
        ]
        raise current.kind.invalid(current.name, causes)
    return tree


def _check_resource_version(preconditions: Preconditions, current: StoredObject) -> None:
    """Raise Conflict if a patch names another resource version than the current one."""
    if preconditions.resource_version not in ("", str(current.resource_version)):
        raise conflict_error(current.kind, current.name, MODIFIED_MESSAGE)


def _displayed_value(tree: Any, path: tuple[str, ...]) -> str:
    return write_json(member_at(tree, *path)).decode()[:_MAX_QUOTED_VALUE]


def _desired_object(
    tree: dict[str, Any], metadata: dict[str, Any], kind: Kind, name: str, version: str, validation: FieldValidation
) -> DesiredObject:
    """Return the object that a body describes. Raises Invalid for a faulty spec, and BadRequest for other faults."""
    # A status in the body is ignored.
    members_to_store = {key: value for key, value in tree.items() if key != "status"}
    # A spec without a model is stored as JSON text, in which NUL characters are escaped.
    require_storable_strings(metadata if kind.spec is None else members_to_store)
    spec = tree.get("spec")
    if not isinstance(spec, dict):
        raise kind.invalid(name, [Cause("spec", "FieldValueRequired", "Required value: spec must be an object")])
    if causes := kind.validation_errors(spec):
        raise kind.invalid(name, causes)
    finalizers = _list_member(metadata, "finalizers")
    if not all(isinstance(finalizer, str) for finalizer in finalizers):
        raise BadRequest("metadata.finalizers must be a list of text")
    return DesiredObject(
        kind,
        name,
        version,
        spec,
        names.string_map(metadata, "labels"),
        names.string_map(metadata, "annotations"),
        list(dict.fromkeys(finalizers)),
        owner_references(metadata, kind, name),
        _managed_fields(metadata),
        warnings=validation.warnings_for(unknown_fields.find_in_object(tree, kind)),
        secure={} if kind.secure is None else _object_member(tree, "secure"),
    )


def _envelope(tree: Any, kind: Kind, namespace: str, version: str) -> dict[str, Any]:
    """Return the metadata of a sent object. Raises BadRequest if its envelope does not match the path."""
    if not isinstance(tree, dict):
        raise BadRequest(f"the body must be one {kind.kind} object")
    required_api_version = kind.api_version(version)
    api_version = tree.get("apiVersion", required_api_version)
    if api_version != required_api_version:
        raise BadRequest(f"apiVersion {api_version!r} in the body does not match the path, which requires {required_api_version!r}")
    if tree.get("kind", kind.kind) != kind.kind:
        raise BadRequest(f"kind {tree['kind']!r} in the body does not match the path, which requires {kind.kind!r}")
    metadata = _object_member(tree, "metadata")
    if metadata.get("namespace") not in (None, "", namespace):
        raise BadRequest(f"metadata.namespace is {metadata['namespace']!r}, but the path names {namespace!r}; they must agree")
    return metadata


def _object_member(tree: dict[str, Any], field: str) -> dict[str, Any]:
    """Return a member that is an object; an empty one if the member is missing. Raises BadRequest if it is not an object."""
    member = tree.get(field)
    if member is None:
        return {}
    if not isinstance(member, dict):
        raise BadRequest(f"{field} must be an object")
    return member


def _list_member(metadata: dict[str, Any], field: str) -> list[Any]:
    """Return a member that is a list; an empty one if the member is missing. Raises BadRequest if it is not a list."""
    member = metadata.get(field)
    if member is None:
        return []
    if not isinstance(member, list):
        raise BadRequest(f"metadata.{field} must be a list")
    return member


def _managed_fields(metadata: dict[str, Any]) -> object:
    """Return the sent ``managedFields`` unchecked. Raises BadRequest if there are too many entries."""
    entries = metadata.get("managedFields")
    if isinstance(entries, list) and len(entries) > MAX_ENTRIES:
        raise BadRequest(f"metadata.managedFields has {len(entries)} entries, and {MAX_ENTRIES} is the limit; [{{}}] drops all of them")
    return entries


def _new_name(metadata: dict[str, Any], kind: Kind) -> str:
    """Return the name of a new object, sent or generated. Raises Invalid without ``name`` and ``generateName``."""
    name = names.requested_name(metadata)
    if not name:
        raise kind.invalid("", [Cause("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")])
    return name


MAX_OWNER_REFERENCES: Final = 100
"""Limit on the owner references of one object."""

_OWNER_REFERENCES: Final = "metadata.ownerReferences"
# Members of an owner reference.
_REQUIRED_STRINGS: Final = ("apiVersion", "kind", "name", "uid")
_BOOLEANS: Final = ("controller", "blockOwnerDeletion")
_OWNER_REFERENCE_MEMBERS: Final = (*_REQUIRED_STRINGS, *_BOOLEANS)


def owner_references(metadata: dict[str, Any], kind: Kind, name: str) -> list[dict[str, Any]]:
    """Return the sent owner references, without boolean members that are null. Raises Invalid for malformed references."""
    sent_references = metadata.get("ownerReferences")
    if sent_references is None:
        return []
    if not isinstance(sent_references, list) or not all(isinstance(item, dict) for item in sent_references):
        raise kind.invalid(name, [Cause(_OWNER_REFERENCES, "FieldValueTypeInvalid", "Invalid value: must be a list of objects")])
    if len(sent_references) > MAX_OWNER_REFERENCES:
        raise kind.invalid(
            name,
            [
                Cause(
                    _OWNER_REFERENCES,
                    "FieldValueTooMany",
                    f"Too many: {len(sent_references)}: must have at most {MAX_OWNER_REFERENCES} items",
                )
            ],
        )
    references = [{key: value for key, value in item.items() if key not in _BOOLEANS or value is not None} for item in sent_references]
    if causes := [
        cause for index, reference in enumerate(references) for cause in _owner_reference_causes(reference, f"{_OWNER_REFERENCES}[{index}]")
    ]:
        raise kind.invalid(name, causes)
    return references


def _owner_reference_causes(reference: dict[str, Any], field: str) -> list[Cause]:
    """Return the faults of one owner reference. ``field`` is its path in the object."""
    causes = [
        Cause(f"{field}.{key}", "FieldValueRequired", "Required value: must be text, and not empty")
        for key in _REQUIRED_STRINGS
        if not isinstance(reference.get(key), str) or not reference[key]
    ]
    causes += [
        Cause(f"{field}.{key}", "FieldValueTypeInvalid", "Invalid value: must be true or false")
        for key in _BOOLEANS
        if not isinstance(reference.get(key, False), bool)
    ]
    if unknown_members := sorted(reference.keys() - set(_OWNER_REFERENCE_MEMBERS)):
        unknown_member = unknown_members[0][:_MAX_QUOTED_NAME]
        message = f"Invalid value: a reference has no member {unknown_member!r}; it has {', '.join(_OWNER_REFERENCE_MEMBERS)}"
        causes.append(Cause(field, "FieldValueInvalid", message))
    return causes

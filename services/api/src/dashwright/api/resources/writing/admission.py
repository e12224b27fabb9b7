"""Admission: the model and the rules of a kind turn a desired object into the row to write."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ValidationError

from dashwright.api.resources.metadata import annotations_of
from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.common.errors import BadRequest, Cause, Invalid, TooLarge
from dashwright.common.json_documents import check_strings, json_equal, read_json, write_json
from dashwright.common.kinds.annotations import FOLDER_KEY, MANAGED_BY, MESSAGE, REPOSITORY_MANAGER, SET_BY_MANAGER
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Extract, Kind
from dashwright.common.kinds.naming import check_object_name
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.kinds.version_messages import restored_generation
from dashwright.common.models.causes import causes_of
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

MAX_SPEC_LENGTH: Final = 5 * 1024 * 1024
"""Limit on the characters of a spec after admission."""


class Admission(NamedTuple):
    """The row to write and the trees of the new and the stored body."""

    write: resources.Write
    #: The tree of the body to store.
    body: dict[str, Any]
    #: The tree of the stored body; None for a new object.
    current_body: dict[str, Any] | None


def admit(desired: DesiredObject, namespace: str, settings: AdmissionSettings, current: StoredObject | None = None) -> Admission:
    """Return the admitted object, which replaces ``current`` if there is one. Raises Invalid with a cause for each fault, and TooLarge.

    If the spec equals that of ``current``, the stored spec and its version are kept, so that the write does not change them.
    """
    kind = desired.kind
    current_body: dict[str, Any] | None = None if current is None else read_json(current.spec)
    body = desired.spec
    if not desired.is_stored_body:
        body = kind.body_of(None if current is None else current.body, desired.version, body)
    if kind.spec is not None:
        body = _validate_member(kind, kind.spec, desired.name, body)
    # Numbers are compared by value, so that 1 instead of 1.0 does not count as a change.
    unchanged_object = current if current is not None and json_equal(body, current_body) else None
    version = desired.version if unchanged_object is None else unchanged_object.stored_version
    draft = Draft(desired.name, namespace, body, dict(desired.labels), _annotations_to_store(desired), current_body, version)
    if kind.dns_name:
        check_object_name(desired.name)
    if kind.admit is not None:
        kind.admit(draft, settings)
    # All causes are in one response, so that a client can correct all faults before it sends the object again.
    if draft.causes:
        raise kind.invalid(desired.name, draft.causes)
    extract = kind.extract(draft.spec)
    title = _title(desired, extract, current, current_body)
    require_storable_strings(title)
    spec = write_json(draft.spec).decode() if unchanged_object is None else unchanged_object.spec
    if unchanged_object is None and len(spec) > MAX_SPEC_LENGTH:
        raise TooLarge(
            f"the spec of {kind.singular} {desired.name!r} has more than {MAX_SPEC_LENGTH} characters; make it smaller or split it"
        )
    # None: the stored status is kept.
    status = None if current is None or unchanged_object else kind.preserved_status(current.body, version, extract)
    write = resources.Write(
        kind,
        desired.name,
        spec,
        kind.stored_version(version, extract),
        extract=extract._replace(title=title),
        labels=draft.labels,
        annotations=draft.annotations,
        finalizers=desired.finalizers,
        owner_references=desired.owner_references,
        number=desired.numeric_id,
        restored_from=desired.restored_from or _restored_from(desired),
        status=status,
    )
    return Admission(write, draft.spec, current_body)


def validated_status(kind: Kind, name: str, status: dict[str, Any]) -> dict[str, Any]:
    """Return a status with defaults and without unknown fields. Raises Invalid for values that its model does not allow."""
    assert kind.status is not None, f"{kind.plural} have no status to write"
    return _validate_member(kind, kind.status, name, status, "status")


def _title(desired: DesiredObject, extract: Extract, current: StoredObject | None, current_body: Mapping[str, Any] | None) -> str:
    """Return the title to store.

    The stored title can differ from the title in the stored spec. Then it is kept until the title in the spec changes.
    """
    if desired.title is not None:
        return desired.title
    if current is None or current_body is None or current.title == extract.title:
        return extract.title
    return current.title if desired.kind.extract(current_body).title == extract.title else extract.title


def _restored_from(desired: DesiredObject) -> int | None:
    """Return the generation that a client restores by a message such as ``Restored from version 3``, or None."""
    return restored_generation(desired.annotations.get(MESSAGE, "")) if desired.kind.history else None


def without_repeated_message(desired: DesiredObject, current: StoredObject) -> DesiredObject:
    """Return the desired object without a message that equals the stored one: clients send back the message that they read."""
    message = desired.annotations.get(MESSAGE)
    if desired.is_stored_body or message is None or message != annotations_of(current).get(MESSAGE):
        return desired
    return replace(desired, annotations={key: value for key, value in desired.annotations.items() if key != MESSAGE})


def require_storable_strings(tree: Any) -> None:
    """Raise BadRequest for strings that the database cannot store."""
    try:
        check_strings(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error


def _annotations_to_store(desired: DesiredObject) -> dict[str, str]:
    """Return the sent annotations without an empty folder, and without a repository as manager, because only a sync may set one."""
    is_manager_repository = desired.annotations.get(MANAGED_BY) == REPOSITORY_MANAGER
    annotations = {key: value for key, value in desired.annotations.items() if not (is_manager_repository and key in SET_BY_MANAGER)}
    if not annotations.get(FOLDER_KEY):
        annotations.pop(FOLDER_KEY, None)
    return annotations


def _validate_member(kind: Kind, model: type[BaseModel], name: str, value: dict[str, Any], member: str = "spec") -> dict[str, Any]:
    """Return one member of an object with defaults and without unknown fields. Raises Invalid for values that ``model`` does not allow."""
    try:
        validated_member = model.model_validate_json(write_json(value))
    except ValidationError as error:
        # The field of an error about the whole member is empty.
        causes = [Cause(f"{member}.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise kind.invalid(name, causes) from error
    tree: dict[str, Any] = validated_member.model_dump(mode="json", by_alias=True, exclude_none=True)
    return tree

"""Admission: from a desired object to the row to write, by the kind's model and rules."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ValidationError

from dashwright.api.resources.metadata import annotations_of
from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.common.document import check_texts, json_equal, read_json, write_json
from dashwright.common.errors import BadRequest, Cause, Invalid, TooLarge
from dashwright.common.kinds import rendering
from dashwright.common.kinds.annotations import FOLDER_KEY, MANAGED_BY, MESSAGE, REPOSITORY_MANAGER, SET_BY_MANAGER
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Extract, Kind
from dashwright.common.kinds.naming import check_object_name
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.causes import causes_of
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

LARGEST_SPEC: Final = 5 * 1024 * 1024
"""Characters of a spec, after admission."""

_RESTORED: Final = re.compile(r"Restored from version ([1-9][0-9]{0,17})")


class Admission(NamedTuple):
    """The row to write and the trees of the new and the stored body."""

    write: resources.Write
    #: The tree of the body to store.
    body: dict[str, Any]
    #: The tree of the stored body; None for a new object.
    old: dict[str, Any] | None


def admit(desired: DesiredObject, namespace: str, settings: AdmissionSettings, stored: StoredObject | None = None) -> Admission:
    """Return the admitted object. Raises Invalid with one cause for each fault, and TooLarge.

    If the spec equals that of ``stored``, its text and version are kept, so that the write changes nothing.
    """
    kind = desired.kind
    old: dict[str, Any] | None = None if stored is None else read_json(stored.spec)
    body = desired.spec
    if not desired.is_body:
        body = rendering.body_of(kind, None if stored is None else stored.body, desired.version, body)
    if kind.spec is not None:
        body = _validated(kind, kind.spec, desired.name, body)
    # Numbers are compared by value, so another spelling of an equal body keeps the stored text.
    kept = stored if stored is not None and json_equal(body, old) else None
    version = desired.version if kept is None else kept.stored_version
    draft = Draft(desired.name, namespace, body, dict(desired.labels), _annotations(desired), old, version)
    if kind.dns_name:
        check_object_name(desired.name)
    if kind.admit is not None:
        kind.admit(draft, settings)
    # All faults in one response, so that a client need not send the object once for each.
    if draft.causes:
        raise kind.invalid(desired.name, draft.causes)
    extract = kind.extract(draft.spec)
    title = _title(desired, extract, stored, old)
    require_texts(title)
    text = write_json(draft.spec).decode() if kept is None else kept.spec
    if kept is None and len(text) > LARGEST_SPEC:
        raise TooLarge(f"the spec of {kind.singular} {desired.name!r} has more than {LARGEST_SPEC} characters; make it smaller or split it")
    write = resources.Write(
        kind,
        desired.name,
        text,
        rendering.stored_version(kind, version, extract),
        extract=extract._replace(title=title),
        labels=draft.labels,
        annotations=draft.annotations,
        finalizers=desired.finalizers,
        owner_references=desired.owner_references,
        number=desired.number,
        restored_from=desired.restored_from or _restored_from(desired),
    )
    return Admission(write, draft.spec, old)


def validated_status(kind: Kind, name: str, status: dict[str, Any]) -> dict[str, Any]:
    """Return a status with defaults filled in and unknown fields dropped. Raises Invalid."""
    assert kind.status is not None, f"{kind.plural} have no status to write"
    return _validated(kind, kind.status, name, status, "status")


def _title(desired: DesiredObject, extract: Extract, stored: StoredObject | None, old: Mapping[str, Any] | None) -> str:
    """Return the title to store. A title that differs from the spec's is kept until the spec's title changes."""
    if desired.title is not None:
        return desired.title
    if stored is None or old is None or stored.title == extract.title:
        return extract.title
    return stored.title if desired.kind.extract(old).title == extract.title else extract.title


def _restored_from(desired: DesiredObject) -> int | None:
    """Return the generation that the write restores, as its message names it. Grafana's clients mark a restore this way."""
    found = _RESTORED.fullmatch(desired.annotations.get(MESSAGE, "")) if desired.kind.history else None
    return None if found is None else int(found[1])


def without_old_message(desired: DesiredObject, stored: StoredObject) -> DesiredObject:
    """Return the desired object without the message of the stored version, which clients send back with the object they read."""
    message = desired.annotations.get(MESSAGE)
    if desired.is_body or message is None or message != annotations_of(stored).get(MESSAGE):
        return desired
    return replace(desired, annotations={key: text for key, text in desired.annotations.items() if key != MESSAGE})


def require_texts(tree: Any) -> None:
    """Raise BadRequest for text that the database cannot store."""
    try:
        check_texts(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error


def _annotations(desired: DesiredObject) -> dict[str, str]:
    """Return the sent annotations without the claim of a repository and without the root folder."""
    is_claimed = desired.annotations.get(MANAGED_BY) == REPOSITORY_MANAGER
    given = {key: text for key, text in desired.annotations.items() if not (is_claimed and key in SET_BY_MANAGER)}
    if not given.get(FOLDER_KEY):
        given.pop(FOLDER_KEY, None)
    return given


def _validated(kind: Kind, model: type[BaseModel], name: str, part: dict[str, Any], called: str = "spec") -> dict[str, Any]:
    """Return one part of an object with defaults filled in and unknown fields dropped. Raises Invalid."""
    try:
        shaped = model.model_validate_json(write_json(part))
    except ValidationError as error:
        causes = [Cause(f"{called}.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise kind.invalid(name, causes) from error
    result: dict[str, Any] = shaped.model_dump(mode="json", by_alias=True, exclude_none=True)
    return result

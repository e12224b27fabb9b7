"""From the object that is wanted to the row that is written: the kind's model, its rules, and what of the old body stays."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ValidationError

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
"""Characters of a spec, however it came to be."""

_RESTORED: Final = re.compile(r"Restored from version ([1-9][0-9]{0,17})")


class Admission(NamedTuple):
    """What is to be written, and the trees of its body and of the stored one."""

    write: resources.Write
    body: dict[str, Any]
    old: dict[str, Any] | None


def admit(wanted: DesiredObject, namespace: str, settings: AdmissionSettings, stored: StoredObject | None = None) -> Admission:
    """Checks an object by its kind's model and rules. Raises Invalid with one cause a fault.

    A spec that says what ``stored`` says already keeps the stored text, and its version.
    """
    kind = wanted.kind
    old: dict[str, Any] | None = None if stored is None else read_json(stored.spec)
    body = wanted.spec
    if not wanted.is_body:
        body = rendering.body_of(kind, None if stored is None else stored.body, wanted.version, body)
    if kind.spec is not None:
        body = _validated(kind, kind.spec, wanted.name, body)
    kept = stored if stored is not None and json_equal(body, old) else None
    version = wanted.version if kept is None else kept.stored_version
    draft = Draft(wanted.name, namespace, body, dict(wanted.labels), _annotations(wanted), old, version)
    if kind.dns_name:
        check_object_name(wanted.name)
    if kind.admit is not None:
        kind.admit(draft, settings)
    if draft.causes:
        raise kind.invalid(wanted.name, draft.causes)
    extract = kind.extract(draft.spec)
    title = _title(wanted, extract, stored, old)
    require_texts(title)
    text = write_json(draft.spec).decode() if kept is None else kept.spec
    if kept is None and len(text) > LARGEST_SPEC:
        raise TooLarge(f"the spec of {kind.singular} {wanted.name!r} would have more than {LARGEST_SPEC} characters, the most there may be")
    write = resources.Write(
        kind,
        wanted.name,
        text,
        rendering.stored_version(kind, version, extract),
        extract=extract._replace(title=title),
        labels=draft.labels,
        annotations=draft.annotations,
        finalizers=wanted.finalizers,
        owner_references=wanted.owner_references,
        number=wanted.number,
        restored_from=wanted.restored_from or _restored_from(wanted),
    )
    return Admission(write, draft.spec, old)


def validated_status(kind: Kind, name: str, status: dict[str, Any]) -> dict[str, Any]:
    """A status with defaults written and unknown fields dropped. Raises Invalid."""
    assert kind.status is not None, f"{kind.plural} have no status to write"
    return _validated(kind, kind.status, name, status, "status")


def _title(wanted: DesiredObject, extract: Extract, stored: StoredObject | None, old: Mapping[str, Any] | None) -> str:
    """One that an object was given beside its spec stays as long as the title in the spec does."""
    if wanted.title is not None:
        return wanted.title
    if stored is None or old is None or stored.title == extract.title:
        return extract.title
    return stored.title if wanted.kind.extract(old).title == extract.title else extract.title


def _restored_from(wanted: DesiredObject) -> int | None:
    """The generation that the message of the write names: so clients say that they restore one."""
    found = _RESTORED.fullmatch(wanted.annotations.get(MESSAGE, "")) if wanted.kind.history else None
    return None if found is None else int(found[1])


def require_texts(tree: Any) -> None:
    """Raises BadRequest for a text that cannot be stored."""
    try:
        check_texts(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error


def _annotations(wanted: DesiredObject) -> dict[str, str]:
    """As given, but that a repository owned it, and with the root folder left out."""
    is_claimed = wanted.annotations.get(MANAGED_BY) == REPOSITORY_MANAGER
    given = {key: text for key, text in wanted.annotations.items() if not (is_claimed and key in SET_BY_MANAGER)}
    if not given.get(FOLDER_KEY):
        given.pop(FOLDER_KEY, None)
    return given


def _validated(kind: Kind, model: type[BaseModel], name: str, part: dict[str, Any], called: str = "spec") -> dict[str, Any]:
    """The spec, or another part, with defaults written and unknown fields dropped."""
    try:
        shaped = model.model_validate_json(write_json(part))
    except ValidationError as error:
        causes = [Cause(f"{called}.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise kind.invalid(name, causes) from error
    result: dict[str, Any] = shaped.model_dump(mode="json", by_alias=True, exclude_none=True)
    return result

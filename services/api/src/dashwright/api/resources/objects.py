"""From the body of a request to an object that may be stored: envelope, name, model, admission."""

import secrets
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from dashwright.common.document import check_depth, check_texts, read_json, write_json
from dashwright.common.errors import BadRequest, Cause, Invalid, TooLarge
from dashwright.common.kinds import rendering
from dashwright.common.kinds.annotations import SET_BY_MANAGER
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.naming import check_object_name
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.causes import causes_of
from dashwright.common.stores import resources

LARGEST_METADATA = 256 * 1024
"""Characters of all labels, or all annotations, as Kubernetes has it."""

_SUFFIX = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True)
class Submitted:
    """An object as a client sent it, its envelope checked. ``spec`` is plain JSON data."""

    name: str
    version: str
    spec: dict[str, Any]
    labels: dict[str, str]
    annotations: dict[str, str]


def read(body: bytes, kind: Kind, namespace: str, version: str) -> Submitted:
    """Reads an object to create. Raises BadRequest for an envelope that does not belong here."""
    value = _tree(body)
    if not isinstance(value, dict):
        raise BadRequest(f"the body must be one {kind.kind} object")
    _check_envelope(value, kind, version)
    metadata = _object(value, "metadata")
    _check_texts(metadata if kind.spec is None else value)
    if metadata.get("namespace") not in (None, "", namespace):
        raise BadRequest(f"metadata.namespace is {metadata['namespace']!r}, but the path names {namespace!r}; they must agree")
    if metadata.get("resourceVersion"):
        raise BadRequest("resourceVersion should not be set on objects to be created")
    spec = value.get("spec")
    if not isinstance(spec, dict):
        raise _invalid(kind, metadata.get("name") or "", [Cause("spec", "FieldValueRequired", "Required value: spec must be an object")])
    name = _name(metadata, kind)
    if faults := rendering.faults_of(kind, spec):
        raise _invalid(kind, name, faults)
    return Submitted(
        name,
        version,
        spec,
        _texts(metadata, "labels"),
        {key: text for key, text in _texts(metadata, "annotations").items() if key not in SET_BY_MANAGER},
    )


def _tree(body: bytes) -> Any:
    try:
        tree = read_json(body.decode())
        check_depth(tree)
    except UnicodeDecodeError as error:
        raise BadRequest("the body is not UTF-8 text") from error
    except Invalid as error:
        raise BadRequest(f"the body cannot be read: {error.message}") from error
    return tree


def _check_texts(tree: Any) -> None:
    try:
        check_texts(tree)
    except Invalid as error:
        raise BadRequest(error.message) from error


def _check_envelope(value: dict[str, Any], kind: Kind, version: str) -> None:
    wanted = kind.api_version(version)
    api_version = value.get("apiVersion", wanted)
    if api_version != wanted:
        raise BadRequest(f"apiVersion {api_version!r} in the body does not match the path, which wants {wanted!r}")
    if value.get("kind", kind.kind) != kind.kind:
        raise BadRequest(f"kind {value['kind']!r} in the body does not match the path, which wants {kind.kind!r}")


def _object(value: dict[str, Any], field: str) -> dict[str, Any]:
    found = value.get(field)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadRequest(f"{field} must be an object")
    return found


def _texts(metadata: dict[str, Any], field: str) -> dict[str, str]:
    found = _object(metadata, field)
    if not all(isinstance(text, str) for text in found.values()):
        raise BadRequest(f"metadata.{field} must map text to text")
    if sum(len(key) + len(text) for key, text in found.items()) > LARGEST_METADATA:
        raise TooLarge(f"metadata.{field} holds more than {LARGEST_METADATA} characters; keep notes of that size elsewhere")
    return found


def _name(metadata: dict[str, Any], kind: Kind) -> str:
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if not isinstance(name, str) or not isinstance(prefix, str):
        raise BadRequest("metadata.name and metadata.generateName must be text")
    if not name and not prefix:
        raise _invalid(kind, "", [Cause("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")])
    return name or prefix + "".join(secrets.choice(_SUFFIX) for _ in range(8))


def admit(submitted: Submitted, kind: Kind, namespace: str, settings: AdmissionSettings) -> resources.Write:
    """Checks an object by its kind's model and rules. Raises Invalid with one cause a fault."""
    spec = submitted.spec
    draft = Draft(submitted.name, namespace, spec, submitted.labels, submitted.annotations, version=submitted.version)
    if kind.dns_name:
        check_object_name(submitted.name)
    if kind.spec is not None:
        draft.spec = _shaped(kind, kind.spec, submitted.name, draft.spec)
    if kind.admit is not None:
        kind.admit(draft, settings)
    if draft.causes:
        raise _invalid(kind, submitted.name, draft.causes)
    extract = kind.extract(draft.spec)
    _check_texts(extract.title)
    return resources.Write(
        kind,
        submitted.name,
        write_json(draft.spec).decode(),
        rendering.stored_version(kind, submitted.version, extract),
        extract=extract,
        labels=draft.labels,
        annotations=draft.annotations,
    )


def _shaped(kind: Kind, model: type[BaseModel], name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with defaults written and unknown fields dropped."""
    try:
        shaped = model.model_validate_json(write_json(spec))
    except ValidationError as error:
        causes = [Cause(f"spec.{cause.field}" if cause.field else "spec", cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise _invalid(kind, name, causes) from error
    result: dict[str, Any] = shaped.model_dump(mode="json", by_alias=True, exclude_none=True)
    return result


def _invalid(kind: Kind, name: str, causes: list[Cause]) -> Invalid:
    """The text that clients print: ``Repository.provisioning.grafana.app "x" is invalid: …``, several faults in brackets."""
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return Invalid(
        f'{kind.kind}.{kind.group} "{name}" is invalid: {joined}',
        causes=causes,
        details={"name": name, "group": kind.group, "kind": kind.kind},
    )

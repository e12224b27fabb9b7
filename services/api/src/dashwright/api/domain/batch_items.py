"""Items of batches as clients send them: their checks, and the permissions that they need."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from dashwright.api.domain import job_rules, submissions, unknown_fields
from dashwright.common.errors import BadRequest, Cause, Forbidden, Invalid
from dashwright.common.identity import Identity
from dashwright.common.json_documents import write_json
from dashwright.common.kinds.batch import canonical_spec
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.models.batch import MAX_ID_LENGTH, BatchItem, ItemKind
from dashwright.common.models.causes import causes_of, sentence
from dashwright.common.models.evaluation import EvaluationSpec
from dashwright.common.models.provisioning import JobSpec

#: Kinds of items by name.
KINDS: Final[Mapping[str, Kind]] = MappingProxyType({JOB.kind: JOB, EVALUATION.kind: EVALUATION})

#: Verb in the name of the audit event of a submission of items.
SUBMIT_VERB: Final = "submit"

#: Limit on the bytes of one item.
MAX_ITEM_BYTES: Final = 1024 * 1024

_MAX_UNKNOWN_FIELDS: Final = 100
"""Limit on the unknown fields that are collected for one item."""


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """An item that passed all checks that need no stored objects."""

    id: str | None
    kind: ItemKind
    spec: str  #: JSON with sorted keys.
    job: JobSpec | None = None  #: The parsed spec of a job.


@dataclass(frozen=True, slots=True)
class RefusedItem:
    """An item that cannot be accepted."""

    id: str | None  #: None if the item has no valid id.
    message: str


def read_line(data: bytes) -> CheckedItem | RefusedItem:
    """Return the item in a line of JSON, or why it is refused."""
    try:
        value = submissions.parse_json(data)
    except BadRequest as error:
        return RefusedItem(None, error.message.replace("the body", "the item", 1))
    return read_item(value)


def read_item(value: Any) -> CheckedItem | RefusedItem:
    """Return the item in a JSON value without NUL characters, or why it is refused. Unknown fields are refused."""
    try:
        item = _validate(value)
        spec, job = _read_spec(item, value)
        # One message may contain several items, so the size of an item is taken from its spec.
        return CheckedItem(item.id, item.kind, spec, job) if len(spec) <= MAX_ITEM_BYTES else too_large(item.id)
    except ValidationError as error:
        return RefusedItem(_id_of(value), sentence(causes_of(error) or ()))
    except Invalid as error:
        return RefusedItem(_id_of(value), sentence(error.causes) if error.causes else error.message)


def too_large(item_id: str | None = None) -> RefusedItem:
    """Return an item that is refused because of its size."""
    return RefusedItem(item_id, f"the item has more than {MAX_ITEM_BYTES:,} bytes; send less data in one item")


def missing_permission(kind: Kind, caller: Identity) -> str | None:
    """Return why a caller may not submit items of a kind, or None."""
    missing_actions = [action for action, scope in kind.create_permissions if not caller.may(action, scope)]
    return f"{caller.login} may not submit {kind.plural}; needed: {', '.join(missing_actions)}" if missing_actions else None


def require_permissions(kinds: set[str], caller: Identity) -> None:
    """Raise Forbidden if a caller may not create items of these kinds."""
    for name, kind in KINDS.items():
        if name in kinds and (message := missing_permission(kind, caller)) is not None:
            raise Forbidden(message)


def _validate(value: Any) -> BatchItem:
    """Return a JSON value as a BatchItem. Raises ValidationError."""
    try:
        return BatchItem.model_validate(value)
    except ValidationError:
        # Parsed again as JSON: only then pydantic's messages name types as JSON does ("object", "array").
        return BatchItem.model_validate_json(write_json(value))


def _read_spec(item: BatchItem, value: Any) -> tuple[str, JobSpec | None]:
    """Return the spec as JSON, and parsed if it is that of a job. Raises Invalid with a cause for each fault."""
    model = EvaluationSpec if item.kind == EVALUATION.kind else JobSpec
    causes: list[Cause] = []
    spec: EvaluationSpec | JobSpec | None
    if model is JobSpec:
        causes, spec = job_rules.read_job_spec(item.spec, "spec.")
    else:
        try:
            spec = EvaluationSpec.model_validate_json(write_json(item.spec))
        except ValidationError as error:
            spec = None
            # A fault of the whole spec has an empty field.
            causes = [Cause(f"spec.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
    fields = [*unknown_fields.find_in_value(BatchItem, value, ""), *unknown_fields.find_in_value(model, item.spec, "spec")]
    causes += unknown_fields.causes(islice(fields, _MAX_UNKNOWN_FIELDS))
    if causes or spec is None:
        raise Invalid("the item is invalid", causes=causes)
    return canonical_spec(spec), spec if isinstance(spec, JobSpec) else None


def _id_of(value: Any) -> str | None:
    """Return the id of a refused item, or None if it has no valid id."""
    item_id = value.get("id") if isinstance(value, dict) else None
    return item_id if isinstance(item_id, str) and 0 < len(item_id) <= MAX_ID_LENGTH else None

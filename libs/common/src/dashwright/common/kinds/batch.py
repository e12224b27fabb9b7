"""Admission of batches, and the normal form of their items."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

import orjson
from pydantic import BaseModel, ValidationError

from dashwright.common.errors import Cause
from dashwright.common.json_documents import write_json
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.notifications import check_notify
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.causes import causes_of
from dashwright.common.models.evaluation import EvaluationSpec
from dashwright.common.models.provisioning import JobSpec

#: Models of the specs of items, by kind.
ITEM_MODELS: Final[Mapping[str, type[BaseModel]]] = MappingProxyType({"Job": JobSpec, "Evaluation": EvaluationSpec})

#: Kind of an item that names none.
DEFAULT_ITEM_KIND: Final = "Job"


def admit_batch(draft: Draft, settings: AdmissionSettings) -> None:
    """Check a spec that is valid by the model BatchSpec, and add a cause for each fault."""
    if draft.old_spec is not None and draft.spec.get("items") != draft.old_spec.get("items"):
        draft.forbidden("spec.items", "the items of a batch cannot be changed; create another batch")
        return
    begin, deadline = _time(draft, "notBefore"), _time(draft, "deadline")
    # Other members of a batch can still be changed after its deadline.
    is_new_deadline = draft.old_spec is None or draft.old_spec.get("deadline") != draft.spec.get("deadline")
    if deadline is not None and is_new_deadline and deadline <= datetime.now(UTC):
        draft.invalid("spec.deadline", draft.spec["deadline"], "the deadline is in the past")
    elif begin is not None and deadline is not None and deadline <= begin:
        draft.invalid("spec.deadline", draft.spec["deadline"], "the deadline is before notBefore")
    check_notify(draft, settings.allowed_hosts)
    if draft.old_spec is None:
        _check_items(draft)


def parse_time(value: str) -> datetime:
    """Return the time of an RFC 3339 string. Raises ValueError for any other string and for a time without an offset."""
    time = datetime.fromisoformat(value)
    if time.tzinfo is None:
        raise ValueError(f"{value} has no offset from UTC")
    return time


def normalize_spec(kind: str, spec: Mapping[str, Any]) -> str:
    """Return the spec of an item as JSON with sorted keys, without unknown fields. Raises ValidationError for an invalid spec."""
    return canonical_spec(ITEM_MODELS[kind].model_validate_json(write_json(spec)))


def canonical_spec(model: BaseModel) -> str:
    """Return the spec of an item as JSON with sorted keys, so that equal specs are equal strings."""
    return orjson.dumps(model.model_dump(mode="json", by_alias=True, exclude_none=True), option=orjson.OPT_SORT_KEYS).decode()


def _check_items(draft: Draft) -> None:
    """Add a cause for each invalid item, and for an id that two items have."""
    ids: set[str] = set()
    for index, item in enumerate(draft.spec.get("items") or ()):
        if (item_id := item.get("id")) is not None:
            if item_id in ids:
                draft.duplicate(f"spec.items[{index}].id", item_id)
            ids.add(item_id)
        try:
            normalize_spec(item.get("kind", DEFAULT_ITEM_KIND), item["spec"])
        except ValidationError as error:
            prefix = f"spec.items[{index}].spec"
            draft.causes += [Cause(f"{prefix}.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]


def _time(draft: Draft, member: str) -> datetime | None:
    """Return the time in a member of the spec, or None if it is missing. Add a cause if it is invalid."""
    value = draft.spec.get(member)
    if value is None:
        return None
    try:
        return parse_time(value)
    except ValueError:
        draft.invalid(f"spec.{member}", value, "give a time with an offset (RFC 3339), such as 2030-01-31T12:00:00Z")
        return None

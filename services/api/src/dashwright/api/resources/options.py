"""Options in the query and body of a write: dry run, field manager, field validation and DeleteOptions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import Any, Final

import orjson

from dashwright.api.domain.unknown_fields import UnknownField
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.resources.writing.desired_object import NO_PRECONDITIONS, Preconditions, WriteContext
from dashwright.common.errors import BadRequest, Cause, Invalid

_MAX_NAMED_FIELDS: Final = 20
"""Limit on the unknown fields that one response names."""

_MAX_WARNINGS_LENGTH: Final = 4096
"""Limit on the characters of all warnings of one response."""


class FieldValidation(Enum):
    """How a write treats unknown fields."""

    #: Leave the fields out.
    IGNORE = "Ignore"
    #: Leave the fields out and warn the client.
    WARN = "Warn"
    #: Reject the request.
    STRICT = "Strict"

    def warnings_for(self, fields: Iterable[UnknownField]) -> tuple[str, ...]:
        """Return the warnings about unknown fields. Raises BadRequest if this is STRICT and there are any."""
        if self is FieldValidation.IGNORE:
            return ()
        warnings = tuple(f'unknown field "{field.path}"' for field in islice(fields, _MAX_NAMED_FIELDS))
        if warnings and self is FieldValidation.STRICT:
            raise BadRequest(f"strict decoding error: {', '.join(warnings)}")
        return warnings


DRY_RUN_ALL: Final = "All"
MAX_FIELD_MANAGER_LENGTH: Final = 128
"""Kubernetes' limit on the characters of the name of a field manager."""
_BOOLEANS_BY_NAME: Final = {"": False, "false": False, "f": False, "0": False, "true": True, "t": True, "1": True}
"""Booleans by their lower-case forms in a query, which are those of Go's ``strconv.ParseBool``."""
_PROPAGATION_POLICIES: Final = frozenset({"", "Orphan", "Background", "Foreground"})


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    """The options of a delete."""

    preconditions: Preconditions = NO_PRECONDITIONS
    dry_run: bool = False
    #: Delete a folder with its content.
    cascade: bool = False
    #: The grace period in seconds, or None. 0 also deletes objects that a file provisions.
    grace_seconds: int | None = None


def write_context(call: Call, *, dry_run: bool | None = None, subresource: str = "") -> WriteContext:
    """Return the caller and the options of a write. A ``dry_run`` that is not None replaces the option in the query.

    Raises BadRequest for a ``dryRun`` other than ``All``, and Invalid for a ``fieldManager`` that is too long or not printable.
    """
    field_manager = call.query.get("fieldManager", "")
    if len(field_manager) > MAX_FIELD_MANAGER_LENGTH or not field_manager.isprintable():
        message = f"Invalid value: {field_manager[:40]!r}: at most {MAX_FIELD_MANAGER_LENGTH} printable characters"
        raise Invalid(f"fieldManager: {message}", causes=[Cause("fieldManager", "FieldValueInvalid", message)])
    # Without the parameter, the field manager is the client's program, as in Kubernetes.
    program = "".join(character for character in call.headers.get("User-Agent", "").partition("/")[0] if character.isprintable())
    return WriteContext(
        call.identity,
        call.actor,
        field_manager or program[:MAX_FIELD_MANAGER_LENGTH] or "unknown",
        dry_run=is_dry_run(call) if dry_run is None else dry_run,
        subresource=subresource,
    )


def is_dry_run(call: Call) -> bool:
    """Return whether the request is a dry run. Raises BadRequest for a value other than ``All``."""
    return _requests_dry_run(call.query.getall("dryRun", []))


def check_no_force(call: Call) -> None:
    """Raise Invalid for ``force``, which only an apply may use."""
    if call.query.get("force"):
        raise _patch_options_error("force", "FieldValueForbidden", "Forbidden: may not be specified for non-apply patch")


def apply_context(call: Call) -> WriteContext:
    """Return the context of an apply. Raises Invalid without a field manager."""
    if not call.query.get("fieldManager"):
        raise _patch_options_error("fieldManager", "FieldValueRequired", "Required value: is required for apply patch")
    return replace(write_context(call), operation="Apply")


def forces_conflicts(call: Call) -> bool:
    """Return whether an apply may take fields from other managers. Raises BadRequest if ``force`` is not a boolean."""
    value = call.query.get("force", "")
    if value.lower() not in _BOOLEANS_BY_NAME:
        raise BadRequest(f"force {value[:40]!r} is neither true nor false")
    return _BOOLEANS_BY_NAME[value.lower()]


def _patch_options_error(field: str, reason: str, message: str) -> Invalid:
    """Return the error of Kubernetes for a faulty option of a patch."""
    return Invalid(
        f'PatchOptions.meta.k8s.io "" is invalid: {field}: {message}',
        causes=[Cause(field, reason, message)],
        details={"group": "meta.k8s.io", "kind": "PatchOptions"},
    )


def validation_of(call: Call) -> FieldValidation:
    """Return the treatment of unknown fields; the default is a warning. Raises BadRequest for an unknown value."""
    value = call.query.get("fieldValidation") or FieldValidation.WARN.value
    try:
        return FieldValidation(value)
    except ValueError as error:
        raise BadRequest(f"fieldValidation {value[:40]!r} is not one of Ignore, Warn and Strict") from error


async def read_delete_request(call: Call) -> DeleteRequest:
    """Return the DeleteOptions of a request, from its query and its body, which may be empty. Raises BadRequest for invalid options."""
    options = await _delete_options_body(call)
    preconditions_json = {} if options.get("preconditions") is None else options["preconditions"]
    if not isinstance(preconditions_json, dict):
        raise BadRequest("preconditions must be an object with uid and resourceVersion")
    policy = options.get("propagationPolicy") or call.query.get("propagationPolicy", "")
    if not isinstance(policy, str) or policy not in _PROPAGATION_POLICIES:
        raise BadRequest(f"propagationPolicy {str(policy)[:40]!r} is not one of Orphan, Background and Foreground")
    grace_seconds = options.get("gracePeriodSeconds")
    if grace_seconds is None and (value := call.query.get("gracePeriodSeconds")):
        grace_seconds = parse_integer(value)
        if grace_seconds is None:
            raise BadRequest(f"gracePeriodSeconds {value[:40]!r} is not an integer")
    # In Python, ``True`` and ``False`` are integers, too.
    if grace_seconds is not None and (not isinstance(grace_seconds, int) or isinstance(grace_seconds, bool) or grace_seconds < 0):
        raise BadRequest("gracePeriodSeconds must be an integer that is not negative")
    dry_run = [] if options.get("dryRun") is None else options["dryRun"]
    if not isinstance(dry_run, list):
        raise BadRequest("dryRun of the body must be a list, empty or with the value All")
    preconditions = Preconditions(str(preconditions_json.get("uid") or ""), str(preconditions_json.get("resourceVersion") or ""))
    return DeleteRequest(preconditions, _requests_dry_run(dry_run) or is_dry_run(call), policy == "Foreground", grace_seconds)


async def _delete_options_body(call: Call) -> dict[str, Any]:
    """Return the DeleteOptions in the body, or an empty object. Raises BadRequest for another body."""
    body = await call.body()
    if not body.strip():
        return {}
    try:
        options = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not DeleteOptions in JSON: {error}") from error
    if not isinstance(options, dict):
        raise BadRequest("the body must be a DeleteOptions object, or empty")
    return options


def _requests_dry_run(values: list[Any]) -> bool:
    """Return whether the values of ``dryRun`` request a dry run. Raises BadRequest for a value other than ``All``."""
    non_empty_values = [value for value in values if value != ""]
    for value in non_empty_values:
        if value != DRY_RUN_ALL:
            raise BadRequest(f"dryRun {str(value)[:40]!r} is unknown; the only value is {DRY_RUN_ALL}")
    return bool(non_empty_values)


def warning_headers(warnings: Sequence[str]) -> Mapping[str, str]:
    """Return the Warning header in the format of Kubernetes, or no header. The last warnings are left out if the header is too long."""
    headers: list[str] = []
    # 299 is the code of any persistent warning, and "-" an agent without a name (RFC 7234).
    for warning in warnings:
        escaped = warning.encode("ascii", "backslashreplace").decode().replace("\\", "\\\\").replace('"', '\\"')
        headers.append(f'299 - "{"".join(character for character in escaped if character.isprintable())}"')
    while sum(map(len, headers)) > _MAX_WARNINGS_LENGTH:
        headers.pop()
    return {"Warning": ", ".join(headers)} if headers else {}

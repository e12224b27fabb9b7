"""Options in query and body of a write: dry run, field manager, unknown fields and delete options."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

import orjson

from dashwright.api.domain.unknown_fields import UnknownField
from dashwright.api.http.call import Call, parse_integer
from dashwright.api.resources.writing.desired_object import NO_PRECONDITIONS, Preconditions, WriteContext
from dashwright.common.errors import BadRequest, Cause, Invalid

_MOST: Final = 20
"""Fields that one response names."""

_LONGEST: Final = 4096
"""Characters of all warnings of one response."""


class FieldValidation(Enum):
    """The treatment of unknown fields."""

    #: Drop them.
    IGNORE = "Ignore"
    #: Drop them and warn the client.
    WARN = "Warn"
    #: Refuse the request.
    STRICT = "Strict"

    def warnings_for(self, fields: Iterable[UnknownField]) -> tuple[str, ...]:
        """Return the warnings for unknown fields. Raises BadRequest if they are refused."""
        if self is FieldValidation.IGNORE:
            return ()
        found = tuple(f'unknown field "{field.path}"' for field, _ in zip(fields, range(_MOST), strict=False))
        if found and self is FieldValidation.STRICT:
            raise BadRequest(f"strict decoding error: {', '.join(found)}")
        return found


ALL: Final = "All"
LONGEST_MANAGER: Final = 128
_BOOLEANS: Final = {"": False, "false": False, "f": False, "0": False, "true": True, "t": True, "1": True}
_POLICIES: Final = frozenset({"", "Orphan", "Background", "Foreground"})


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    """The options of a delete."""

    preconditions: Preconditions = NO_PRECONDITIONS
    dry_run: bool = False
    #: Delete a folder with its content.
    cascade: bool = False
    #: Seconds; None if not given. 0 also deletes what a file provisions.
    grace: int | None = None


def write_context(call: Call, *, dry_run: bool | None = None, subresource: str = "") -> WriteContext:
    """Return who writes by a request, and how. Raises BadRequest for a dryRun other than ``All``."""
    manager = call.query.get("fieldManager", "")
    if len(manager) > LONGEST_MANAGER or not manager.isprintable():
        text = f"Invalid value: {manager[:40]!r}: at most {LONGEST_MANAGER} printable characters"
        raise Invalid(f"fieldManager: {text}", causes=[Cause("fieldManager", "FieldValueInvalid", text)])
    # Kubernetes names the manager after the program if the client gives none.
    agent = call.headers.get("User-Agent", "").partition("/")[0]
    return WriteContext(
        call.identity,
        call.actor,
        manager or "".join(character for character in agent if character.isprintable())[:LONGEST_MANAGER] or "unknown",
        dry_run=is_dry_run(call) if dry_run is None else dry_run,
        subresource=subresource,
    )


def is_dry_run(call: Call) -> bool:
    """Return whether the request is a dry run. Raises BadRequest for a value other than ``All``."""
    return _is_all(call.query.getall("dryRun", []))


def check_no_force(call: Call) -> None:
    """Raise Invalid for ``force``, which only an apply may use."""
    if call.query.get("force"):
        raise _patch_options_error("force", "FieldValueForbidden", "Forbidden: may not be specified for non-apply patch")


def apply_context(call: Call) -> WriteContext:
    """Return the context of an apply. Raises Invalid without a field manager."""
    if not call.query.get("fieldManager"):
        raise _patch_options_error("fieldManager", "FieldValueRequired", "Required value: is required for apply patch")
    return replace(write_context(call), operation="Apply")


def is_forced(call: Call) -> bool:
    """Return whether an apply takes fields from other managers. Raises BadRequest for a value that is not a boolean."""
    text = call.query.get("force", "")
    if text.lower() not in _BOOLEANS:
        raise BadRequest(f"force {text[:40]!r} is neither true nor false")
    return _BOOLEANS[text.lower()]


def _patch_options_error(field: str, reason: str, text: str) -> Invalid:
    return Invalid(
        f'PatchOptions.meta.k8s.io "" is invalid: {field}: {text}',
        causes=[Cause(field, reason, text)],
        details={"group": "meta.k8s.io", "kind": "PatchOptions"},
    )


def validation_of(call: Call) -> FieldValidation:
    """Return the treatment of unknown fields; the default is a warning. Raises BadRequest for an unknown value."""
    value = call.query.get("fieldValidation") or FieldValidation.WARN.value
    try:
        return FieldValidation(value)
    except ValueError as error:
        raise BadRequest(f"fieldValidation {value[:40]!r} is not one of Ignore, Warn and Strict") from error


async def delete_request_of(call: Call) -> DeleteRequest:
    """Return the DeleteOptions of a request, from its query and its body, which may be empty. Raises BadRequest."""
    sent = await _delete_options_body(call)
    given = {} if sent.get("preconditions") is None else sent["preconditions"]
    if not isinstance(given, dict):
        raise BadRequest("preconditions must be an object with uid and resourceVersion")
    policy = sent.get("propagationPolicy") or call.query.get("propagationPolicy", "")
    if not isinstance(policy, str) or policy not in _POLICIES:
        raise BadRequest(f"propagationPolicy {str(policy)[:40]!r} is not one of Orphan, Background and Foreground")
    grace = sent.get("gracePeriodSeconds")
    if grace is None and (text := call.query.get("gracePeriodSeconds")):
        grace = parse_integer(text)
        if grace is None:
            raise BadRequest(f"gracePeriodSeconds {text[:40]!r} is not an integer")
    if grace is not None and (not isinstance(grace, int) or isinstance(grace, bool) or grace < 0):
        raise BadRequest("gracePeriodSeconds must be an integer that is not negative")
    dry_run = [] if sent.get("dryRun") is None else sent["dryRun"]
    if not isinstance(dry_run, list):
        raise BadRequest("dryRun must be a list")
    preconditions = Preconditions(str(given.get("uid") or ""), str(given.get("resourceVersion") or ""))
    return DeleteRequest(preconditions, _is_all(dry_run) or is_dry_run(call), policy == "Foreground", grace)


async def _delete_options_body(call: Call) -> dict[str, Any]:
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


def _is_all(values: list[Any]) -> bool:
    given = [value for value in values if value != ""]
    if any(value != ALL for value in given):
        raise BadRequest(f"dryRun {str(given[0])[:40]!r} is not understood; the only value is {ALL}")
    return bool(given)


def warning_headers(warnings: Sequence[str]) -> Mapping[str, str]:
    """Return warnings as Kubernetes' clients print them. Warnings beyond the limit are left out."""
    texts: list[str] = []
    for warning in warnings:
        escaped = warning.encode("ascii", "backslashreplace").decode().replace("\\", "\\\\").replace('"', '\\"')
        texts.append(f'299 - "{"".join(character for character in escaped if character.isprintable())}"')
    while sum(map(len, texts)) > _LONGEST:
        texts.pop()
    return {"Warning": ", ".join(texts)} if texts else {}

"""The readiness of a repository as its status shows it. Pure."""

from datetime import UTC, datetime
from typing import Final, Literal

from dashwright.common.errors import DashwrightError, Forbidden
from dashwright.common.models.provisioning import Condition, FieldError, HealthStatus, RepositorySpec, RepositoryStatus, RepositoryType
from dashwright.common.secrets import SecretUnreadable

_READY: Final = "Ready"
_NOT_SYNCED: Final = ["the repository cannot be read, and is not synced until it can be"]


def field_of(spec: RepositorySpec, error: DashwrightError) -> str:
    """Return the field to change so that a repository can be read, by the type of the error."""
    if error.causes:
        return error.causes[0].field.replace("spec.githost", f"spec.{spec.type}", 1)
    if spec.type is RepositoryType.LOCAL:
        return "spec.local.path"
    return f"spec.{spec.type}.{'token' if isinstance(error, Forbidden | SecretUnreadable) else 'url'}"


def observe(status: RepositoryStatus, spec: RepositorySpec, error: DashwrightError | None, *, generation: int, now: int) -> None:
    """Write into a status that a repository was read, or the error that prevented it. ``now`` is in Unix milliseconds."""
    if error is None:
        status.health = HealthStatus(healthy=True, checked=now)
        status.field_errors = None
        status.sync.message = [] if status.sync.message == _NOT_SYNCED else status.sync.message
        ready = _condition(status, "True", "Available", "The repository can be read", generation, now)
    else:
        status.health = HealthStatus(healthy=False, error="health", checked=now, message=[error.message])
        status.field_errors = [FieldError(type="FieldValueInvalid", field=field_of(spec, error), detail=error.message)]
        status.sync.message = status.sync.message or list(_NOT_SYNCED)
        reason = "InvalidSpec" if error.status < 500 else "Unavailable"
        ready = _condition(status, "False", reason, error.message, generation, now)
    status.conditions = [*(each for each in status.conditions or () if each.type != _READY), ready]


def _condition(
    status: RepositoryStatus, value: Literal["True", "False"], reason: str, message: str, generation: int, now: int
) -> Condition:
    """Return the condition; it keeps its time if the value has not changed."""
    before = next((each for each in status.conditions or () if each.type == _READY and each.status == value), None)
    since = datetime.fromtimestamp(now // 1000, UTC).isoformat().replace("+00:00", "Z")
    return Condition(
        type=_READY,
        status=value,
        observed_generation=generation,
        last_transition_time=since if before is None else before.last_transition_time,
        reason=reason,
        message=message,
    )

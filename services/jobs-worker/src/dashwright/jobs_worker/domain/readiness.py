"""The readiness of a repository, as its status describes it: health, field errors and the condition ``Ready``."""

from datetime import UTC, datetime
from typing import Final, Literal

from dashwright.common.errors import DashwrightError, Forbidden
from dashwright.common.kinds.git_addresses import is_ssh_form
from dashwright.common.models.provisioning import Condition, FieldError, HealthStatus, RepositorySpec, RepositoryStatus, RepositoryType
from dashwright.common.secrets import SecretUnreadable

_READY: Final = "Ready"
_NOT_SYNCED_MESSAGES: Final = ["the repository cannot be read, and is not synced until it can be"]
"""Message for a sync status that has none when the repository cannot be read. It is removed when the repository is read again."""


def field_to_correct(spec: RepositorySpec, error: DashwrightError) -> str:
    """Return the field to change so that a repository can be read, by the type of the error."""
    if error.causes:
        # In errors of git, ``spec.githost`` is the section of the spec with the settings of any kind of host.
        return error.causes[0].field.replace("spec.githost", f"spec.{spec.type}", 1)
    if spec.type is RepositoryType.LOCAL:
        return "spec.local.path"
    if not isinstance(error, Forbidden | SecretUnreadable):
        return f"spec.{spec.type}.url"
    is_ssh = spec.remote is not None and is_ssh_form(spec.remote.url or "")
    return "secure.sshKey" if is_ssh else f"spec.{spec.type}.token"


def set_readiness(status: RepositoryStatus, spec: RepositorySpec, error: DashwrightError | None, *, generation: int, now: int) -> None:
    """Write into ``status`` that the repository was read, or ``error``, which prevented it. ``now`` is in Unix milliseconds."""
    if error is None:
        status.health = HealthStatus(healthy=True, checked=now)
        status.field_errors = None
        status.sync.message = [] if status.sync.message == _NOT_SYNCED_MESSAGES else status.sync.message
        ready_condition = _condition(status, "True", "Available", "The repository can be read", generation, now)
    else:
        # ``error`` is the kind of failure: the repository cannot be read.
        status.health = HealthStatus(healthy=False, error="health", checked=now, message=[error.message])
        status.field_errors = [FieldError(type="FieldValueInvalid", field=field_to_correct(spec, error), detail=error.message)]
        status.sync.message = status.sync.message or list(_NOT_SYNCED_MESSAGES)
        reason = "Unavailable" if error.is_server_error else "InvalidSpec"
        ready_condition = _condition(status, "False", reason, error.message, generation, now)
    status.conditions = [*(condition for condition in status.conditions or () if condition.type != _READY), ready_condition]


def _condition(
    status: RepositoryStatus, value: Literal["True", "False"], reason: str, message: str, generation: int, now: int
) -> Condition:
    """Return the condition ``Ready``, with its present transition time if ``value`` does not change. ``now`` is in Unix milliseconds."""
    previous = next((condition for condition in status.conditions or () if condition.type == _READY and condition.status == value), None)
    transition_time = datetime.fromtimestamp(now // 1000, UTC).isoformat().replace("+00:00", "Z")
    return Condition(
        type=_READY,
        status=value,
        observed_generation=generation,
        last_transition_time=transition_time if previous is None else previous.last_transition_time,
        reason=reason,
        message=message,
    )

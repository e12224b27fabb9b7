"""The tree of errors. Each message says what is wrong and what the caller can do.

    DashwrightError            500  internal
    ├── BadRequest             400  bad-request          the request itself cannot be read or understood
    ├── Unauthorized           401  unauthorized         no valid credential
    ├── Forbidden              403  forbidden            a valid caller without the permission
    ├── NotFound               404  not-found
    ├── MethodNotAllowed       405  method-not-allowed
    ├── NotAcceptable          406  not-acceptable
    ├── Conflict               409  conflict             the object was changed by another request
    │   └── AlreadyExists      409  already-exists
    ├── Gone                   410  gone                 deleted, expired, or a position too old to resume from
    ├── PreconditionFailed     412  precondition-failed
    ├── TooLarge               413  too-large            over a limit; names the limit and its setting
    ├── UnsupportedMediaType   415  unsupported-media-type
    ├── Invalid                422  invalid              readable but against the rules; one cause for each fault
    ├── Unhealthy              424  unhealthy            a repository that failed its probe
    ├── TooManyRequests        429  too-many-requests    retryable
    ├── SourceFailed           502  source-failed        a data source or git host failed; retryable
    ├── Unavailable            503  unavailable          database or broker is unreachable; retryable
    │   └── Unroutable         503  unroutable           the broker has no queue for the message
    └── DeadlineExceeded       504  deadline-exceeded    retryable

``status`` is the HTTP status, ``code`` a stable identifier for programs, ``reason`` the Kubernetes Status reason
(Kubernetes API conventions; empty for a status without one), ``retryable`` whether the same request may succeed later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Cause:
    """One fault of an invalid object."""

    field: str  #: Path to the value, such as ``spec.title`` or ``[0].refId``.
    reason: str  #: Kubernetes cause type, such as ``FieldValueInvalid``.
    message: str  #: What is wrong and what to do.


class DashwrightError(Exception):
    """Root of the tree: an internal error. Its text is logged; clients get only a trace id.

    ``message_id`` is the stable identifier of a typed error. ``retry_after`` is in seconds. ``details`` are Kubernetes
    status details. ``extra`` has the members that the classic API adds for programs.
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    reason: ClassVar[str] = "InternalError"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        message_id: str | None = None,
        causes: Sequence[Cause] = (),
        retry_after: float | None = None,
        details: dict[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.message_id = message_id or self.code
        self.causes = tuple(causes)
        self.retry_after = retry_after
        self.details = details or {}
        self.extra = extra

    @property
    def is_server_error(self) -> bool:
        """True if neither the caller nor the owner of the data can correct the cause: the status is 500 or above."""
        return self.status >= 500


class BadRequest(DashwrightError):
    """Request that cannot be read or understood."""

    status, code, reason = 400, "bad-request", "BadRequest"


class Unauthorized(DashwrightError):
    """Request without a valid credential."""

    status, code, reason = 401, "unauthorized", "Unauthorized"


class Forbidden(DashwrightError):
    """Request of an authenticated caller who lacks the permission."""

    status, code, reason = 403, "forbidden", "Forbidden"


class NotFound(DashwrightError):
    """Request for an object or path that does not exist."""

    status, code, reason = 404, "not-found", "NotFound"


class MethodNotAllowed(DashwrightError):
    """Request whose HTTP method the path does not support."""

    status, code, reason = 405, "method-not-allowed", "MethodNotAllowed"


class NotAcceptable(DashwrightError):
    """Request that accepts none of the available media types."""

    status, code, reason = 406, "not-acceptable", "NotAcceptable"


class Conflict(DashwrightError):
    """Write based on an outdated version of the object."""

    status, code, reason = 409, "conflict", "Conflict"


class AlreadyExists(Conflict):
    """Creation of an object whose name is taken."""

    code, reason = "already-exists", "AlreadyExists"


class Gone(DashwrightError):
    """Request for something deleted or expired, or for a position that is too old to resume from."""

    status, code, reason = 410, "gone", "Expired"


class PreconditionFailed(DashwrightError):
    """Request whose precondition does not hold."""

    status, code, reason = 412, "precondition-failed", ""


class TooLarge(DashwrightError):
    """Request over a size limit; the message names the limit and its setting."""

    status, code, reason = 413, "too-large", "RequestEntityTooLarge"


class UnsupportedMediaType(DashwrightError):
    """Request whose body has an unsupported media type."""

    status, code, reason = 415, "unsupported-media-type", "UnsupportedMediaType"


class Invalid(DashwrightError):
    """Object that is readable but against the rules, with one cause for each fault."""

    status, code, reason = 422, "invalid", "Invalid"


class Unhealthy(DashwrightError):
    """Request for work on a repository that failed its probe."""

    status, code, reason = 424, "unhealthy", ""


class TooManyRequests(DashwrightError):
    """Request over a rate or concurrency limit. Retryable."""

    status, code, reason, retryable = 429, "too-many-requests", "TooManyRequests", True


class SourceFailed(DashwrightError):
    """Failure of a data source or git host. Retryable."""

    status, code, reason, retryable = 502, "source-failed", "InternalError", True


class Unavailable(DashwrightError):
    """Unreachable database or broker. Retryable."""

    status, code, reason, retryable = 503, "unavailable", "ServiceUnavailable", True


class Unroutable(Unavailable):
    """Message for which the broker has no queue."""

    code = "unroutable"


class DeadlineExceeded(DashwrightError):
    """Request that did not finish in time. Retryable."""

    status, code, reason, retryable = 504, "deadline-exceeded", "Timeout", True

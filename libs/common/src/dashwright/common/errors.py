"""Every error of Dashwright, in one tree. Each says what was wrong and what the caller can do.

    DashwrightError            500  internal
    ├── BadRequest             400  bad-request          the request itself cannot be read or understood
    ├── Unauthorized           401  unauthorized         no valid credential
    ├── Forbidden              403  forbidden            a valid caller without the permission
    ├── NotFound               404  not-found
    ├── MethodNotAllowed       405  method-not-allowed
    ├── NotAcceptable          406  not-acceptable
    ├── Conflict               409  conflict             the object changed meanwhile
    │   └── AlreadyExists      409  already-exists
    ├── Gone                   410  gone                 removed for good, expired, or a position too old to resume from
    ├── PreconditionFailed     412  precondition-failed
    ├── TooLarge               413  too-large            over a limit; names the limit and its setting
    ├── UnsupportedMediaType   415  unsupported-media-type
    ├── Invalid                422  invalid              readable but against the rules; one cause a fault
    ├── Unhealthy              424  unhealthy            a repository that failed its probe
    ├── TooManyRequests        429  too-many-requests    retryable
    ├── SourceFailed           502  source-failed        a data source or git host answered wrongly; retryable
    ├── Unavailable            503  unavailable          database or broker is away; retryable
    │   └── Unroutable         503  unroutable           the broker has no queue for the message
    └── DeadlineExceeded       504  deadline-exceeded    retryable

``status`` is the HTTP status, ``code`` a stable identifier for programs, ``reason`` the Kubernetes Status reason
(Kubernetes API conventions), ``retryable`` whether the same request may succeed later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Cause:
    """One fault of an invalid object: where (``spec.title``, ``[0].refId``), what kind, and what to do."""

    field: str
    reason: str
    message: str


class DashwrightError(Exception):
    """The root: a failure of ours. Its text is for logs; callers outside see a trace id only.

    ``message_id`` is the identifier of a typed error, ``extra`` what the classic API tells with one, for programs.
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


class BadRequest(DashwrightError):
    status, code, reason = 400, "bad-request", "BadRequest"


class Unauthorized(DashwrightError):
    status, code, reason = 401, "unauthorized", "Unauthorized"


class Forbidden(DashwrightError):
    status, code, reason = 403, "forbidden", "Forbidden"


class NotFound(DashwrightError):
    status, code, reason = 404, "not-found", "NotFound"


class MethodNotAllowed(DashwrightError):
    status, code, reason = 405, "method-not-allowed", "MethodNotAllowed"


class NotAcceptable(DashwrightError):
    status, code, reason = 406, "not-acceptable", "NotAcceptable"


class Conflict(DashwrightError):
    status, code, reason = 409, "conflict", "Conflict"


class AlreadyExists(Conflict):
    code, reason = "already-exists", "AlreadyExists"


class Gone(DashwrightError):
    status, code, reason = 410, "gone", "Expired"


class PreconditionFailed(DashwrightError):
    status, code, reason = 412, "precondition-failed", ""


class TooLarge(DashwrightError):
    status, code, reason = 413, "too-large", "RequestEntityTooLarge"


class UnsupportedMediaType(DashwrightError):
    status, code, reason = 415, "unsupported-media-type", "UnsupportedMediaType"


class Invalid(DashwrightError):
    status, code, reason = 422, "invalid", "Invalid"


class Unhealthy(DashwrightError):
    status, code, reason = 424, "unhealthy", ""


class TooManyRequests(DashwrightError):
    status, code, reason, retryable = 429, "too-many-requests", "TooManyRequests", True


class SourceFailed(DashwrightError):
    status, code, reason, retryable = 502, "source-failed", "InternalError", True


class Unavailable(DashwrightError):
    status, code, reason, retryable = 503, "unavailable", "ServiceUnavailable", True


class Unroutable(Unavailable):
    code = "unroutable"


class DeadlineExceeded(DashwrightError):
    status, code, reason, retryable = 504, "deadline-exceeded", "Timeout", True

"""Error responses, in the shape of the API that the client called. Internal errors contain a trace id, but no stack trace and no secret."""

import math
from enum import StrEnum
from typing import Any, Final

from dashwright.api.http.response import Response, json_response
from dashwright.common.errors import DashwrightError, Forbidden, MethodNotAllowed, TooManyRequests, Unauthorized, Unavailable
from dashwright.common.models.causes import format_causes

ACCESS_DENIED: Final = "access-denied"
"""Message id of a missing permission."""

_INTERNAL_MESSAGE: Final = "Internal Server Error"
_DETAIL_KEYS: Final = ("name", "group", "kind", "uid")
"""Details of an error that are members of ``details`` in its Status."""
_METADATA_KEYS: Final = ("continue",)
"""Details of an error that are members of ``metadata`` in its Status."""
_DEFAULT_RETRY_SECONDS: Final = 1.0
"""Seconds until a retry after an error 429 or 503 that has no time of its own."""


class ErrorShape(StrEnum):
    """Shape of an error body."""

    CLASSIC = "classic"  #: ``{"message": …}``, as the API below ``/api`` returns it.
    STATUS = "status"  #: A Kubernetes ``Status``, as the resource API returns it.


def error_shape_of(path: str) -> ErrorShape:
    """Return the error shape of a path, as Kubernetes clients or clients of the classic API expect it."""
    for root in ("/apis", "/openapi/v3", "/version"):
        if path == root or path.startswith(f"{root}/"):
            return ErrorShape.STATUS
    return ErrorShape.CLASSIC


def permission_denied(*actions: str) -> Forbidden:
    """Return the error for a caller without the needed actions, with the message that Grafana returns."""
    needed = actions[0] if len(actions) == 1 else f"all of {', '.join(actions)}"
    return Forbidden(f"You'll need additional permissions to perform this action. Permissions needed: {needed}", message_id=ACCESS_DENIED)


def error_response(error: DashwrightError, shape: ErrorShape, trace_id: str, *, failure_message: str | None = None) -> Response:
    """Return the response for an error.

    A classic body has ``message``, plus ``messageId`` and ``statusCode`` if the error has its own message id, ``extra`` if the error has
    it, and ``traceID`` from status 500 on. A denied permission has ``title`` and ``accessErrorId`` instead. A Status follows the
    Kubernetes API conventions. With ``failure_message``, every error from status 500 on becomes a 500 with this message, as Grafana
    returns it for some routes.
    """
    status = error.status
    if failure_message is not None and status >= 500:
        body: dict[str, Any] = {"message": failure_message, "traceID": trace_id}
        return json_response(body, 500)
    headers = _error_headers(error)
    body = _status_body(error, trace_id) if shape is ErrorShape.STATUS else _classic_body(error, trace_id)
    return json_response(body, status, headers)


def _public_message(error: DashwrightError) -> str:
    """Return the message for clients: that of an internal error is only for the log."""
    return _INTERNAL_MESSAGE if error.status == 500 else error.message


def _classic_body(error: DashwrightError, trace_id: str) -> dict[str, Any]:
    """Return the error body of the classic API, as ``error_response`` describes it."""
    if error.message_id == ACCESS_DENIED:
        # Grafana's access error ids have ten digits, too.
        digits = int(trace_id, 16) % 10**10
        return {"accessErrorId": f"ACE{digits:010}", "message": error.message, "title": "Access denied"}
    body: dict[str, Any] = {"message": _public_message(error)}
    if error.message_id != error.code and error.status != 500:
        # Without tracing, Grafana writes an empty trace id next to a message id.
        body |= {"messageId": error.message_id, "statusCode": error.status, "traceID": ""}
    if error.extra is not None and error.status != 500:
        body["extra"] = error.extra
    if error.status >= 500:
        body["traceID"] = trace_id
    return body


def _status_body(error: DashwrightError, trace_id: str) -> dict[str, Any]:
    """Return the error body of the resource API, a Kubernetes ``Status``."""
    message = _public_message(error)
    if error.status == 500:
        message = f"{message}; trace id {trace_id}"
    details: dict[str, Any] = {key: error.details[key] for key in _DETAIL_KEYS if key in error.details}
    if error.causes:
        details["causes"] = [
            {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in format_causes(error.causes)
        ]
    if (seconds := _retry_after(error)) is not None:
        details["retryAfterSeconds"] = seconds
    metadata = {key: error.details[key] for key in _METADATA_KEYS if key in error.details}
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure", "message": message}
    if error.reason:
        body["reason"] = error.reason
    if details:
        body["details"] = details
    return body | {"code": error.status}


def _error_headers(error: DashwrightError) -> dict[str, str]:
    """Return the headers that RFC 9110 defines for the status of an error."""
    headers = {}
    if (seconds := _retry_after(error)) is not None:
        headers["Retry-After"] = str(seconds)
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = 'Basic realm="Dashwright", charset="UTF-8"'
    if isinstance(error, MethodNotAllowed) and "allow" in error.details:
        headers["Allow"] = error.details["allow"]
    return headers


def _retry_after(error: DashwrightError) -> int | None:
    """Return the seconds for ``Retry-After``, at least 1, or None. Errors 429 and 503 without a time have a default."""
    if error.retry_after is None and not isinstance(error, TooManyRequests | Unavailable):
        return None
    return max(1, math.ceil(_DEFAULT_RETRY_SECONDS if error.retry_after is None else error.retry_after))

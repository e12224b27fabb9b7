"""Errors in both formats: the messages of the classic API, and the Status of Kubernetes."""

from typing import Any

import orjson
import pytest

from dashwright.api.domain import submissions
from dashwright.api.http.errors import ErrorShape, error_response, permission_denied
from dashwright.common.errors import (
    Cause,
    Conflict,
    DashwrightError,
    DeadlineExceeded,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotFound,
    PreconditionFailed,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CLASSIC, STATUS = ErrorShape.CLASSIC, ErrorShape.STATUS


def failure(message: str, code: int, **members: Any) -> dict[str, Any]:
    """Return the Status of Kubernetes for a failure."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, **members, "code": code}


# Per row: the error, its format, and the status, body and headers of the response.
GOLDEN = [
    (NotFound("Not found"), CLASSIC, 404, {"message": "Not found"}, {}),
    (
        NotFound("service account not found", message_id="serviceaccounts.ErrNotFound"),
        CLASSIC,
        404,
        {"message": "service account not found", "messageId": "serviceaccounts.ErrNotFound", "statusCode": 404, "traceID": ""},
        {},
    ),
    (
        Forbidden("org Quota reached", message_id="quota.reached", extra={"target": "org_user", "limit": 10}),
        CLASSIC,
        403,
        {
            "message": "org Quota reached",
            "messageId": "quota.reached",
            "statusCode": 403,
            "traceID": "",
            "extra": {"target": "org_user", "limit": 10},
        },
        {},
    ),
    (DashwrightError("internal", extra={"secret": 1}), CLASSIC, 500, {"message": "Internal Server Error", "traceID": TRACE}, {}),
    # A denial of several permissions has the message of a denial of ``all of`` them.
    (
        permission_denied("users:read", "teams:read"),
        STATUS,
        403,
        failure(permission_denied("all of users:read, teams:read").message, 403, reason="Forbidden"),
        {},
    ),
    (
        Unauthorized("Unauthorized"),
        CLASSIC,
        401,
        {"message": "Unauthorized"},
        {"WWW-Authenticate": 'Basic realm="Dashwright", charset="UTF-8"'},
    ),
    (
        permission_denied("orgs.quotas:read"),
        CLASSIC,
        403,
        {
            "accessErrorId": "ACE1257817910",
            "message": "You'll need additional permissions to perform this action. Permissions needed: orgs.quotas:read",
            "title": "Access denied",
        },
        {},
    ),
    (DashwrightError("secret"), CLASSIC, 500, {"message": "Internal Server Error", "traceID": TRACE}, {}),
    (
        Unavailable("The database is away", retry_after=2.5),
        CLASSIC,
        503,
        {"message": "The database is away", "traceID": TRACE},
        {"Retry-After": "3"},
    ),
    (TooManyRequests("Slower"), CLASSIC, 429, {"message": "Slower"}, {"Retry-After": "1"}),
    (MethodNotAllowed("No", details={"allow": "GET, HEAD"}), CLASSIC, 405, {"message": "No"}, {"Allow": "GET, HEAD"}),
    (
        NotFound(
            'dashboards.dashboard.grafana.app "x" not found', details={"name": "x", "group": "dashboard.grafana.app", "kind": "dashboards"}
        ),
        STATUS,
        404,
        failure(
            'dashboards.dashboard.grafana.app "x" not found',
            404,
            reason="NotFound",
            details={"name": "x", "group": "dashboard.grafana.app", "kind": "dashboards"},
        ),
        {},
    ),
    (
        Invalid("bad", causes=[Cause("spec.title", "FieldValueRequired", "give one")]),
        STATUS,
        422,
        failure(
            "bad",
            422,
            reason="Invalid",
            details={"causes": [{"reason": "FieldValueRequired", "message": "give one", "field": "spec.title"}]},
        ),
        {},
    ),
    (permission_denied("folders:write"), STATUS, 403, failure(permission_denied("folders:write").message, 403, reason="Forbidden"), {}),
    (Conflict("changed"), STATUS, 409, failure("changed", 409, reason="Conflict"), {}),
    (PreconditionFailed("old"), STATUS, 412, failure("old", 412), {}),
    (DeadlineExceeded("late"), STATUS, 504, failure("late", 504, reason="Timeout"), {}),
    (
        Unavailable("away", retry_after=7),
        STATUS,
        503,
        failure("away", 503, reason="ServiceUnavailable", details={"retryAfterSeconds": 7}),
        {"Retry-After": "7"},
    ),
    (
        DashwrightError("secret"),
        STATUS,
        500,
        failure(f"Internal Server Error; trace id {TRACE}", 500, reason="InternalError"),
        {},
    ),
]


@pytest.mark.parametrize(
    ("error", "shape", "status", "body", "headers"),
    GOLDEN,
    ids=[f"{type(error).__name__}-{shape.name.lower()}" for error, shape, *_ in GOLDEN],
)
def test_an_error_has_exactly_this_shape(
    error: DashwrightError, shape: ErrorShape, status: int, body: dict[str, Any], headers: dict[str, str]
) -> None:
    """An error has exactly the members that clients read. An internal failure shows a trace id and nothing of its cause."""
    response = error_response(error, shape, TRACE)
    assert isinstance(response.body, bytes)
    assert response.status == status
    assert orjson.loads(response.body) == body
    assert response.headers == headers


@pytest.mark.parametrize(
    "error", [DashwrightError("internal"), Unavailable("away"), DeadlineExceeded("late")], ids=lambda error: type(error).__name__
)
def test_the_failure_message_of_a_route_replaces_every_internal_failure(error: DashwrightError) -> None:
    """If a route has a failure message, each of its internal failures is 500 with this message."""
    response = error_response(error, CLASSIC, TRACE, failure_message="Failed to list api keys")
    assert isinstance(response.body, bytes)
    assert response.status == 500
    assert orjson.loads(response.body)["message"] == "Failed to list api keys"


def test_the_failure_message_of_a_route_does_not_replace_client_errors() -> None:
    """The failure message of a route replaces internal errors only: an object that does not exist is still 404."""
    assert error_response(NotFound("none"), CLASSIC, TRACE, failure_message="Failed").status == 404


@pytest.mark.parametrize("count", [1, 20, 21, 1000])
def test_a_refusal_shows_twenty_causes_and_counts_the_others(count: int) -> None:
    """A refusal has at most twenty causes, and one more that counts the others, so that the response is always small."""
    error = submissions.invalid_error([Cause(f"[{index}].action", "FieldValueRequired", "Required value") for index in range(count)])
    response = error_response(error, STATUS, TRACE)
    assert isinstance(response.body, bytes)
    assert len(response.body) < 5000
    status = orjson.loads(response.body)
    causes = status["details"]["causes"]
    assert [cause["field"] for cause in causes[:20]] == [f"[{index}].action" for index in range(min(count, 20))]
    further_messages = [cause["message"] for cause in causes[20:]]
    if count > 20:
        assert further_messages == [f"and {count - 20} more, {count} in all"]
        assert further_messages[0] in status["message"]
    else:
        assert further_messages == []

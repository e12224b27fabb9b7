"""Audit events as the API returns them."""

from typing import Annotated, Any

from pydantic import Field

from dashwright.api.models.response import ResponseModel, Time


class AuditEvent(ResponseModel):
    """An audit event."""

    id: int
    at: Time
    #: The organization that the event concerns; null if it concerns the whole server.
    org_id: int | None
    #: The uid of the caller.
    actor: str
    #: The login of the caller.
    login: str
    action: str
    #: The object that was acted on, such as ``dashboard:home``; empty for an action without an object.
    object: str
    outcome: Annotated[str, Field(json_schema_extra={"enum": ["ok", "refused", "failed"]})]
    status: int
    address: str
    request_id: str
    trace_id: str
    #: Details of the action; they never contain a secret.
    details: dict[str, Any]


class AuditPage(ResponseModel):
    """A page of audit events, the newest first."""

    events: list[AuditEvent]
    #: The ``before`` of the next page; null on the last page.
    next: int | None

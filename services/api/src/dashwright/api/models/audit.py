"""What was done, as those who may read the audit are shown it."""

from typing import Annotated, Any

from pydantic import Field

from dashwright.api.models.response import ResponseModel, Time


class AuditEvent(ResponseModel):
    """``org_id`` is that of the organization it is about, null for what is about the server.

    ``details`` differ by action; no secret is ever among them.
    """

    id: int
    at: Time
    org_id: int | None
    actor: str
    login: str
    action: str
    object: str
    outcome: Annotated[str, Field(json_schema_extra={"enum": ["ok", "refused", "failed"]})]
    status: int
    address: str
    request_id: str
    trace_id: str
    details: dict[str, Any]


class AuditPage(ResponseModel):
    """The newest first. ``next`` is the ``before`` of the page that follows, null on the last one."""

    events: list[AuditEvent]
    next: int | None

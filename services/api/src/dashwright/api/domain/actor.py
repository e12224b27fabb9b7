"""The caller of one request, as audit events and ``created_by`` record it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """The caller of one request."""

    uid: str
    login: str
    #: The organization in which the request acts.
    org_id: int
    #: The network address of the client; empty for a message from the queue.
    address: str
    request_id: str
    trace_id: str

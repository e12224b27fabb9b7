"""The caller of one request, as the audit and ``created_by`` record it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """The caller of one request."""

    uid: str
    login: str
    #: The organization in which the request acts.
    org_id: int
    #: The network address of the client; empty for a message of the queue.
    address: str
    request_id: str
    trace_id: str

"""Who did it and by which request: what the audit and ``created_by`` tell later."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """The caller of one request. ``org_id`` is the organization they acted in, ``address`` where they came from ("" from the queue)."""

    uid: str
    login: str
    org_id: int
    address: str
    request_id: str
    trace_id: str

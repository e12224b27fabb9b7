"""Names in audit events: the action of a verb on a kind, and the object that was acted on."""

from dashwright.common.kinds.kind import Kind


def event_of(kind: Kind, verb: str) -> str:
    """Return the action of the audit event of a verb, such as ``dashboard.create``."""
    return f"{kind.singular}.{verb}"


def subject_of(kind: Kind, name: str) -> str:
    """Return the object of an audit event, such as ``dashboard:home``."""
    return f"{kind.singular}:{name}"

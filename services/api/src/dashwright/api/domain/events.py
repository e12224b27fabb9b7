"""Names in the audit: the event of a change and the object changed."""

from dashwright.common.kinds.kind import Kind


def event_of(kind: Kind, verb: str) -> str:
    """Return the name of an event, such as ``dashboard.create``."""
    return f"{kind.singular}.{verb}"


def subject_of(kind: Kind, name: str) -> str:
    """Return the subject of an event, such as ``dashboard:home``."""
    return f"{kind.singular}:{name}"

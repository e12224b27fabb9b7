"""What the audit calls the changes of objects and jobs, and what was changed."""

from dashwright.common.kinds.kind import Kind


def event_of(kind: Kind, verb: str) -> str:
    """``dashboard.create``"""
    return f"{kind.singular}.{verb}"


def subject_of(kind: Kind, name: str) -> str:
    """``dashboard:home``"""
    return f"{kind.singular}:{name}"

"""Rules for ``metadata.name``."""

import hashlib
import re

from dashwright.common.errors import BadRequest

_DASHBOARD_NAME = re.compile(r"\A[a-zA-Z0-9_-]+\Z")
#: Characters that ``valid_dashboard_name`` replaces by one hyphen.
_REPLACED_BY_HYPHEN = re.compile(r"[^a-zA-Z0-9_]+")

#: Regular expression of names by the rules of Kubernetes.
OBJECT_NAME_PATTERN = "[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
_OBJECT_NAME = re.compile(rf"\A{OBJECT_NAME_PATTERN}\Z")

#: Maximum numbers of characters of an invalid uid, and of an invalid name, in error messages.
_MAX_UID_EXCERPT, _MAX_NAME_EXCERPT = 60, 80

DASHBOARD_NAME_LENGTH = 40
OBJECT_NAME_LENGTH = 63
_HASH_LENGTH = 8


def check_dashboard_name(name: str) -> None:
    """Raise BadRequest for an invalid name of a dashboard, folder or library panel. It must be a valid uid of Grafana."""
    if len(name) > DASHBOARD_NAME_LENGTH:
        raise BadRequest(
            f"uid too long, max {DASHBOARD_NAME_LENGTH} characters: {name[:_MAX_UID_EXCERPT]!r} has {len(name)}; "
            f"{valid_dashboard_name(name)!r} is valid"
        )
    if not _DASHBOARD_NAME.match(name):
        raise BadRequest(
            f"uid contains illegal characters: {name!r} may hold letters, digits, hyphens and underscores only; "
            f"{valid_dashboard_name(name)!r} is valid"
        )


def valid_dashboard_name(name: str) -> str:
    """Return a valid uid similar to ``name``. A hash is added if the name is too long or has no valid character."""
    hyphenated = _REPLACED_BY_HYPHEN.sub("-", name).strip("-")
    if hyphenated and len(hyphenated) <= DASHBOARD_NAME_LENGTH:
        return hyphenated
    digest = hashlib.sha256(name.encode(errors="backslashreplace")).hexdigest()[:_HASH_LENGTH]
    return f"{hyphenated[: DASHBOARD_NAME_LENGTH - _HASH_LENGTH - 1].rstrip('-')}-{digest}".lstrip("-")


def is_dashboard_name(name: str) -> bool:
    """Return whether ``name`` is a valid uid of a dashboard."""
    return len(name) <= DASHBOARD_NAME_LENGTH and _DASHBOARD_NAME.match(name) is not None


def check_object_name(name: str) -> None:
    """Raise BadRequest for a name that is invalid by the rules of Kubernetes, which apply to kinds with ``dns_name``."""
    if len(name) > OBJECT_NAME_LENGTH or not _OBJECT_NAME.match(name):
        raise BadRequest(
            f"metadata.name {name[:_MAX_NAME_EXCERPT]!r} is invalid: at most {OBJECT_NAME_LENGTH} lower case letters, digits, '-' and '.', "
            "beginning and ending with a letter or digit"
        )

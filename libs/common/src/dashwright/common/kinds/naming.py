"""Rules for ``metadata.name``."""

import hashlib
import re

from dashwright.common.errors import BadRequest

_DASHBOARD = re.compile(r"\A[a-zA-Z0-9_-]+\Z")
_NOT_IN_DASHBOARDS = re.compile(r"[^a-zA-Z0-9_]+")
_OBJECT = re.compile(r"\A[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")

DASHBOARD_NAME_LENGTH = 40
OBJECT_NAME_LENGTH = 63
_HASH_LENGTH = 8


def check_dashboard_name(name: str) -> None:
    """Raise BadRequest for an invalid name of a dashboard, folder or library panel: the rules of their old uid apply."""
    if len(name) > DASHBOARD_NAME_LENGTH:
        raise BadRequest(
            f"uid too long, max {DASHBOARD_NAME_LENGTH} characters: {name[:60]!r} has {len(name)}; {valid_dashboard_name(name)!r} is valid"
        )
    if not _DASHBOARD.match(name):
        raise BadRequest(
            f"uid contains illegal characters: {name!r} may hold letters, digits, hyphens and underscores only; "
            f"{valid_dashboard_name(name)!r} is valid"
        )


def valid_dashboard_name(name: str) -> str:
    """Return a valid uid similar to ``name``. If much of the name is lost, a hash keeps it distinct."""
    plain = _NOT_IN_DASHBOARDS.sub("-", name).strip("-")
    if plain and len(plain) <= DASHBOARD_NAME_LENGTH:
        return plain
    digest = hashlib.sha256(name.encode(errors="backslashreplace")).hexdigest()[:_HASH_LENGTH]
    return f"{plain[: DASHBOARD_NAME_LENGTH - _HASH_LENGTH - 1].rstrip('-')}-{digest}".lstrip("-")


def is_dashboard_name(name: str) -> bool:
    """Return whether ``name`` is a valid uid of a dashboard."""
    return len(name) <= DASHBOARD_NAME_LENGTH and _DASHBOARD.match(name) is not None


def check_object_name(name: str) -> None:
    """Raise BadRequest for a name that breaks the rules of Kubernetes, which apply to all other kinds."""
    if len(name) > OBJECT_NAME_LENGTH or not _OBJECT.match(name):
        raise BadRequest(
            f"metadata.name {name[:80]!r} is invalid: at most {OBJECT_NAME_LENGTH} lower case letters, digits, '-' and '.', "
            "beginning and ending with a letter or digit"
        )

"""The forms in which files hold dashboards, recognized from the text and the tree alone.

This module imports no kind. The kinds import pydantic and every model of the interface, and ``dashwright lint`` starts faster without them.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.errors import Invalid, TooLarge

MAX_FILE_BYTES: Final = 5 * 1024 * 1024
"""Default limit on the bytes of a file that is read."""

_CLOUD_NAMESPACE: Final = re.compile(r"stacks-[0-9]+")

_DASHBOARD_KEYS: Final = frozenset({"title", "uid", "schemaVersion", "tags", "rows", "templating", "timepicker"})
"""Members of a dashboard that other files may have, too. A tree without ``panels`` needs two of them to be a dashboard."""


def check_size(size: int, max_file_bytes: int) -> None:
    """Raise TooLarge for a file of more than ``max_file_bytes`` bytes."""
    if size > max_file_bytes:
        raise TooLarge(f"file has {size} bytes, at most {max_file_bytes} are read: make it smaller or raise the limit")


def decode_text(body: bytes) -> str:
    """Return the text of a file, without a byte order mark. Raises Invalid with the position of the first byte that is not UTF-8."""
    try:
        return body.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as fault:
        raise Invalid(f"not UTF-8 at byte {fault.start}: save the file as UTF-8") from fault


def check_namespace(namespace_of_file: str | None, namespace: str) -> None:
    """Raise Invalid if a file names another namespace than ``namespace``, into which the repository writes.

    Namespaces of Grafana Cloud (``stacks-N``) are accepted: dashboards that were saved there name them.
    """
    if namespace_of_file and namespace_of_file != namespace and not _CLOUD_NAMESPACE.fullmatch(namespace_of_file):
        raise Invalid(
            f"metadata.namespace is {namespace_of_file!r}, but this repository writes into {namespace!r}: remove it or correct it"
        )


def is_resource(tree: Any) -> bool:
    """Return whether the tree of a file has an ``apiVersion`` or a ``kind``, as resources do."""
    return isinstance(tree, dict) and ("apiVersion" in tree or "kind" in tree)


def is_classic(tree: Any) -> bool:
    """Return whether the tree of a file is a dashboard's own JSON, without a resource around it."""
    return isinstance(tree, dict) and not is_resource(tree) and looks_like_dashboard(tree)


def unwrap_dashboard(tree: Any) -> dict[str, Any] | None:
    """Return the dashboard in the body of a classic request (``{"dashboard": …, "overwrite": …}``); None for any other tree."""
    inner = tree.get("dashboard") if isinstance(tree, dict) and not is_resource(tree) and not looks_like_dashboard(tree) else None
    return inner if isinstance(inner, dict) and is_classic(inner) else None


def looks_like_dashboard(tree: Mapping[str, Any]) -> bool:
    """Return whether a tree has ``panels``, or at least two of the other members of a dashboard."""
    return "panels" in tree or len(_DASHBOARD_KEYS & tree.keys()) > 1

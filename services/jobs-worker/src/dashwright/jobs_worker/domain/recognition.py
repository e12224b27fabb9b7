"""Recognition of files that hold a resource, before anything in the resource is checked.

Real repositories keep other JSON and YAML next to their dashboards. Such a file is ignored. An unreadable file is an error, unless it
certainly has no resource: otherwise a dashboard with a missing bracket would be skipped silently.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.errors import Invalid
from dashwright.common.jobs import paths
from dashwright.common.json_documents import read_json
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, KINDS, PLAYLIST
from dashwright.common.yaml import read_documents
from dashwright.jobs_worker.domain.file_forms import is_resource, looks_like_dashboard, unwrap_dashboard

_GROUP_SUFFIX: Final = ".grafana.app"
_MAX_TYPE_CHARACTERS: Final = 200
"""Limit on the characters of the kind and version of another program that a message quotes."""

_TOKENS: Final = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)', re.DOTALL)
"""Strings and comments of JSON with comments. Each character is matched once, even if a string or comment is never closed."""

_TRAILING_COMMA: Final = re.compile(r'("(?:\\.|[^"\\\n])*"?)|,(?=\s*[}\]])', re.DOTALL)
"""Strings, in the group, and commas before a closing bracket. Strings are matched so that the commas in them are not."""

_DASHBOARD_KEY: Final = re.compile(r"""dashboard\.grafana\.app|\b(?:panels|schemaVersion|templating)["']?\s*:""")
"""Text by which an unreadable file that is meant as a dashboard is recognized."""

_TEMPLATE: Final = re.compile(r"\{\{|\{%|<%")
"""Marks of templates of Helm, Jinja and ERB."""

_FOLDER_REMARK: Final = f"a folder is not synced from a file of this name: folders come from directories and their {paths.FOLDER_FILE}"


class NoResource(Invalid):
    """The file has no resource that a sync could store.

    ``remark`` is a hint for the author of the file; it is empty if the file is certainly not meant to be synced.
    """

    def __init__(self, message: str, remark: str = "") -> None:
        super().__init__(message)
        self.remark = remark


def require_resource(tree: Any) -> None:
    """Raise NoResource for a tree that is neither a dashboard in any form nor a resource that may have been meant for a sync."""
    if not isinstance(tree, dict):
        raise NoResource("the file holds no object, so no resource")
    if not is_resource(tree):
        if not looks_like_dashboard(tree) and unwrap_dashboard(tree) is None:
            raise NoResource("the file holds no dashboard (title, panels, …) and no resource (apiVersion, kind, metadata, spec)")
    elif (_group(tree), tree.get("kind")) == (FOLDER.group, FOLDER.kind):
        raise NoResource(_FOLDER_REMARK, _FOLDER_REMARK)
    elif _is_of_another_kind(tree):
        actual_type = f"{tree.get('kind', 'an object')} of {tree.get('apiVersion', 'no apiVersion')}"[:_MAX_TYPE_CHARACTERS]
        is_known_group = _group(tree).endswith(_GROUP_SUFFIX)
        raise NoResource(f"{actual_type} is not synced", f"{actual_type} is not synced: it is ignored" if is_known_group else "")


def require_possible_resource(path: str, text: str, fault: Invalid) -> None:
    """Raise NoResource if an unreadable file certainly has no resource. ``fault`` is the error of the strict parser."""
    if path.endswith(".json"):
        trees = _parse_json_with_comments(text)
    elif _TEMPLATE.search(text) and not _DASHBOARD_KEY.search(text):
        raise NoResource("the file is a template", f"ignored as a template that holds no dashboard: {fault.message}") from fault
    else:
        trees = _parse_documents(text)
    # If the tolerant parsers fail, too, the file may have been meant as a dashboard.
    if trees and not any(map(_may_be_resource, trees)):
        raise NoResource(f"the file holds no resource ({fault.message})") from fault


def _may_be_resource(tree: Any) -> bool:
    try:
        require_resource(tree)
    except NoResource:
        return False
    return True


def _is_of_another_kind(tree: Mapping[str, Any]) -> bool:
    """Return whether a resource is a playlist, or of a kind of another program. A dashboard with mistakes is not."""
    kind, group = tree.get("kind"), _group(tree)
    if group == DASHBOARD.group or kind == DASHBOARD.kind or looks_like_dashboard(tree):
        return False
    known_kinds = (known_kind for known_kind in KINDS if "create" in known_kind.verbs and known_kind is not PLAYLIST)
    return not any((known_kind.group, known_kind.kind) == (group, kind) for known_kind in known_kinds)


def _group(tree: Mapping[str, Any]) -> str:
    version = tree.get("apiVersion")
    return version.partition("/")[0] if isinstance(version, str) else ""


def _parse_json_with_comments(text: str) -> list[Any]:
    """Return the content of JSON with comments and trailing commas, as editors and compilers use; empty for anything else."""
    text_without_comments = _TOKENS.sub(lambda match: match[0] if match[0].startswith('"') else " ", text)
    try:
        return [read_json(_TRAILING_COMMA.sub(lambda match: match[1] or "", text_without_comments))]
    except Invalid:
        return []


def _parse_documents(text: str) -> list[Any]:
    """Return the content of all YAML documents, also of those after the first one; empty for anything else."""
    try:
        return read_documents(text)
    except Invalid:
        return []

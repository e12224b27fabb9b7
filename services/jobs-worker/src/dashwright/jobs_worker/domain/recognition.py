"""Recognition of files that hold a resource, before anything in it is checked.

Real repositories keep other JSON and YAML next to their dashboards. Such a file is ignored. An unreadable file is an error, unless it
certainly has no resource: otherwise a dashboard with a missing bracket would be skipped silently.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.document import read_json
from dashwright.common.errors import Invalid
from dashwright.common.kinds.registry import DASHBOARD, KINDS
from dashwright.common.yaml import read_documents
from dashwright.jobs_worker.domain.file_forms import has_marks, is_resource, unwrap_dashboard

_OWN_GROUPS: Final = ".grafana.app"

_TOKENS: Final = re.compile(r'"(?:\\.|[^"\\\n])*"?|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)', re.DOTALL)
"""Strings and comments of JSON with comments. Each character is matched once, also if one is never closed."""

_TRAILING_COMMA: Final = re.compile(r'("(?:\\.|[^"\\\n])*"?)|,(?=\s*[}\]])', re.DOTALL)

_SIGN: Final = re.compile(r"""dashboard\.grafana\.app|\b(?:panels|schemaVersion|templating)["']?\s*:""")
_TEMPLATE: Final = re.compile(r"\{\{|\{%|<%")


class NoResource(Invalid):
    """The file holds nothing that is synced. ``remark`` is a hint for its author, empty if there is nothing to say."""

    def __init__(self, message: str, remark: str = "") -> None:
        super().__init__(message)
        self.remark = remark


def check_content(tree: Any) -> None:
    """Raise NoResource for a tree that is not a dashboard in any form."""
    if not isinstance(tree, dict):
        raise NoResource("the file holds no object, so no resource")
    if not is_resource(tree):
        if not has_marks(tree) and unwrap_dashboard(tree) is None:
            raise NoResource("the file holds no dashboard (title, panels, …) and no resource (apiVersion, kind, metadata, spec)")
    elif _is_of_another_kind(tree):
        named = f"{tree.get('kind', 'an object')} of {tree.get('apiVersion', 'no apiVersion')}"
        is_ours = _group(tree).endswith(_OWN_GROUPS)
        raise NoResource(f"{named:.200} is not synced", f"{named:.200} is not synced: it is ignored" if is_ours else "")


def check_unreadable(path: str, text: str, fault: Invalid) -> None:
    """Raise NoResource if an unreadable file certainly has no resource."""
    if path.endswith(".json"):
        trees = _with_comments(text)
    elif _TEMPLATE.search(text) and not _SIGN.search(text):
        raise NoResource("the file is a template", f"ignored as a template that holds no dashboard: {fault.message}") from fault
    else:
        trees = _documents(text)
    if not trees:
        return
    for tree in trees:
        try:
            check_content(tree)
        except NoResource:
            continue
        return
    raise NoResource(f"the file holds no resource ({fault.message})") from fault


def _is_of_another_kind(tree: Mapping[str, Any]) -> bool:
    """Return whether a resource is meant for other programs, as opposed to one for this system that is written wrongly."""
    kind, group = tree.get("kind"), _group(tree)
    if group == DASHBOARD.group or kind == DASHBOARD.kind or has_marks(tree):
        return False
    return not any((served.group, served.kind) == (group, kind) for served in KINDS)


def _group(tree: Mapping[str, Any]) -> str:
    version = tree.get("apiVersion")
    return version.partition("/")[0] if isinstance(version, str) else ""


def _with_comments(text: str) -> list[Any]:
    """Return the content of JSON with comments and trailing commas, as editors and compilers use; empty for anything else."""
    plain = _TOKENS.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    try:
        return [read_json(_TRAILING_COMMA.sub(lambda found: found[1] or "", plain))]
    except Invalid:
        return []


def _documents(text: str) -> list[Any]:
    try:
        return read_documents(text)
    except Invalid:
        return []

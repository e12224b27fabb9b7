"""Admission of dashboards and folders. A dashboard's spec is any JSON object; its title is read where either layout keeps it."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.kinds.annotations import MESSAGE
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Extract, extract_title
from dashwright.common.kinds.naming import check_dashboard_name
from dashwright.common.kinds.settings import AdmissionSettings

LONGEST_TITLE = 5000
LONGEST_MESSAGE = 500

_LAYOUT_MARKS: Final = frozenset({"elements", "layout"})


def extract_dashboard(spec: Mapping[str, Any]) -> Extract:
    """A tag that the database cannot hold is none."""
    tags = spec.get("tags")
    listed = [tag for tag in tags if isinstance(tag, str) and "\0" not in tag] if isinstance(tags, list) else ()
    return extract_title(spec)._replace(layout=not _LAYOUT_MARKS.isdisjoint(spec), tags=listed)


def admit_dashboard(draft: Draft, _settings: AdmissionSettings) -> None:
    """Raises BadRequest with the texts that existing clients show."""
    check_dashboard_name(draft.name)
    _check_title(draft, "Dashboard")
    if len(draft.annotations.get(MESSAGE, "")) > LONGEST_MESSAGE:
        raise BadRequest(f"message too long, max {LONGEST_MESSAGE} characters")


def admit_folder(draft: Draft, _settings: AdmissionSettings) -> None:
    check_dashboard_name(draft.name)
    _check_title(draft, "Folder")


def _check_title(draft: Draft, what: str) -> None:
    title = draft.spec.get("title")
    if not isinstance(title, str) or not title.strip():
        raise BadRequest(f"{what} title cannot be empty")
    if len(title) > LONGEST_TITLE:
        raise BadRequest(f"{what} title cannot contain more than 5 000 characters")

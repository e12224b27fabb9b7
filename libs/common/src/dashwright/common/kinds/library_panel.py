"""Admission of library panels. The stored body is the panel's JSON as it was sent."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.errors import BadRequest
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Extract, extract_title
from dashwright.common.kinds.naming import check_dashboard_name
from dashwright.common.kinds.settings import AdmissionSettings


def extract_library_panel(spec: Mapping[str, Any]) -> Extract:
    """Its title and the type of the panel."""
    panel_type = spec.get("type")
    return extract_title(spec)._replace(subtype=panel_type if isinstance(panel_type, str) else "")


def admit_library_panel(draft: Draft, _settings: AdmissionSettings) -> None:
    """Raises BadRequest for a name against the rules."""
    check_dashboard_name(draft.name)
    if not isinstance(draft.spec.get("title", ""), str):
        raise BadRequest("the title of a library panel must be a text")

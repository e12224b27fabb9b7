"""Admission of dashboards and folders.

The spec of a dashboard is any JSON object. Classic dashboards and those with elements and a layout have the same title member.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from dashwright.common.conversion.elements_schema import check_elements
from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import list_of, member_at, object_at, objects_of
from dashwright.common.kinds.annotations import MESSAGE
from dashwright.common.kinds.classic_schema import check_classic
from dashwright.common.kinds.conversion import CHECKED_ELEMENT_VERSIONS, STUB_SCHEMA, is_placeholder
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Extract, extract_title
from dashwright.common.kinds.naming import check_dashboard_name, is_dashboard_name
from dashwright.common.kinds.settings import AdmissionSettings

MAX_TITLE_LENGTH = 5000
MAX_MESSAGE_LENGTH = 500

#: Name by which clients refer to the root as a folder.
ROOT_FOLDER: Final = "general"

#: The versions in which the members of a classic dashboard are checked.
_CHECKED_VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
#: Members that only a dashboard with elements and a layout has.
_LAYOUT_MARKS: Final = frozenset({"elements", "layout"})

_AMOUNT_WITH_UNIT: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|[smhdwMy])")
_MAX_INTERVAL_LENGTH: Final = 40

#: Seconds of each unit.
_SECONDS: Final = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86_400),
    "w": Decimal(604_800),
    "M": Decimal(2_592_000),
    "y": Decimal(31_536_000),
}


def extract_dashboard(spec: Mapping[str, Any]) -> Extract:
    """Return the extract of a dashboard. Tags that the database cannot store are excluded."""
    tags = [tag for tag in list_of(spec.get("tags")) if isinstance(tag, str) and "\0" not in tag]
    refs = list(dict.fromkeys(uid for uid in _library_panels(spec) if isinstance(uid, str) and is_dashboard_name(uid)))
    return extract_title(spec)._replace(layout=not _LAYOUT_MARKS.isdisjoint(spec), tags=tags, refs=refs)


def _library_panels(spec: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the names of the library panels of a dashboard: of panels, which may be in rows, and of elements."""
    # Old dashboards have a list of rows with panels. In newer ones a row is itself a panel with panels.
    holders = [spec, *objects_of(spec.get("rows"))]
    panels = [panel for holder in holders for panel in objects_of(holder.get("panels"))]
    nested_panels = [nested for panel in panels if "panels" in panel for nested in objects_of(panel["panels"])]
    for panel in (*panels, *nested_panels):
        if "libraryPanel" in panel:
            yield member_at(panel, "libraryPanel", "uid")
    for element in objects_of(list(object_at(spec, "elements").values())):
        yield member_at(element, "spec", "libraryPanel", "uid")


def admit_dashboard(draft: Draft, settings: AdmissionSettings) -> None:
    """Check a dashboard and add a cause for each violation of the schema of its version.

    Raises BadRequest, with messages that existing clients know, for an invalid name, title, message or refresh interval.
    """
    check_dashboard_name(draft.name)
    _check_title(draft, "Dashboard")
    if len(draft.annotations.get(MESSAGE, "")) > MAX_MESSAGE_LENGTH:
        raise BadRequest(f"message too long, max {MAX_MESSAGE_LENGTH} characters")
    refresh = _refresh_of(draft.spec)
    if draft.old_spec is None or refresh != _refresh_of(draft.old_spec):
        _check_refresh(refresh, min_seconds=settings.min_refresh_seconds)
    if is_placeholder(draft.spec):
        draft.invalid("spec.schemaVersion", STUB_SCHEMA, "it marks a placeholder for a dashboard; read the dashboard in its stored version")
    if draft.version in _CHECKED_VERSIONS and _LAYOUT_MARKS.isdisjoint(draft.spec):
        check_classic(draft)
    elif draft.version in CHECKED_ELEMENT_VERSIONS and draft.spec != draft.old_spec:
        # An unchanged spec is not checked again, so that its metadata can be changed even if a newer check would refuse the spec.
        draft.causes += check_elements(draft.spec, draft.version).faults
    else:
        _check_form(draft)


def _refresh_of(spec: Mapping[str, Any]) -> Any:
    """Return the refresh interval of a dashboard, classic or with elements and a layout, or None if it is missing."""
    time_settings = spec.get("timeSettings")
    auto_refresh = time_settings.get("autoRefresh") if isinstance(time_settings, dict) else None
    return spec.get("refresh", auto_refresh)


def _check_refresh(refresh: Any, *, min_seconds: float) -> None:
    """Raise BadRequest for an invalid interval, or for one below ``min_seconds``.

    An empty string, ``auto``, false and null mean that the dashboard has no interval.
    """
    if refresh is None or refresh is False or refresh in ("", "auto"):
        return
    seconds = _seconds(refresh) if isinstance(refresh, str) else None
    if seconds is None:
        raise BadRequest(
            f"Dashboard refresh interval {str(refresh)[:_MAX_INTERVAL_LENGTH]!r} cannot be read; "
            "write it as 10s, 1m, 1h or 1d, or leave it empty"
        )
    if seconds < min_seconds:
        raise BadRequest(f"Dashboard refresh interval is too low: {refresh} is below {min_seconds:g}s, the shortest allowed here")


def _seconds(interval: str) -> Decimal | None:
    """Return the seconds of an interval such as ``1h30m``, or None if it is invalid."""
    amounts = _AMOUNT_WITH_UNIT.findall(interval) if len(interval) <= _MAX_INTERVAL_LENGTH else []
    # findall skips text that does not match, so the parts are compared with the whole.
    if not amounts or "".join(amount + unit for amount, unit in amounts) != interval:
        return None
    return sum((Decimal(amount) * _SECONDS[unit] for amount, unit in amounts), Decimal(0))


def _check_form(draft: Draft) -> None:
    """Add a cause for elements and a layout that no version can read. Only conversions detect other faults of ``v2alpha1``."""
    for name in sorted(_LAYOUT_MARKS.intersection(draft.spec)):
        if not isinstance(draft.spec[name], dict):
            draft.invalid(f"spec.{name}", draft.spec[name], "it must be an object")


def admit_folder(draft: Draft, _settings: AdmissionSettings) -> None:
    """Check a folder. Raises BadRequest for a reserved name or an invalid title."""
    check_dashboard_name(draft.name)
    if draft.name == ROOT_FOLDER and draft.old_spec is None:
        raise BadRequest(f'the uid "{ROOT_FOLDER}" is reserved for the root folder; choose another')
    _check_title(draft, "Folder")


def _check_title(draft: Draft, label: str) -> None:
    """Raise BadRequest if the title is missing, blank or too long. ``label`` names the kind in the message."""
    title = draft.spec.get("title")
    if not isinstance(title, str) or not title.strip():
        raise BadRequest(f"{label} title cannot be empty")
    if len(title) > MAX_TITLE_LENGTH:
        raise BadRequest(f"{label} title cannot contain more than 5 000 characters")

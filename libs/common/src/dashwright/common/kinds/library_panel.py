"""Admission and rendering of library panels.

The stored body is the JSON of the panel as it was sent. The spec has the members that all panels share.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from dashwright.common.errors import BadRequest
from dashwright.common.json_documents import read_json, write_json
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Body, Extract, Kind, RenderedBody, extract_title
from dashwright.common.kinds.naming import check_dashboard_name
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.library_panel import LibraryPanelSpec

#: Validators of the members that a spec can have, by name.
_MEMBERS: Final[Mapping[str, TypeAdapter[Any]]] = {
    field.alias or name: TypeAdapter(field.annotation)  # type: ignore[arg-type]  # a declared field has an annotation
    for name, field in LibraryPanelSpec.model_fields.items()
}
#: Members that a shown spec always has, with their values if the body lacks them.
_REQUIRED_MEMBERS: Final[Mapping[str, Any]] = {"type": "", "options": {}, "fieldConfig": {}}


class _Parts(NamedTuple):
    """Members of a stored body, by whether the spec can have them."""

    spec: dict[str, Any]
    outside_spec: dict[str, Any]  #: Members that the spec cannot have. The API shows them as ``status.missing``.
    mistyped: list[str]  #: Names of the members in ``outside_spec`` that the spec has with another type.


def extract_library_panel(spec: Mapping[str, Any]) -> Extract:
    """Return the title and the panel type of a library panel."""
    panel_type = spec.get("type")
    return extract_title(spec)._replace(subtype=panel_type if isinstance(panel_type, str) else "")


def admit_library_panel(draft: Draft, _settings: AdmissionSettings) -> None:
    """Check a library panel. Raises BadRequest for an invalid name, title or type."""
    check_dashboard_name(draft.name)
    for name in ("title", "type"):
        value = draft.spec.get(name) or ""
        if not isinstance(value, str) or "\0" in value:
            raise BadRequest(f"the {name} of a library panel must be a string without the character U+0000")


def render_library_panel(_kind: Kind, body: Body, _version: str) -> RenderedBody:
    """Return a library panel in the form that the API shows.

    The status has the members that the spec cannot have, and a warning if the title or type in the body differs from the
    stored column. If the body has no title or type, that of the column is shown.
    """
    spec, outside_spec, mistyped = _parts(read_json(body.spec))
    warnings = [f"{name} does not fit the spec and is listed in missing" for name in mistyped]
    for name, column_value in (("title", body.title), ("type", body.subtype)):
        if not column_value or name in outside_spec:
            continue
        if not spec.get(name):
            spec[name] = column_value
        elif spec[name] != column_value:
            warnings.append(f"{name} in the body is {spec[name]!r}, but the stored {name} is {column_value!r}")
    status_members = {"warnings": warnings, "missing": outside_spec}
    status = {name: value for name, value in status_members.items() if value}
    spec |= {name: value for name, value in _REQUIRED_MEMBERS.items() if name not in spec}
    return RenderedBody(write_json(spec).decode(), write_json(status).decode() if status else None)


def merge_library_panel(old: dict[str, Any] | None, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec together with the members of the old body that a spec cannot have."""
    return spec if old is None else {**_parts(old).outside_spec, **spec}


def _parts(body: Mapping[str, Any]) -> _Parts:
    """Return the members of a body, split by whether the spec can have them."""
    parts = _Parts({}, {}, [])
    for name, value in body.items():
        if name not in _MEMBERS:
            parts.outside_spec[name] = value
        elif value is not None:
            if _fits(_MEMBERS[name], value):
                parts.spec[name] = value
            else:
                parts.outside_spec[name] = value
                parts.mistyped.append(name)
    return parts


def _fits(member: TypeAdapter[Any], value: Any) -> bool:
    """Return whether a value has the type that the spec requires of a member."""
    try:
        member.validate_python(value, strict=True)
    except ValidationError:
        return False
    return True

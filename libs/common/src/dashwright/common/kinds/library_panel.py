"""Admission and rendering of library panels.

The stored body is the JSON of the panel as it was sent. The spec has the members that all panels share.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from dashwright.common.document import read_json, write_json
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.kind import Body, Extract, Kind, RenderedBody, extract_title
from dashwright.common.kinds.naming import check_dashboard_name
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.library_panel import LibraryPanelSpec

_MEMBERS: Final[Mapping[str, TypeAdapter[Any]]] = {
    field.alias or name: TypeAdapter(field.annotation)  # type: ignore[arg-type]  # a declared field has an annotation
    for name, field in LibraryPanelSpec.model_fields.items()
}
_ALWAYS: Final[Mapping[str, Any]] = {"type": "", "options": {}, "fieldConfig": {}}


class _Parts(NamedTuple):
    """Body split into members that the spec has and members that it lacks."""

    spec: dict[str, Any]
    missing: dict[str, Any]  #: Members that the spec has no place for.
    unfit: list[str]  #: Names of members whose type differs from that in the spec.


def extract_library_panel(spec: Mapping[str, Any]) -> Extract:
    """Return the title and the panel type of a library panel."""
    panel_type = spec.get("type")
    return extract_title(spec)._replace(subtype=panel_type if isinstance(panel_type, str) else "")


def admit_library_panel(draft: Draft, _settings: AdmissionSettings) -> None:
    """Check a library panel. Raises BadRequest for an invalid name, title or type."""
    check_dashboard_name(draft.name)
    for name in ("title", "type"):
        text = draft.spec.get(name) or ""
        if not isinstance(text, str) or "\0" in text:
            raise BadRequest(f"the {name} of a library panel must be a text without the character U+0000")


def render_library_panel(_kind: Kind, body: Body, _version: str) -> RenderedBody:
    """Return a library panel as clients see it.

    The status has the members that the spec has no place for, and a warning for each member that differs from the
    store. A missing title or type is taken from the store.
    """
    spec, missing, unfit = _parts(read_json(body.spec))
    warnings = [f"{name} does not fit the spec and is listed in missing" for name in unfit]
    for name, known in (("title", body.title), ("type", body.subtype)):
        if not known or name in missing:
            continue
        if not spec.get(name):
            spec[name] = known
        elif spec[name] != known:
            warnings.append(f"{name} in the body is {spec[name]!r}, but the panel is known by {known!r}")
    shown = {"warnings": warnings, "missing": missing}
    status = {name: value for name, value in shown.items() if value}
    spec |= {name: value for name, value in _ALWAYS.items() if name not in spec}
    return RenderedBody(write_json(spec).decode(), write_json(status).decode() if status else None)


def absorb_library_panel(old: dict[str, Any] | None, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec combined with the members of the old body that the spec has no place for."""
    return spec if old is None else {**_parts(old).missing, **spec}


def _parts(body: Mapping[str, Any]) -> _Parts:
    parts = _Parts({}, {}, [])
    for name, value in body.items():
        if name not in _MEMBERS:
            parts.missing[name] = value
        elif value is not None:
            if _fits(_MEMBERS[name], value):
                parts.spec[name] = value
            else:
                parts.missing[name] = value
                parts.unfit.append(name)
    return parts


def _fits(member: TypeAdapter[Any], value: Any) -> bool:
    try:
        member.validate_python(value, strict=True)
    except ValidationError:
        return False
    return True

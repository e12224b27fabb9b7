"""Dashboards in the versions of the API.

A dashboard is stored in the version in which it was last written. Other versions show it converted. What a version cannot express
is kept: an *origin* of a dashboard is its spec before a client wrote it in a version that loses a part of it.
"""

from collections.abc import Mapping
from functools import cache, partial
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.merge import lost_members, merge
from dashwright.common.conversion.scope import ConvertedSpec, current_scope
from dashwright.common.conversion.versions import ALIASES, CLASSIC_VERSIONS, MIGRATED, ConversionFailed, convert
from dashwright.common.kinds.kind import Body, Extract, Kind, RenderedBody, Versioning
from dashwright.common.models.dashboard import ConversionStatus, DashboardStatus

#: The ``schemaVersion`` of the placeholder for a dashboard that a classic version cannot show. No real dashboard has it.
STUB_SCHEMA: Final = 9999

#: Versions that accept elements and a layout only. ``v2alpha1`` accepts classic specs, too, as the specification has it.
CHECKED_ELEMENT_VERSIONS: Final = ("v2beta1", "v2")
#: The oldest version with elements and a layout.
_FIRST_ELEMENT_VERSION: Final = "v2alpha1"
#: The version of classic specs that were stored in ``v2alpha1``.
_FREE_FORM_VERSION: Final = "v0alpha1"
#: Ends of the paths of members that conversions number differently, which loses nothing: ids of rows, and positions below rows.
_RENUMBERED: Final = ("].gridPos.y", "].id")
#: Maximum number of lost members that a status names.
_MAX_PRESERVED: Final = 20


class _Document(NamedTuple):
    """A spec and its version, which never is ``v2alpha1`` for a classic spec."""

    spec: Mapping[str, Any]
    version: str

    @property
    def is_classic(self) -> bool:
        """True if the spec has panels and no elements."""
        return self.version == MIGRATED or self.version in CLASSIC_VERSIONS

    def has_form_of(self, version: str) -> bool:
        """Return whether specs have the same form in ``version`` and in the version of the document."""
        return _have_same_form(self.version, version)

    def to(self, version: str, context: ConversionContext) -> "_Document":
        """Return the document in another version. Raises ConversionFailed if that version cannot express it."""
        return _Document(convert(self.spec, self.version, version, context), version)

    def comparable(self, context: ConversionContext) -> "_Document":
        """Return the document in a version in which documents of its form can be compared. Raises ConversionFailed if it is broken."""
        return self.to(MIGRATED, context) if self.is_classic else self


def render_dashboard(_kind: Kind, body: Body, version: str) -> RenderedBody:
    """Return a body in the form that a version shows.

    A version that cannot show the body shows a placeholder with the title. The status has the reason, and the stored spec if it has
    elements and a layout.
    """
    if version == body.stored_version:
        return RenderedBody(body.spec, _STORED_STATUS)
    if body.status in (None, _NO_ORIGINS) and _have_same_form(_document_version(body.stored_version, body.layout), version):
        return RenderedBody(body.spec, _lossless_status(body.stored_version))
    scope = current_scope()
    context = scope.context_of(body.namespace)
    sources = (version, body.stored_version, str(body.layout), body.title, context.fingerprint, body.status or "", body.spec)
    return RenderedBody(*scope.cache.find_or_add(sources, partial(_render_converted, body, version, context)))


def is_placeholder(spec: Mapping[str, Any]) -> bool:
    """Return whether a spec is the placeholder that a classic version shows for a dashboard which it cannot show."""
    return spec.get("schemaVersion") == STUB_SCHEMA


def _stored_version(version: str, extract: Extract) -> str:
    """Return the version in which to store a spec that was sent in ``version``. Elements and a layout are never stored as classic."""
    return _FIRST_ELEMENT_VERSION if extract.layout and version in CLASSIC_VERSIONS else version


def _preserve_origins(old: Body, version: str, extract: Extract) -> str:
    """Return the status, which has the origins, to store when a client replaces the dashboard ``old`` by one in ``version``.

    There is at most one origin of each form. The old spec becomes an origin if the new version cannot express all of it.
    """
    context = current_scope().context_of(old.namespace)
    document, origins = _document_of(old), _origins_of(old)
    version = _document_version(version, extract.layout)
    if not document.has_form_of(version) and _is_lost(document, version, context):
        origins[document.is_classic] = document
    # An origin in the form of the new spec is dropped, because the new spec replaces it.
    kept_origins = [{"version": origin.version, "spec": origin.spec} for origin in origins.values() if not origin.has_form_of(version)]
    return orjson.dumps({_ORIGINS: kept_origins}).decode() if kept_origins else _NO_ORIGINS


def _is_lost(document: _Document, version: str, context: ConversionContext) -> bool:
    """Return whether a version loses a part of a document. A spec that cannot be converted is replaced as a whole."""
    try:
        return document.to(version, context).to(document.version, context).spec != document.spec
    except ConversionFailed:
        return False


def _convert(body: Body, version: str) -> str:
    """Return the spec of a dashboard in a version. Raises ConversionFailed if the version cannot express it."""
    context, stored = current_scope().context_of(body.namespace), _document_of(body)
    return orjson.dumps(_restored(body, stored, version, context).to(version, context).spec).decode()


DASHBOARD_VERSIONING: Final = Versioning(_stored_version, _preserve_origins, _convert)

_ORIGINS: Final = "origins"
#: Status of a dashboard without origins.
_NO_ORIGINS: Final = "{}"


def _origins_of(body: Body) -> dict[bool, _Document]:
    """Return the origins of a stored dashboard, by whether they are classic."""
    if body.status is None or body.status == _NO_ORIGINS:
        return {}
    origins = [_Document(origin["spec"], origin["version"]) for origin in orjson.loads(body.status).get(_ORIGINS, ())]
    return {origin.is_classic: origin for origin in origins}


def _have_same_form(version: str, other_version: str) -> bool:
    """Return whether specs have the same form in two versions."""
    return ALIASES.get(version, version) == ALIASES.get(other_version, other_version)


@cache
def _lossless_status(stored_version: str) -> str:
    """Return the status of a dashboard in a version that expresses everything."""
    conversion = ConversionStatus(failed=False, stored_version=stored_version)
    return DashboardStatus(conversion=conversion).to_json().decode()


def _document_of(body: Body) -> _Document:
    """Return the stored spec with its version."""
    return _Document(orjson.loads(body.spec), _document_version(body.stored_version, body.layout))


def _document_version(stored_version: str, layout: bool) -> str:
    """Return the version of a stored spec. Classic specs that were sent in ``v2alpha1`` are of the free-form version."""
    if stored_version in CHECKED_ELEMENT_VERSIONS:
        return stored_version
    if layout:
        return _FIRST_ELEMENT_VERSION
    return stored_version if stored_version in CLASSIC_VERSIONS else _FREE_FORM_VERSION


def _render_converted(body: Body, version: str, context: ConversionContext) -> ConvertedSpec:
    """Return the converted spec with its status, or the placeholder if ``version`` cannot express the dashboard."""
    stored = _document_of(body)
    try:
        document = _restored(body, stored, version, context)
        if document.is_classic and version not in CLASSIC_VERSIONS:
            # Both the conversion and _lost_members begin with this step, so it is made only once.
            document = document.comparable(context)
        converted = document.to(version, context)
        preserved = _lost_members(document, converted, context)
    except ConversionFailed as failure:
        return _placeholder(body, version, failure.message)
    # A spec that is the same in both versions keeps the digits of its numbers.
    spec = body.spec if converted.spec is stored.spec else orjson.dumps(converted.spec).decode()
    conversion = ConversionStatus(failed=False, stored_version=body.stored_version, preserved=preserved or None)
    return ConvertedSpec(spec, DashboardStatus(conversion=conversion).to_json().decode())


def _restored(body: Body, document: _Document, version: str, context: ConversionContext) -> _Document:
    """Return the document to convert to ``version``: the stored one, or its origin with the changes that clients have made since.

    Raises ConversionFailed if a version in between cannot express it.
    """
    origin = _origins_of(body).get(version in CLASSIC_VERSIONS)
    if origin is None or document.has_form_of(version):
        return document
    comparable = origin.comparable(context)
    # Both are in the version of ``comparable``: what clients of the stored version saw of the origin, and what they made of it.
    base = comparable.to(document.version, context).to(comparable.version, context)
    changed = document.to(comparable.version, context)
    if changed.spec == base.spec:
        return origin
    merged = comparable._replace(spec=merge(base.spec, comparable.spec, changed.spec))
    # The origin in its own, older form, with the changes only: small commits are easy to review. Both forms must mean the same.
    changed_origin = origin._replace(spec=merge(comparable.spec, origin.spec, merged.spec))
    return changed_origin if changed_origin.to(merged.version, context).spec == merged.spec else merged


def _lost_members(document: _Document, converted: _Document, context: ConversionContext) -> list[str]:
    """Return the paths of the members of a document that its converted form lost; at most ``_MAX_PRESERVED``.

    Classic versions differ in defaults and outdated members only, so nothing is lost between them.
    """
    if document.is_classic and converted.is_classic:
        return []
    try:
        comparable = document.comparable(context)
        paths = lost_members(comparable.spec, converted.to(comparable.version, context).spec)
    except ConversionFailed:
        # The dashboard can be shown, although the way back fails.
        return []
    return list(islice((path for path in paths if not path.endswith(_RENUMBERED)), _MAX_PRESERVED))


def _placeholder(body: Body, version: str, error: str) -> ConvertedSpec:
    """Return the placeholder for a dashboard that ``version`` cannot show, with a status that has the error."""
    is_classic = _document_version(body.stored_version, body.layout) in CLASSIC_VERSIONS
    source = None if is_classic else orjson.loads(body.spec)
    conversion = ConversionStatus(failed=True, stored_version=body.stored_version, error=error, source=source)
    spec = {"title": body.title, "schemaVersion": STUB_SCHEMA} if version in CLASSIC_VERSIONS else {"title": body.title, **_EMPTY_GRID}
    return ConvertedSpec(orjson.dumps(spec).decode(), DashboardStatus(conversion=conversion).to_json().decode())


_EMPTY_GRID: Final = {"elements": {}, "layout": {"kind": "GridLayout", "spec": {"items": []}}}
_STORED_STATUS: Final = DashboardStatus().to_json().decode()

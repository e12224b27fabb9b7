"""Dashboards in their versions: a classic body is the same in all, one of elements and a layout is told of by a stub in the older ones."""

from typing import Final

import orjson

from dashwright.common.kinds.kind import Body, Kind, Rendered
from dashwright.common.models.dashboard import ConversionStatus, DashboardStatus

STUB_SCHEMA: Final = 9999
"""The ``schemaVersion`` of a stub, which no dashboard has."""


def render_dashboard(kind: Kind, body: Body, version: str) -> Rendered:
    """A stub has the title, and a status that names the version to read the dashboard in."""
    if not body.layout or version == kind.version:
        return Rendered(body.spec, body.status)
    error = f"a dashboard with elements and a layout has no form in {version}; read it in {kind.version}"
    status = DashboardStatus(conversion=ConversionStatus(failed=True, stored_version=kind.version, error=error))
    return Rendered(orjson.dumps({"title": body.title, "schemaVersion": STUB_SCHEMA}).decode(), status.to_json().decode())

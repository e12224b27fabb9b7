"""Conversion of dashboards between versions.

A classic body is the same in all versions. The older versions show a body with elements and a layout only as a stub.
"""

from functools import cache
from typing import Final

import orjson

from dashwright.common.kinds.kind import Body, Kind, RenderedBody
from dashwright.common.models.dashboard import ConversionStatus, DashboardStatus

#: The ``schemaVersion`` of a stub. No real dashboard has it.
STUB_SCHEMA: Final = 9999

#: The version whose reads add the default of each member that a classic body lacks.
_FILLED_VERSION: Final = "v1beta1"

#: The built-in query of a dashboard's own annotations.
_OWN_ANNOTATIONS: Final = {
    "builtIn": 1,
    "datasource": {"type": "grafana", "uid": "-- Grafana --"},
    "enable": True,
    "hide": True,
    "iconColor": "rgba(0, 211, 255, 1)",
    "name": "Annotations & Alerts",
    "type": "dashboard",
}

_DEFAULTS: Final = {
    "annotations": {"list": [_OWN_ANNOTATIONS]},
    "editable": True,
    "fiscalYearStartMonth": 0,
    "graphTooltip": 0,
    "links": [],
    "refresh": "",
    "templating": {"list": []},
    "time": {"from": "now-6h", "to": "now"},
    "timepicker": {},
    "timezone": "",
    "weekStart": "",
}
#: JSON of each default member, such as ``"links":[]``, by its name.
_DEFAULT_MEMBERS: Final = {name: orjson.dumps({name: value})[1:-1].decode() for name, value in _DEFAULTS.items()}


def render_dashboard(kind: Kind, body: Body, version: str) -> RenderedBody:
    """Return a body in the form that a version shows.

    A version that cannot show the body gets a stub with the title, whose status names the version to read instead.
    """
    if not body.layout:
        spec = _with_defaults(body.spec) if version == _FILLED_VERSION else body.spec
        return RenderedBody(spec, _status(body.stored_version, version))
    if version == kind.version:
        return RenderedBody(body.spec, _status(version, version))
    error = f"a dashboard with elements and a layout has no form in {version}; read it in {kind.version}"
    status = DashboardStatus(conversion=ConversionStatus(failed=True, stored_version=kind.version, error=error))
    return RenderedBody(orjson.dumps({"title": body.title, "schemaVersion": STUB_SCHEMA}).decode(), status.to_json().decode())


@cache
def _status(stored_version: str, version: str) -> str:
    """Return the conversion status of a complete body. It names the stored version if that differs from the requested one."""
    is_converted = stored_version != version
    conversion = ConversionStatus(failed=False, stored_version=stored_version) if is_converted else None
    return DashboardStatus(conversion=conversion).to_json().decode()


def _with_defaults(spec: str) -> str:
    """Return a classic body with the defaults of its missing members appended. The stored members are not reformatted."""
    present_names = orjson.loads(spec).keys()
    missing_members = [member for name, member in _DEFAULT_MEMBERS.items() if name not in present_names]
    return f"{spec[:-1]}{',' if present_names and missing_members else ''}{','.join(missing_members)}}}"

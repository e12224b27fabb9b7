"""Routes that clients call first: the API version, the current organization and its data sources."""

from collections.abc import Sequence
from typing import Any, Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Operation, Route
from dashwright.api.models.frontend import BootData, FrontendSettings
from dashwright.api.routes.data_sources import readable
from dashwright.common.database.pool import Database
from dashwright.common.identity import namespace_of
from dashwright.common.settings import Settings
from dashwright.common.stores import data_sources
from dashwright.common.stores.data_sources import StoredDataSource

TAG: Final = "frontend"


def routes(database: Database, settings: Settings, *, commit: str = "unknown") -> list[Route]:
    """Return the routes. The settings require credentials because clients check their credentials with this call."""
    version = settings.reported_version
    shown = {
        "buildInfo": {
            "version": version,
            "commit": commit,
            "commitShort": commit[:10],
            "buildstamp": 0,
            "edition": "Open Source",
            "env": "production",
            "hasUpdate": False,
            "hideVersion": False,
            "latestVersion": "",
            "versionString": f"Grafana v{version} ({commit[:10]})",
        },
        "quota": {"enabled": settings.quotas_enabled},
        "anonymousEnabled": False,
        "featureToggles": dict.fromkeys(sorted(settings.features), True),
        "appSubUrl": "",
        "licenseInfo": {},
    }

    async def frontend(call: Call) -> Response:
        caller = call.identity
        found: Sequence[StoredDataSource] = ()
        if caller.org_id:
            async with database.connection() as connection:
                found = readable(await data_sources.list_all(connection, caller.org_id), caller, "datasources:query", "datasources:read")
        sources = {
            "datasources": {stored.name: _source(stored) for stored in found},
            "defaultDatasource": next((stored.name for stored in found if stored.fields.is_default), ""),
        }
        return json_response({**shown, **sources, "namespace": caller.namespace if caller.org_id else ""})

    operation = Operation(
        "getFrontendSettings",
        "version, data sources and enabled features",
        TAG,
        responses={200: FrontendSettings},
        description="Includes the data sources that the caller may query or read, by name.",
    )
    return [Route("GET", "/api/frontend/settings", frontend, SIGNED_IN, operation), Route("GET", "/bootdata", _bootdata, PUBLIC, _BOOTDATA)]


async def _bootdata(_: Call) -> Response:
    """Return the default namespace. Clients read a cloud namespace from here and treat any other as an organization's."""
    return json_response({"settings": {"namespace": namespace_of(1)}})


_BOOTDATA: Final = Operation("getBootData", "the namespace that a client starts in", TAG, responses={200: BootData})


def _source(stored: StoredDataSource) -> dict[str, Any]:
    fields = stored.fields
    return {
        "id": stored.id,
        "uid": fields.uid,
        "type": fields.type,
        "name": fields.name,
        "url": f"/api/datasources/proxy/uid/{fields.uid}" if fields.access == "proxy" else fields.url,
        "isDefault": fields.is_default,
        "access": fields.access,
        "jsonData": fields.json_data,
        "readOnly": False,
    }

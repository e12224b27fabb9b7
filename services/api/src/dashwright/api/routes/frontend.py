"""What clients ask first: the version they parse, which organization they speak for, and which data sources it has."""

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
    """Not for strangers: clients check a credential with this call."""
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
        "version, data sources and what is switched on",
        TAG,
        responses={200: FrontendSettings},
        description="Data sources, by name, are those that the caller may query or read.",
    )
    return [Route("GET", "/api/frontend/settings", frontend, SIGNED_IN, operation), Route("GET", "/bootdata", _bootdata, PUBLIC, _BOOTDATA)]


async def _bootdata(_: Call) -> Response:
    """Its readers look for the namespace of a cloud here, and take another for the one of an organization."""
    return json_response({"settings": {"namespace": namespace_of(1)}})


_BOOTDATA: Final = Operation("getBootData", "which namespace a client starts in", TAG, responses={200: BootData})


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

"""Routes that clients call first, for the version of the API, the current organization and its data sources."""

from collections.abc import Sequence
from typing import Any, Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Operation, Route
from dashwright.api.models.frontend import BootData, FrontendSettings
from dashwright.api.routes.data_sources import readable_data_sources
from dashwright.common.database.pool import Database
from dashwright.common.identity import namespace_of
from dashwright.common.settings import Settings
from dashwright.common.stores import data_sources
from dashwright.common.stores.data_sources import StoredDataSource

TAG: Final = "frontend"
_SHORT_COMMIT_LENGTH: Final = 10


def routes(database: Database, settings: Settings, *, commit: str = "unknown") -> list[Route]:
    """Return the routes. The settings require credentials: clients request the settings to find out whether their credentials are valid."""
    version, short_commit = settings.reported_version, commit[:_SHORT_COMMIT_LENGTH]
    static_settings = {
        "buildInfo": {
            "version": version,
            "commit": commit,
            "commitShort": short_commit,
            "buildstamp": 0,
            "edition": "Open Source",
            "env": "production",
            "hasUpdate": False,
            "hideVersion": False,
            "latestVersion": "",
            "versionString": f"Grafana v{version} ({short_commit})",
        },
        "quota": {"enabled": settings.quotas_enabled},
        "anonymousEnabled": False,
        "featureToggles": dict.fromkeys(sorted(settings.features), True),
        "appSubUrl": "",
        "licenseInfo": {},
    }

    async def get_settings(call: Call) -> Response:
        caller = call.identity
        readable_sources: Sequence[StoredDataSource] = ()
        # A user without an organization may also request the settings. They then have no data sources.
        if caller.org_id:
            async with database.connection() as connection:
                readable_sources = readable_data_sources(
                    await data_sources.list_all(connection, caller.org_id), caller, "datasources:query", "datasources:read"
                )
        source_settings = {
            "datasources": {data_source.name: _source_settings(data_source) for data_source in readable_sources},
            "defaultDatasource": next((data_source.name for data_source in readable_sources if data_source.fields.is_default), ""),
        }
        return json_response({**static_settings, **source_settings, "namespace": caller.namespace if caller.org_id else ""})

    operation = Operation(
        "getFrontendSettings",
        "version, data sources and enabled features",
        TAG,
        responses={200: FrontendSettings},
        description="Includes the data sources that the caller may query or read, by name.",
    )
    return [
        Route("GET", "/api/frontend/settings", get_settings, SIGNED_IN, operation),
        Route("GET", "/bootdata", _get_boot_data, PUBLIC, _BOOT_DATA_OPERATION),
    ]


async def _get_boot_data(_: Call) -> Response:
    """Return the default namespace. Clients look for a namespace of Grafana Cloud here, and treat any other as an organization's."""
    return json_response({"settings": {"namespace": namespace_of(1)}})


_BOOT_DATA_OPERATION: Final = Operation("getBootData", "the namespace that a client starts in", TAG, responses={200: BootData})


def _source_settings(data_source: StoredDataSource) -> dict[str, Any]:
    """Return the settings of a data source. Its address is that of the proxy, unless clients access it directly."""
    fields = data_source.fields
    return {
        "id": data_source.id,
        "uid": fields.uid,
        "type": fields.type,
        "name": fields.name,
        "url": f"/api/datasources/proxy/uid/{fields.uid}" if fields.access == "proxy" else fields.url,
        "isDefault": fields.is_default,
        "access": fields.access,
        "jsonData": fields.json_data,
        "readOnly": False,
    }

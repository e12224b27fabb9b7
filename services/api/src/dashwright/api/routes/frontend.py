"""What clients ask first: the version they parse, and which organization they speak for."""

from typing import Any, Final

from dashwright.api.http.answer import Answer, json_answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import SIGNED_IN, Operation, Route
from dashwright.common.settings import Settings

TAG: Final = "frontend"


def routes(settings: Settings, *, commit: str = "unknown") -> list[Route]:
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
        "datasources": {},
        "defaultDatasource": "",
        "appSubUrl": "",
        "licenseInfo": {},
    }

    async def frontend(call: Call) -> Answer:
        caller = call.identity
        return json_answer({**shown, "namespace": caller.namespace if caller.org_id else ""})

    operation = Operation("getFrontendSettings", "version and what is switched on", TAG, answers={200: dict[str, Any]})
    return [Route("GET", "/api/frontend/settings", frontend, SIGNED_IN, operation)]

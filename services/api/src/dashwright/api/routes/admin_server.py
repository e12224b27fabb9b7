"""Routes for server admins: the server's settings and statistics."""

from collections.abc import Mapping
from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, OrganizationScope, Permission, Route
from dashwright.api.models.statistics import ServerStats
from dashwright.api.stores import statistics
from dashwright.common.database.errors import database_label
from dashwright.common.database.pool import Database
from dashwright.common.settings import Settings

TAG: Final = "admin"
_MASKED_SECRET: Final = "*********"  # noqa: S105


def routes(database: Database, settings: Settings) -> list[Route]:
    """Return the routes."""
    setting_sections = settings_by_section(settings)

    async def get_settings(_: Call) -> Response:
        return json_response(setting_sections)

    async def get_statistics(_: Call) -> Response:
        async with database.connection() as connection:
            counts = await statistics.server_counts(connection)
        return json_response(ServerStats(**counts))

    return [
        Route(
            "GET",
            "/api/admin/settings",
            get_settings,
            Permission("settings:read", organization=OrganizationScope.GLOBAL),
            Operation("adminGetSettings", "settings in sections, secrets masked", TAG, responses={200: dict[str, dict[str, str]]}),
        ),
        Route(
            "GET",
            "/api/admin/stats",
            get_statistics,
            Permission("server.stats:read", organization=OrganizationScope.GLOBAL),
            Operation("adminGetStats", "statistics of the server; 0 for what it does not store", TAG, responses={200: ServerStats}),
        ),
    ]


def settings_by_section(settings: Settings) -> Mapping[str, Mapping[str, str]]:
    """Return the settings as strings by section and name, as Grafana does. Secrets are masked."""
    url = settings.database_url
    # Constants describe behaviour that no setting changes: for example, users cannot sign up.
    return {
        "DEFAULT": {"app_mode": "production", "instance_name": settings.http_host},
        "server": {
            "protocol": "https" if settings.tls_cert else "http",
            "http_addr": settings.http_host,
            "http_port": str(settings.http_port),
        },
        "database": {
            "type": "postgres",
            "name": "" if url is None else database_label(url.get_secret_value()),
            "password": _MASKED_SECRET,
            "max_open_conn": str(settings.database_pool_size),
        },
        "security": {
            "admin_user": settings.admin_user,
            "admin_password": _MASKED_SECRET,
            "secret_key": _MASKED_SECRET,
            "disable_brute_force_login_protection": _boolean_string(settings.login_attempts == 0),
            "brute_force_login_protection_max_attempts": str(settings.login_attempts),
        },
        "plugins": {"enable_alpha": "false"},
        "users": {"allow_sign_up": "false", "allow_org_create": "false", "auto_assign_org": "true", "auto_assign_org_role": "Viewer"},
        "auth.basic": {"enabled": _boolean_string(settings.basic_auth)},
        "auth.anonymous": {"enabled": "false"},
        "quota": {
            "enabled": _boolean_string(settings.quotas_enabled),
            **{name: str(limit) for name, limit in settings.quota_defaults.items()},
        },
        "log": {"level": settings.log_level, "mode": settings.log_format},
    }


def _boolean_string(value: bool) -> str:
    return "true" if value else "false"

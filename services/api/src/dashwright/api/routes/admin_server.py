"""Routes for server admins: the server's settings and statistics."""

from collections.abc import Mapping
from typing import Final

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import Operation, OrganizationView, Permission, Route
from dashwright.api.models.statistics import ServerStats
from dashwright.api.stores import statistics
from dashwright.common.database.losses import place_of
from dashwright.common.database.pool import Database
from dashwright.common.settings import Settings

TAG: Final = "admin"
_SECRET: Final = "*********"  # noqa: S105


def routes(database: Database, settings: Settings) -> list[Route]:
    """Return the routes."""
    shown = sections(settings)

    async def set_how(_: Call) -> Response:
        return json_response(shown)

    async def stats(_: Call) -> Response:
        async with database.connection() as connection:
            counted = await statistics.server(connection)
        return json_response(ServerStats(**counted))

    return [
        Route(
            "GET",
            "/api/admin/settings",
            set_how,
            Permission("settings:read", organization=OrganizationView.GLOBAL),
            Operation("adminGetSettings", "settings in sections, secrets masked", TAG, responses={200: dict[str, dict[str, str]]}),
        ),
        Route(
            "GET",
            "/api/admin/stats",
            stats,
            Permission("server.stats:read", organization=OrganizationView.GLOBAL),
            Operation("adminGetStats", "statistics of the server; 0 for what it does not store", TAG, responses={200: ServerStats}),
        ),
    ]


def sections(settings: Settings) -> Mapping[str, Mapping[str, str]]:
    """Return the settings as Grafana's clients expect them: texts in sections. Secrets are masked."""
    url = settings.database_url
    return {
        "DEFAULT": {"app_mode": "production", "instance_name": settings.http_host},
        "server": {
            "protocol": "https" if settings.tls_cert else "http",
            "http_addr": settings.http_host,
            "http_port": str(settings.http_port),
        },
        "database": {
            "type": "postgres",
            "name": "" if url is None else place_of(url.get_secret_value()),
            "password": _SECRET,
            "max_open_conn": str(settings.database_pool_size),
        },
        "security": {
            "admin_user": settings.admin_user,
            "admin_password": _SECRET,
            "secret_key": _SECRET,
            "disable_brute_force_login_protection": _text(settings.login_attempts == 0),
            "brute_force_login_protection_max_attempts": str(settings.login_attempts),
        },
        "plugins": {"enable_alpha": "false"},
        "users": {"allow_sign_up": "false", "allow_org_create": "false", "auto_assign_org": "true", "auto_assign_org_role": "Viewer"},
        "auth.basic": {"enabled": _text(settings.basic_auth)},
        "auth.anonymous": {"enabled": "false"},
        "quota": {"enabled": _text(settings.quotas_enabled), **{name: str(limit) for name, limit in settings.quota_defaults.items()}},
        "log": {"level": settings.log_level, "mode": settings.log_format},
    }


def _text(value: bool) -> str:
    return "true" if value else "false"

"""Routes of health and identity: probes, metrics, and the versions that clients request."""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from platform import machine, python_implementation, python_version, system
from types import MappingProxyType
from typing import Any, Final

from pydantic import SecretStr

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import PUBLIC, Content, Handler, Operation, Route
from dashwright.api.models.discovery import VersionInfo
from dashwright.api.models.frontend import HealthResponse
from dashwright.common.errors import Unauthorized
from dashwright.common.observability import metrics
from dashwright.common.observability.probes import ProbeReport, Probes

PRODUCT_VERSION: Final = version("dashwright-api")
DATABASE_CHECK: Final = "database"
_CONTENT_TYPE: Final = "text/plain; charset=utf-8"
_PLAIN_TEXT: Final = Content(str, ("text/plain",))
_PROBE_RESPONSES: Final = {200: _PLAIN_TEXT, 500: _PLAIN_TEXT}
_HEALTH_RESPONSES: Final = {200: HealthResponse, 503: HealthResponse}
_VERBOSE_QUERY: Final = {"verbose": "If present, the response names every check"}
_NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})


def routes(probes: Probes, *, reported_version: str, commit: str = "unknown", metrics_token: SecretStr | None = None) -> list[Route]:
    """Return the routes. ``probes`` has a check named ``database``; ``reported_version`` is the version that clients parse.

    With ``metrics_token``, metrics require it as a bearer token.
    """

    async def database_health(_: Call) -> Response:
        is_healthy = await probes.passes(DATABASE_CHECK)
        body = {"commit": commit, "database": "ok" if is_healthy else "failing", "version": reported_version}
        return json_response(body) if is_healthy else json_response(body, 503, {"Retry-After": "1"})

    return [
        _public_route(
            "/livez",
            _probe_handler(probes.check_liveness),
            "livez",
            "Whether the process is alive; if not, restart it",
            _PROBE_RESPONSES,
            _VERBOSE_QUERY,
        ),
        _public_route(
            "/readyz",
            _probe_handler(probes.check_readiness),
            "readyz",
            "Whether the process can do its work; the response names failed checks",
            _PROBE_RESPONSES,
            _VERBOSE_QUERY,
        ),
        _public_route(
            "/healthz",
            _probe_handler(lambda: probes.check_readiness("healthz")),
            "healthz",
            "An alias of readyz",
            _PROBE_RESPONSES,
            _VERBOSE_QUERY,
        ),
        _public_route("/metrics", _metrics_handler(metrics_token), "metrics", "Metrics as Prometheus text", {200: _PLAIN_TEXT}),
        _public_route("/version", _version, "version", "The version of this server, as Kubernetes clients read it", {200: VersionInfo}),
        _public_route(
            "/api/health", database_health, "getHealth", "The health of the database, and the version of the API", _HEALTH_RESPONSES
        ),
    ]


def _public_route(
    path: str, handler: Handler, operation_id: str, summary: str, responses: Mapping[int, Any], query: Mapping[str, str] = _NO_QUERY
) -> Route:
    operation = Operation(operation_id, summary, tag="health", responses=responses, query=query)
    return Route("GET", path, handler, PUBLIC, operation, is_routine=True)


def _probe_handler(run_checks: Callable[[], Awaitable[ProbeReport]]) -> Handler:
    """Return a handler that runs checks and responds with their report as text."""

    async def handler(call: Call) -> Response:
        probe_report = await run_checks()
        body = probe_report.body(verbose="verbose" in call.query)
        return Response(probe_report.status, body.encode(), _CONTENT_TYPE, {"Cache-Control": "no-cache"})

    return handler


def _metrics_handler(token: SecretStr | None) -> Handler:
    """Return the handler of metrics. Without a token, or with an empty one, it requires no credentials."""
    expected_header = f"Bearer {token.get_secret_value()}".encode() if token and token.get_secret_value() else b""

    async def handler(call: Call) -> Response:
        # ``compare_digest`` takes the same time for every wrong token, so its duration does not help to guess the token.
        if expected_header and not hmac.compare_digest(call.headers.get("Authorization", "").encode(), expected_header):
            raise Unauthorized("metrics require the token of DASHWRIGHT_METRICS_TOKEN as Authorization: Bearer")
        return Response(200, metrics.exposition(), metrics.CONTENT_TYPE)

    return handler


async def _version(_: Call) -> Response:
    """Return the version of the product. Members about git, Go and the build are empty."""
    major, minor, *_patch = PRODUCT_VERSION.split(".")
    return json_response(
        {
            "major": major,
            "minor": minor,
            "gitVersion": f"v{PRODUCT_VERSION}",
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "",
            "goVersion": "",
            "compiler": f"{python_implementation()} {python_version()}",
            "platform": f"{system().lower()}/{machine()}",
        }
    )

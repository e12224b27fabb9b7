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
_TEXT: Final = "text/plain; charset=utf-8"
_PLAIN: Final = Content(str, ("text/plain",))
_PROBED: Final = {200: _PLAIN, 500: _PLAIN}
_CHECKED: Final = {200: HealthResponse, 503: HealthResponse}
_VERBOSE: Final = {"verbose": "If present, the response names every check"}
_NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})


def routes(probes: Probes, *, reported_version: str, commit: str = "unknown", metrics_token: SecretStr | None = None) -> list[Route]:
    """Return the routes. ``probes`` has a check named ``database``; ``reported_version`` is the version that clients parse.

    With ``metrics_token``, metrics require it as a bearer token.
    """

    async def database_health(_: Call) -> Response:
        is_well = await probes.passes(DATABASE_CHECK)
        body = {"commit": commit, "database": "ok" if is_well else "failing", "version": reported_version}
        return json_response(body) if is_well else json_response(body, 503, {"Retry-After": "1"})

    return [
        _get("/livez", _probe(probes.live), "livez", "Whether the process is alive; if not, restart it", _PROBED, _VERBOSE),
        _get(
            "/readyz",
            _probe(probes.ready),
            "readyz",
            "Whether the process can do its work; the response names failed checks",
            _PROBED,
            _VERBOSE,
        ),
        _get("/healthz", _probe(lambda: probes.ready("healthz")), "healthz", "An alias of readyz", _PROBED, _VERBOSE),
        _get("/metrics", _metrics(metrics_token), "metrics", "Metrics as Prometheus text", {200: _PLAIN}),
        _get("/version", _version, "version", "The version of this server, as Kubernetes clients read it", {200: VersionInfo}),
        _get("/api/health", database_health, "getHealth", "The health of the database, and the version of the API", _CHECKED),
    ]


def _get(
    path: str, handler: Handler, identifier: str, summary: str, answers: Mapping[int, Any], query: Mapping[str, str] = _NO_QUERY
) -> Route:
    operation = Operation(identifier, summary, tag="health", responses=answers, query=query)
    return Route("GET", path, handler, PUBLIC, operation, is_routine=True)


def _probe(report: Callable[[], Awaitable[ProbeReport]]) -> Handler:
    async def handler(call: Call) -> Response:
        outcome = await report()
        text = outcome.text(verbose="verbose" in call.query)
        return Response(outcome.status, text.encode(), _TEXT, {"Cache-Control": "no-cache"})

    return handler


def _metrics(token: SecretStr | None) -> Handler:
    expected = f"Bearer {token.get_secret_value()}".encode() if token and token.get_secret_value() else b""

    async def handler(call: Call) -> Response:
        if expected and not hmac.compare_digest(call.headers.get("Authorization", "").encode(), expected):
            raise Unauthorized("metrics require the token of DASHWRIGHT_METRICS_TOKEN as Authorization: Bearer")
        return Response(200, metrics.exposition(), metrics.CONTENT_TYPE)

    return handler


async def _version(_: Call) -> Response:
    major, minor, *_rest = PRODUCT_VERSION.split(".")
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

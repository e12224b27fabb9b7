"""The reference of G2, the server of ``bare_gateway`` in Starlette on uvicorn, with uvloop and httptools.

``python -m benchmarks.starlette_gateway read|complete DATABASE_URL`` runs the server, which prints its address when it is ready. With
``read``, it only reads and responds. With ``complete``, a middleware also authenticates the caller by a digest of the credentials,
checks a permission, propagates the trace, gives the request an id, counts it, and logs it with the product's logging.
"""

import socket
import sys
import time
from collections.abc import Awaitable, Callable

import structlog
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.bare_gateway import DASHBOARDS_ROUTE, QUOTAS_PATH, StatementRunner
from dashwright.api.auth.identity_cache import Digests
from dashwright.common.observability import logging, metrics, tracing

Endpoint = Callable[[Request], Awaitable[Response]]

#: As in aiohttp. Connections are idle during the rounds of the other servers.
_KEEP_ALIVE_SECONDS = 75
#: The credentials admin:admin, which the client sends.
_AUTHORIZATION = "Basic YWRtaW46YWRtaW4="

log = structlog.get_logger()


class Middleware:
    """The work of ``complete`` before and after an endpoint, for one known user."""

    def __init__(self, authorization: str) -> None:
        self._digests = Digests()
        permissions = {"orgs.quotas:read": frozenset({"*"}), "dashboards:read": frozenset({"*"})}
        #: Login and permissions by digest of the credentials.
        self._users = {self._digests.digest(authorization): ("admin", permissions)}

    def wrap(self, endpoint: Endpoint, path: str, action: str) -> Endpoint:
        """Return an endpoint that requires the permission for an action, and that is counted and logged."""

        async def wrapped(request: Request) -> Response:
            started = time.perf_counter()
            trace = tracing.enter(request.headers.get(tracing.HEADER))
            request_id = request.headers.get("X-Request-Id", trace.span_id)
            structlog.contextvars.bind_contextvars(request_id=request_id, method=request.method, path=request.url.path)
            response = await self._authorize_and_call(request, endpoint, action)
            response.headers["X-Request-Id"] = request_id
            seconds = time.perf_counter() - started
            metrics.http_requests.labels(path, request.method, str(response.status_code)).inc()
            metrics.http_seconds.labels(path).observe(seconds)
            log.info("request_completed", route=path, status=response.status_code, ms=round(seconds * 1000, 3))
            return response

        return wrapped

    async def _authorize_and_call(self, request: Request, endpoint: Endpoint, action: str) -> Response:
        """Return the response of the endpoint, or one with status 401 or 403 for a caller without access."""
        user = self._users.get(self._digests.digest(request.headers.get("Authorization", "")))
        if user is None:
            return Response(status_code=401)
        login, permissions = user
        structlog.contextvars.bind_contextvars(user=login)
        if "*" not in permissions.get(action, ()):
            return Response(status_code=403)
        return await endpoint(request)


def _application(runner: StatementRunner, *, is_complete: bool) -> Starlette:
    """Return the application with the same routes as that of ``bare_gateway``."""

    async def quotas(_request: Request) -> Response:
        return Response(await runner.quotas(), media_type="application/json")

    async def dashboard(request: Request) -> Response:
        body = await runner.dashboard(request.path_params["namespace"], request.path_params["name"])
        return Response(body, media_type="application/json")

    endpoints: list[tuple[str, Endpoint, str]] = [
        (QUOTAS_PATH, quotas, "orgs.quotas:read"),
        (f"{DASHBOARDS_ROUTE}/{{name}}", dashboard, "dashboards:read"),
    ]
    if is_complete:
        middleware = Middleware(_AUTHORIZATION)
        endpoints = [(path, middleware.wrap(endpoint, path, action), action) for path, endpoint, action in endpoints]
    return Starlette(routes=[Route(path, endpoint) for path, endpoint, _ in endpoints])


async def serve(variant: str, database_url: str) -> None:
    """Serve until the process ends. ``variant`` is ``read`` or ``complete``."""
    logging.configure("starlette", as_json=True)
    application = _application(await StatementRunner.open(database_url), is_complete=variant == "complete")
    config = uvicorn.Config(
        application,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    await uvicorn.Server(config).serve([listener])


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:]))

"""The counterpart of ``bare_gateway`` in Starlette on uvicorn, with uvloop and httptools.

``python -m benchmarks.starlette_gateway read|whole DATABASE_URL``; it prints its address when it is ready. ``read``
serves without any checks. ``whole`` does the product's work around it in the fewest lines: it identifies the caller
by a digest of the credentials, checks a permission, follows the trace, names and counts the request, and logs it
with the product's logging.
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

from benchmarks.bare_gateway import DASHBOARDS, QUOTAS, Reads
from dashwright.api.auth.identity_cache import Digests
from dashwright.common.observability import logging, metrics, tracing

Endpoint = Callable[[Request], Awaitable[Response]]

_KEEP_ALIVE = 75
"""Seconds, as in aiohttp: a connection waits while others have their turn."""

log = structlog.get_logger()


class Guard:
    """The work around an endpoint of ``whole``."""

    def __init__(self, authorization: str) -> None:
        self._digests = Digests()
        granted = {"orgs.quotas:read": frozenset({"*"}), "dashboards:read": frozenset({"*"})}
        self._known = {self._digests.digest(authorization): ("admin", granted)}

    def around(self, endpoint: Endpoint, path: str, action: str) -> Endpoint:
        """Return the endpoint with the work around it."""

        async def guarded(request: Request) -> Response:
            started = time.perf_counter()
            trace = tracing.enter(request.headers.get(tracing.HEADER))
            request_id = request.headers.get("X-Request-Id", trace.span_id)
            structlog.contextvars.bind_contextvars(request_id=request_id, method=request.method, path=request.url.path)
            response = await self._checked(request, endpoint, action)
            response.headers["X-Request-Id"] = request_id
            seconds = time.perf_counter() - started
            metrics.http_requests.labels(path, request.method, str(response.status_code)).inc()
            metrics.http_seconds.labels(path).observe(seconds)
            log.info("request_completed", route=path, status=response.status_code, ms=round(seconds * 1000, 3))
            return response

        return guarded

    async def _checked(self, request: Request, endpoint: Endpoint, action: str) -> Response:
        known = self._known.get(self._digests.digest(request.headers.get("Authorization", "")))
        if known is None:
            return Response(status_code=401)
        login, granted = known
        structlog.contextvars.bind_contextvars(user=login)
        if "*" not in granted.get(action, ()):
            return Response(status_code=403)
        return await endpoint(request)


def _application(reads: Reads, *, whole: bool) -> Starlette:
    async def quotas(_request: Request) -> Response:
        return Response(await reads.quotas(), media_type="application/json")

    async def dashboard(request: Request) -> Response:
        body = await reads.dashboard(request.path_params["namespace"], request.path_params["name"])
        return Response(body, media_type="application/json")

    table: list[tuple[str, Endpoint, str]] = [
        (QUOTAS, quotas, "orgs.quotas:read"),
        (f"{DASHBOARDS}/{{name}}", dashboard, "dashboards:read"),
    ]
    if whole:
        guard = Guard("Basic YWRtaW46YWRtaW4=")
        table = [(path, guard.around(endpoint, path, action), action) for path, endpoint, action in table]
    return Starlette(routes=[Route(path, endpoint) for path, endpoint, _ in table])


async def serve(work: str, database_url: str) -> None:
    """Serve until the process ends."""
    logging.configure("starlette", as_json=True)
    application = _application(await Reads.open(database_url), whole=work == "whole")
    options = uvicorn.Config(
        application,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=_KEEP_ALIVE,
    )
    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    await uvicorn.Server(options).serve([listening])


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:]))

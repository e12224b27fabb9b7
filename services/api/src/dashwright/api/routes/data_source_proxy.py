"""Routes that forward requests to the HTTP APIs of data sources, by the paths of Grafana's proxy and of its plugins' resources."""

from typing import Final

from dashwright.api.data_source_proxy.client import ProxiedResponse, ProxyClient, ProxyRequest
from dashwright.api.data_source_proxy.parameters import check_parameters
from dashwright.api.data_source_proxy.request_path import path_segments
from dashwright.api.data_source_proxy.rules import check_request
from dashwright.api.data_sources import not_found
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import BINARY, Content, Operation, Route, parse_template
from dashwright.api.routes.data_sources import TAG, find, permission_on_any, permission_on_uid
from dashwright.api.routes.query import QUERY_ACTION
from dashwright.api.stores import audit
from dashwright.api.stores.audit import Event, Outcome
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.secrets import SecretCipher
from dashwright.common.stores import data_sources

#: Name of the audit event of a forwarded request.
PROXY: Final = "data-source.proxy"

#: Paths by the name of the operation. Paths with an id are older forms.
_PATHS: Final = {
    "proxyByUID": "/api/datasources/proxy/uid/{uid}/{path:rest}",
    "proxyByID": "/api/datasources/proxy/{id}/{path:rest}",
    "callResourceByUID": "/api/datasources/uid/{uid}/resources/{path:rest}",
    "callResourceByID": "/api/datasources/{id}/resources/{path:rest}",
}
#: A page of a data source must not run scripts with the rights of the gateway's own pages.
_RESPONSE_HEADERS: Final = {"Content-Security-Policy": "sandbox", "Via": "1.1 dashwright"}
#: Bytes of a stream in the buffers of both connections.
_BUFFERED_BYTES: Final = 256 * 1024


class ProxyHandlers:
    """Handlers of proxied requests."""

    def __init__(self, database: Database, cipher: SecretCipher, client: ProxyClient) -> None:
        self._database = database
        self._cipher = cipher
        self._client = client

    async def forward(self, call: Call) -> Response:
        """Return the response of the data source. The request is audited, with its method and path."""
        source = await find(self._database, call, QUERY_ACTION)
        segments = path_segments(_raw_remainder(call))
        check_request(source.fields.type, call.method, segments)
        async with self._database.connection() as connection:
            record = await data_sources.find(connection, self._cipher, source.org_id, source.uid)
        if record is None:
            raise not_found()
        body = await call.body() if call.method == "POST" else b""
        query = [*call.query.items()]
        check_parameters(record, query, body, call.headers.get("Content-Type", ""))
        request = ProxyRequest(call.method, "/".join(segments), query, body, call.headers, call.actor.uid)
        return await self._respond(call, record, request)

    async def _respond(self, call: Call, record: SourceRecord, request: ProxyRequest) -> Response:
        """Send the request and audit it. Return the response as a stream, or raise the error of the client."""
        try:
            response = await self._client.send(record, request)
        except DashwrightError as error:
            await self._audit(call, record, request, error.status)
            raise
        try:
            await self._audit(call, record, request, response.status)
        # Without this, a failed audit would leave the connection to the data source open.
        except BaseException:
            await response.body.aclose()
            raise
        return _streamed(response)

    async def _audit(self, call: Call, record: SourceRecord, request: ProxyRequest, status: int) -> None:
        outcome = Outcome.OK if status < 400 else Outcome.FAILED
        details = {"uid": record.uid, "method": request.method, "path": request.path}
        event = Event(call.actor, PROXY, f"data-source:{record.id}", outcome, status, details, org_id=record.org_id)
        async with self._database.connection() as connection:
            await audit.record_all(connection, [event])


def routes(database: Database, cipher: SecretCipher, client: ProxyClient, *, body_limit: int) -> list[Route]:
    """Return the routes. ``body_limit`` is the largest request in bytes."""
    handlers = ProxyHandlers(database, cipher, client)

    def route(method: str, name: str, path: str) -> Route:
        is_by_id = "{id}" in path
        operation = Operation(
            f"datasource{method.title()}{name[0].upper()}{name[1:]}",
            f"forward a {method} request to the API of a data source",
            TAG,
            request=Content(BINARY, ("application/x-www-form-urlencoded", "application/json"), is_optional=True)
            if method == "POST"
            else None,
            responses={200: Content(BINARY, ("*/*",))},
            parameters={"id": int} if is_by_id else {},
            errors=(404, 502, 504),
            deprecated=is_by_id,
            description="The response of the data source. Only requests that read data are forwarded.",
        )
        permission = permission_on_any(QUERY_ACTION) if is_by_id else permission_on_uid(QUERY_ACTION)
        return Route(
            method, path, handlers.forward, permission, operation, body_limit=body_limit, audit=PROXY if method == "POST" else None
        )

    return [route(method, name, path) for name, path in _PATHS.items() for method in ("GET", "POST")]


def _raw_remainder(call: Call) -> str:
    """Return the end of the path that the template calls ``path``, still percent-encoded."""
    # The path begins with a slash, so its split has an empty first part, while the template's last segment is ``path`` itself.
    prefix_length = len(parse_template(call.template))
    return "/".join(call.path.split("/")[prefix_length:])


def _streamed(response: ProxiedResponse) -> Response:
    return Response(
        response.status,
        response.body,
        response.content_type,
        {**response.headers, **_RESPONSE_HEADERS},
        buffered_bytes=_BUFFERED_BYTES,
    )

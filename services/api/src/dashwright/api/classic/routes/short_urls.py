"""``/api/short-urls`` and ``/goto/{uid}``: short URLs that redirect to a path of this server."""

from typing import Final

from dashwright.api.classic.short_urls import CREATE, ShortUrls
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import SIGNED_IN, Operation, Permission, Route
from dashwright.api.models.small_objects import ShortUrlCreated
from dashwright.common.models.classic import ClassicBody, Text

_TAG: Final = "short URLs"
"""Group of the operations in the description of the API."""


class CreateShortUrlCommand(ClassicBody):
    """A short URL to create."""

    #: Relative to the address of this server, such as ``d/abc?from=now-1h``.
    path: Text


class _Handlers:
    """Handlers of short URLs."""

    def __init__(self, short_urls: ShortUrls, public_address: str) -> None:
        self._short_urls = short_urls
        self._public_address = public_address

    async def create(self, call: Call) -> Response:
        command = await call.model_or_400(CreateShortUrlCommand, message="bad request data")
        uid = await self._short_urls.create(call.actor, call.identity, command.path)
        url = f"{self._public_address}/goto/{uid}?orgId={call.identity.org_id}"
        return json_response(ShortUrlCreated(uid=uid, url=url))

    async def open(self, call: Call) -> Response:
        path = await self._short_urls.resolve(call.identity, call.parameters["uid"])
        return Response(302, headers={"Location": path, "Cache-Control": "no-store"})


def routes(short_urls: ShortUrls, *, public_address: str) -> list[Route]:
    """Return the routes of short URLs. ``public_address`` is the base URL of this server for clients, without a slash at the end."""
    handlers = _Handlers(short_urls, public_address)
    create = Operation(
        "createShortURL",
        "return the short URL of a path, which is created if it does not exist",
        _TAG,
        CreateShortUrlCommand,
        {200: ShortUrlCreated},
    )
    open_ = Operation("openShortURL", "redirect to the path of a short URL", _TAG, responses={302: None}, errors=(404,))
    return [
        Route("POST", "/api/short-urls", handlers.create, Permission(CREATE), create, audit="shorturl.create"),
        Route("GET", "/goto/{uid}", handlers.open, SIGNED_IN, open_),
    ]

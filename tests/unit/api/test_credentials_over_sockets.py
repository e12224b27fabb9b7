"""Credentials and addresses of callers, as the authenticator receives them."""

from dataclasses import dataclass, field

import pytest
from aiohttp import ClientSession

from dashwright.api.http.addresses import TrustedProxies
from dashwright.api.http.authentication import Credentials
from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import SIGNED_IN, Route
from dashwright.api.http.server import Server
from dashwright.common.identity import Identity, Role
from dashwright.common.settings import load


@dataclass
class RecordingAuthenticator:
    """An authenticator that accepts every caller and records the callers' credentials."""

    credentials: list[Credentials] = field(default_factory=list)

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Record the credentials, and return the identity of a viewer."""
        self.credentials.append(credentials)
        return Identity(uid="user:1", login="ann", org_id=org_id or 1, role=Role.VIEWER, user_id=1)

    async def identity_in(self, identity: Identity, org_id: int) -> Identity:
        """Return the identity unchanged."""
        return identity


async def address(call: Call) -> Response:
    """Return the address of the caller as the handler receives it."""
    return json_response({"address": call.address})


ROUTE = Route("GET", "/api/x", address, SIGNED_IN)


async def test_two_credentials_are_refused() -> None:
    """A request with two headers ``Authorization`` is refused, because the gateway cannot know which one a proxy has checked.

    Requests with an empty header or without the header do not reach the authenticator either.
    """
    authenticator = RecordingAuthenticator()
    server = Server([ROUTE], authenticator)
    port = await server.start("127.0.0.1", 0)
    async with ClientSession(f"http://127.0.0.1:{port}") as client:

        async def status_with(*credentials: str) -> int:
            """Return the status of a request with a header for each credential."""
            async with client.get("/api/x", headers=[("Authorization", credential) for credential in credentials]) as response:
                return response.status

        assert await status_with("Bearer a") == 200
        assert await status_with("Bearer a", "Bearer a") == 401
        assert await status_with("", "Bearer a") == 401
        assert await status_with("") == 401
        assert await status_with() == 401
    assert authenticator.credentials == [Credentials("Bearer a", "127.0.0.1")]
    await server.stop()


@pytest.mark.parametrize(
    ("trusted", "forwarded", "caller"),
    [
        pytest.param("", ["203.0.113.9"], "127.0.0.1", id="the proxy is not trusted"),
        pytest.param("127.0.0.0/8", ["203.0.113.9"], "203.0.113.9", id="one address"),
        pytest.param("127.0.0.0/8", ["198.51.100.1", "203.0.113.9"], "203.0.113.9", id="the last address"),
        pytest.param("127.0.0.0/8", [], "", id="an unknown address"),
    ],
)
async def test_a_trusted_proxy_names_the_caller(trusted: str, forwarded: list[str], caller: str) -> None:
    """The header of a trusted proxy sets the address for authenticator and handler; other clients' headers are ignored."""
    authenticator = RecordingAuthenticator()
    server = Server([ROUTE], authenticator, proxies=TrustedProxies(load(trusted_proxies=trusted).trusted_proxies))
    port = await server.start("127.0.0.1", 0)
    headers = [("Authorization", "Bearer a"), *(("X-Forwarded-For", address) for address in forwarded)]
    async with ClientSession(f"http://127.0.0.1:{port}") as client, client.get("/api/x", headers=headers) as response:
        assert (await response.json())["address"] == caller
    assert [credentials.address for credentials in authenticator.credentials] == [caller]
    await server.stop()

"""The service account of the clients."""

import ssl
from pathlib import Path

import aiohttp
from tests.acceptance.client import FIRST_USER


async def token(address: str, certificate: Path | None = None) -> str:
    """Create a service account with the role Admin and return a token of it. ``certificate`` verifies a gateway that uses TLS."""
    connector = None if certificate is None else aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=certificate))
    async with aiohttp.ClientSession(address, connector=connector, headers={"Authorization": FIRST_USER}, raise_for_status=True) as session:
        async with session.post("/api/serviceaccounts", json={"name": "clients", "role": "Admin"}) as response:
            account_id = (await response.json())["id"]
        async with session.post(f"/api/serviceaccounts/{account_id}/tokens", json={"name": "clients"}) as response:
            return str((await response.json())["key"])

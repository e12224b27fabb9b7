"""A virtual host of its own for each test, through a broker's management API: some 10 ms each."""

from secrets import token_hex
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp


class VirtualHosts:
    """Makes and removes virtual hosts through a broker's management API."""

    def __init__(self, amqp_url: str, management_url: str) -> None:
        parts = urlsplit(management_url)
        self._api = f"{parts.scheme}://{parts.hostname}:{parts.port}/api"
        self._user = parts.username or "guest"
        self._headers = {"Authorization": aiohttp.encode_basic_auth(self._user, parts.password or "guest")}
        self._amqp = amqp_url

    async def make(self) -> str:
        """The URL of a new, empty virtual host."""
        name = f"dashwright-test-{token_hex(6)}"
        await self._call("PUT", f"/vhosts/{name}", {})
        await self._call("PUT", f"/permissions/{name}/{quote(self._user)}", {"configure": ".*", "write": ".*", "read": ".*"})
        return urlsplit(self._amqp)._replace(path=f"/{name}").geturl()

    async def remove(self, url: str) -> None:
        await self._call("DELETE", f"/vhosts{urlsplit(url).path}", None)

    async def load(self, definitions: dict[str, Any]) -> None:
        """Import definitions, accounts included."""
        await self._call("POST", "/definitions", definitions)

    async def remove_account(self, name: str) -> None:
        await self._call("DELETE", f"/users/{name}", None)

    async def _call(self, method: str, path: str, body: dict[str, Any] | None) -> None:
        async with aiohttp.ClientSession(headers=self._headers) as session, session.request(method, self._api + path, json=body) as answer:
            answer.raise_for_status()

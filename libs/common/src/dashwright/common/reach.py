"""Where data sources and git hosts may lie.

The addresses that are judged here are those that are connected to: nobody resolves a name twice.
"""

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from dashwright.common.allowed_hosts import Address, AllowedHosts
from dashwright.common.errors import BadRequest, SourceFailed

SETTING = "DASHWRIGHT_ALLOWED_HOSTS"

_LOOKING_UP: Final = ThreadPoolExecutor(max_workers=32, thread_name_prefix="look-up")
"""Threads for nothing else: names whose servers never answer must not take those that all other work is done in."""

_SECONDS: Final = 10.0


class Reach:
    """``whose`` host is judged, for the errors: ``the data source's``."""

    def __init__(self, allowed: AllowedHosts, whose: str = "the data source's") -> None:
        self._allowed = allowed
        self._whose = whose

    async def resolve(self, host: str, port: int, *, encrypted: bool = True) -> list[Address]:
        """The addresses of ``host`` to connect to, in the order to try them. Without ``encrypted`` only listed ones may be reached.

        Raises BadRequest that names the setting where one of them may not be reached, SourceFailed where the name is not known.
        """
        addresses = await _addresses(host, port, self._whose)
        for address in addresses:
            # One is enough to refuse them all: a name that leads inside and outside would get inside by chance.
            if not self._allowed.permits(address, host):
                raise BadRequest(
                    f"{self._whose} host {host!r:.80} has the address {address}, which is not public; "
                    f"an operator can list the host or its network in {SETTING}"
                )
            if not encrypted and not self._allowed.lists(address, host):
                raise BadRequest(
                    f"{self._whose} host {host!r:.80} may not be reached without encryption; "
                    f"use https or TLS, or let an operator list the host or its network in {SETTING}"
                )
        return addresses


async def _addresses(host: str, port: int, whose: str) -> list[Address]:
    try:
        literal = host.strip("[]")
        return [ipaddress.ip_address(literal.partition("%")[0] if ":" in literal else literal)]
    except ValueError:
        pass
    try:
        looking = asyncio.get_running_loop().run_in_executor(_LOOKING_UP, _look_up, host, port)
        async with asyncio.timeout(_SECONDS):
            found = await looking
    except TimeoutError as error:
        raise SourceFailed(f"{whose} host {host!r:.80} is not known within {_SECONDS:.0f} s; check that its name resolves") from error
    except (OSError, UnicodeError) as error:
        raise SourceFailed(f"{whose} host {host!r:.80} is not known; check the address, and that its name resolves") from error
    return list(dict.fromkeys(ipaddress.ip_address(text.partition("%")[0]) for text in found))


def _look_up(host: str, port: int) -> list[str]:
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)]

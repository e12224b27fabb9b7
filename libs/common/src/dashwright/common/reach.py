"""Addresses that data sources and git hosts may have.

The checked addresses are the ones that are connected to: a name is resolved only once, so it cannot change in between.
"""

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from dashwright.common.allowed_hosts import Address, AllowedHosts
from dashwright.common.errors import BadRequest, SourceFailed

SETTING = "DASHWRIGHT_ALLOWED_HOSTS"

#: Threads of their own: names whose servers never respond must not occupy the threads of all other work.
_LOOKING_UP: Final = ThreadPoolExecutor(max_workers=32, thread_name_prefix="look-up")

_SECONDS: Final = 10.0


class Reach:
    """Resolver of permitted hosts. ``whose`` names the host in errors: ``the data source's``."""

    def __init__(self, allowed: AllowedHosts, whose: str = "the data source's") -> None:
        self._allowed = allowed
        self._whose = whose

    async def resolve(self, host: str, port: int, *, encrypted: bool = True) -> list[Address]:
        """Return the addresses of ``host`` to connect to, in the order to try them.

        Without ``encrypted`` only listed addresses are allowed. Raises BadRequest, naming the setting, if an address is
        not allowed, and SourceFailed if the name cannot be resolved.
        """
        addresses = await _addresses(host, port, self._whose)
        for address in addresses:
            # One is enough to refuse the host: a name with public and internal addresses could reach the internal ones by chance.
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

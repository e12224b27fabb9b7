"""Addresses that the hosts of data sources and git repositories may resolve to.

Callers connect to exactly the addresses that were checked. A name is resolved only once, so it cannot change in between.
"""

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from dashwright.common.allowed_hosts import Address, AllowedHosts
from dashwright.common.errors import BadRequest, SourceFailed

ALLOWED_HOSTS_SETTING = "DASHWRIGHT_ALLOWED_HOSTS"

#: A separate pool, so that DNS servers that never respond do not occupy the threads of other work.
_DNS_EXECUTOR: Final = ThreadPoolExecutor(max_workers=32, thread_name_prefix="dns")

_DNS_TIMEOUT_SECONDS: Final = 10.0


class HostResolver:
    """Resolver of permitted hosts. Errors begin with ``owner``, the owner of the host, such as ``the data source's``."""

    def __init__(self, allowed: AllowedHosts, owner: str = "the data source's") -> None:
        self._allowed = allowed
        self._owner = owner

    async def resolve(self, host: str, port: int, *, encrypted: bool = True) -> list[Address]:
        """Return the addresses of ``host`` to connect to, in the order to try them.

        Without ``encrypted`` only addresses that the setting lists are allowed. Raises BadRequest, naming the setting, if an address is
        not allowed, and SourceFailed if the name cannot be resolved.
        """
        addresses = await _addresses(host, port, self._owner)
        for address in addresses:
            # One forbidden address is enough to refuse the host: a connection could otherwise reach that address by chance.
            if not self._allowed.permits(address, host):
                raise BadRequest(
                    f"{self._owner} host {host!r:.80} has the address {address}, which is not public; "
                    f"an operator can list the host or its network in {ALLOWED_HOSTS_SETTING}"
                )
            if not encrypted and not self._allowed.lists(address, host):
                raise BadRequest(
                    f"{self._owner} host {host!r:.80} may not be reached without encryption; "
                    f"use https or TLS, or let an operator list the host or its network in {ALLOWED_HOSTS_SETTING}"
                )
        return addresses


async def _addresses(host: str, port: int, owner: str) -> list[Address]:
    """Return the addresses of a host, which may be an address itself. Raises SourceFailed if it cannot be resolved."""
    try:
        # An IPv6 address can be in brackets and end in a zone id, such as ``%eth0``.
        literal = host.strip("[]")
        return [ipaddress.ip_address(literal.partition("%")[0] if ":" in literal else literal)]
    except ValueError:
        pass
    try:
        lookup = asyncio.get_running_loop().run_in_executor(_DNS_EXECUTOR, _look_up, host, port)
        async with asyncio.timeout(_DNS_TIMEOUT_SECONDS):
            addresses = await lookup
    except TimeoutError as error:
        raise SourceFailed(
            f"{owner} host {host!r:.80} could not be resolved within {_DNS_TIMEOUT_SECONDS:.0f} s; check the name and the DNS server"
        ) from error
    except (OSError, UnicodeError) as error:
        raise SourceFailed(f"{owner} host {host!r:.80} cannot be resolved; check the address, and that its name is in the DNS") from error
    return list(dict.fromkeys(ipaddress.ip_address(address.partition("%")[0]) for address in addresses))


def _look_up(host: str, port: int) -> list[str]:
    """Return the addresses of a name in the DNS, in the order of the system. This blocks the thread."""
    results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(socket_address[0]) for *_, socket_address in results]

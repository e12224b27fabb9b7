"""Addresses of clients, directly or behind trusted proxies."""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_CLIENT_PREFIX_LENGTH: Final = 64
"""Prefix length of an IPv6 network that counts as one client: providers assign each customer at least a /64."""


class TrustedProxies:
    """The networks of proxies whose ``X-Forwarded-For`` header is trusted."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        """Trust proxies in ``networks``. Without any network, the peer of a connection is always the client."""
        self._networks = tuple(networks)

    def client_address(self, peer: str | None, forwarded_for_headers: Sequence[str]) -> str:
        """Return the client's address, given the connection's peer and the ``X-Forwarded-For`` headers in their order.

        Each proxy appends its own client, so the last address that is not a trusted proxy is the client. If all addresses are trusted
        proxies, the first is the client. The address is "" if a trusted proxy names no client, or an invalid address.
        """
        if not self._networks:
            return peer or ""
        peer_address = _parse_address(peer or "")
        if peer_address is None or not self._trusts(peer_address):
            return peer or ""
        forwarded_addresses = [value.strip() for header in forwarded_for_headers for value in header.split(",") if value.strip()]
        client = ""
        for value in reversed(forwarded_addresses):
            address = _parse_address(value)
            # Addresses further to the left may come from the client itself, so none of them is used.
            if address is None:
                return ""
            client = str(address)
            if not self._trusts(address):
                break
        return client

    def trusts(self, peer: str) -> bool:
        """Return whether a peer is a trusted proxy."""
        address = _parse_address(peer)
        return address is not None and self._trusts(address)

    def may_be_shared(self, peer: str) -> bool:
        """Return whether a peer may represent many clients: a trusted proxy, or a program on this machine."""
        address = _parse_address(peer)
        return address is not None and (address.is_loopback or self._trusts(address))

    def _trusts(self, address: _Address) -> bool:
        return any(address in network for network in self._networks)


NO_PROXIES = TrustedProxies()
"""No trusted proxies: the peer of a connection is the client."""


def _parse_address(value: str) -> _Address | None:
    """Return the address of ``value``, an address with or without a port, or None for an invalid one."""
    if value.startswith("["):  # An IPv6 address with a port: [::1]:80
        value = value[1:].partition("]")[0]
    elif value.count(":") == 1:  # An IPv4 address with a port: IPv6 addresses have more colons.
        value = value.partition(":")[0]
    try:
        # A link-local IPv6 address may end with its network interface: fe80::1%eth0
        address = ipaddress.ip_address(value.partition("%")[0])
    except ValueError:
        return None
    # An IPv6 socket represents an IPv4 peer by a mapped address.
    return getattr(address, "ipv4_mapped", None) or address


def client_network(address: str) -> str:
    """Return the network that counts as one client: an IPv4 address itself, or the /64 network of an IPv6 address.

    A string that is not an address is returned unchanged.
    """
    if ":" not in address:
        return address
    try:
        ipv6_address = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if ipv6_address.ipv4_mapped is not None:
        return str(ipv6_address.ipv4_mapped)
    return str(ipaddress.IPv6Network((ipv6_address, _CLIENT_PREFIX_LENGTH), strict=False).network_address)

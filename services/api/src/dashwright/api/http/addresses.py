"""Addresses of callers, also behind trusted proxies."""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NETWORK_BITS: Final = 64
"""Prefix of an IPv6 network that counts as one client: providers assign at least this much to each of theirs."""


class Addresses:
    """The rules for the address of a caller."""

    def __init__(self, trusted: Iterable[Network] = ()) -> None:
        """Trust ``X-Forwarded-For`` of proxies in the ``trusted`` networks. Without any, the peer is the caller."""
        self._trusted = tuple(trusted)

    def of(self, peer: str | None, forwarded: Sequence[str]) -> str:
        """Return the caller's address from the connection's peer and the values of ``X-Forwarded-For`` in their order.

        Each proxy appends its own client, so the last address that is not a trusted proxy is the caller. The address is "" if a
        trusted proxy names no client, or an unreadable one.
        """
        if not self._trusted:
            return peer or ""
        known = _parsed(peer or "")
        if known is None or not self._trusts(known):
            return peer or ""
        named = [part.strip() for value in forwarded for part in value.split(",") if part.strip()]
        caller = ""
        for text in reversed(named):
            address = _parsed(text)
            if address is None:
                return ""
            caller = str(address)
            if not self._trusts(address):
                break
        return caller

    def trusts(self, peer: str) -> bool:
        """Return whether a peer is a proxy that is trusted."""
        address = _parsed(peer)
        return address is not None and self._trusts(address)

    def exempts(self, peer: str) -> bool:
        """Return whether a peer may represent many clients: a trusted proxy, or a program on this machine."""
        address = _parsed(peer)
        return address is not None and (address.is_loopback or self._trusts(address))

    def _trusts(self, address: _Address) -> bool:
        return any(address in network for network in self._trusted)


PEERS = Addresses()
"""The rules without trusted proxies: the peer is the caller."""


def _parsed(text: str) -> _Address | None:
    """Return an address, which may have a port behind it; None for an unreadable one."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def client_network(address: str) -> str:
    """Return the network of an address that counts as one client: an IPv4 address itself, an IPv6 address's /64."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _NETWORK_BITS), strict=False).network_address)

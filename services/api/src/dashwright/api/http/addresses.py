"""Where a caller comes from, through proxies that are trusted to say so."""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NETWORK_BITS: Final = 64


class Addresses:
    """``trusted`` are the networks of proxies whose ``X-Forwarded-For`` is believed. Without any, the peer is the caller."""

    def __init__(self, trusted: Iterable[Network] = ()) -> None:
        self._trusted = tuple(trusted)

    def of(self, peer: str | None, forwarded: Sequence[str]) -> str:
        """The caller's address, given the connection's peer and the values of ``X-Forwarded-For`` in their order.

        Each proxy appends whom it was asked by, so the last that is no trusted proxy is the caller. "" where a trusted proxy names
        nobody, or nothing readable.
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
        """Return whether a peer stands for many clients: a trusted proxy, or a program of this machine."""
        address = _parsed(peer)
        return address is not None and (address.is_loopback or self._trusts(address))

    def _trusts(self, address: _Address) -> bool:
        return any(address in network for network in self._trusted)


PEERS = Addresses()
"""Trusts no proxy: the peer is the caller."""


def _parsed(text: str) -> _Address | None:
    """An address, perhaps with a port."""
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
    """The network that counts as one client."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _NETWORK_BITS), strict=False).network_address)

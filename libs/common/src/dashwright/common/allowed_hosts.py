"""Addresses that the product may connect to on behalf of users: public ones, and others only if a setting lists them.

A user who may create a data source or a repository names an address that the servers connect to. Without this rule,
that could be an address only the servers can reach: themselves, their neighbours, or the metadata service of a cloud.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Default of the setting in ``serve``.
LOOPBACK: Final = ("localhost", "127.0.0.0/8", "::1")

_NAME: Final = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*")
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
# Special networks that some supported Python versions do not know.
_SPECIAL: Final[tuple[Network, ...]] = (
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv4Network("192.88.99.0/24"),
    ipaddress.IPv6Network("3fff::/20"),
)
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")


class AllowedHosts:
    """Hosts, addresses and networks of the setting ``ALLOWED_HOSTS``."""

    def __init__(self, names: Iterable[str] = (), networks: Iterable[Network] = ()) -> None:
        listed = frozenset(names)
        self._names = frozenset(name for name in listed if not name.startswith("*."))
        self._suffixes = tuple(name[1:] for name in listed if name.startswith("*."))
        self._networks = tuple(networks)

    @staticmethod
    def of(entries: Iterable[str]) -> "AllowedHosts":
        """Return the hosts in a list of entries.

        Each entry is a host name, ``*.`` with the end of host names, an address, or a network like ``10.0.0.0/8``.
        Raises ValueError for anything else.
        """
        names, networks = [], []
        for entry in entries:
            network = _network(entry)
            if network is not None:
                networks.append(network)
            elif _NAME.fullmatch(name := _plain(entry)) and not name.rpartition(".")[2].isdigit():
                names.append(name)
            else:
                raise ValueError(
                    f"{entry[:80]!r} is not a host; give names like prometheus.example.com or *.example.com, addresses, or networks like "
                    "10.0.0.0/8, without scheme, port or path"
                )
        return AllowedHosts(names, networks)

    def permits(self, address: Address, host: str = "") -> bool:
        """Return whether ``address``, to which ``host`` resolved, may be reached: it is public, or it or the host is listed."""
        return is_public(address) or self.lists(address, host)

    def lists(self, address: Address | None, host: str = "") -> bool:
        """Return whether ``address`` (None: unknown) or ``host`` is listed. Only listed ones are reached without encryption."""
        name = _plain(host)
        if name and (name in self._names or name.endswith(self._suffixes)):
            return True
        return address is not None and any(form in network for form in _forms(address) for network in self._networks)


def is_public(address: Address) -> bool:
    """Return whether ``address`` is on the public internet.

    An IPv6 address that embeds an IPv4 address (IPv4-mapped, 6to4, NAT64) is as public as that one.
    """
    carried = _carried(address)
    if carried is not None:
        return is_public(carried)
    if isinstance(address, ipaddress.IPv6Address) and address not in _UNICAST:
        return False
    special = address.is_multicast or address.is_reserved or address.is_link_local or any(address in network for network in _SPECIAL)
    return address.is_global and not special


def _carried(address: Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _forms(address: Address) -> tuple[Address, ...]:
    carried = _carried(address)
    return (address,) if carried is None else (address, carried)


def _network(entry: str) -> Network | None:
    text = entry.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _plain(host: str) -> str:
    """Return a host name for comparison: in lower case, without a trailing dot."""
    return host.strip().lower().removesuffix(".")

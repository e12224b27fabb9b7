"""Addresses that services may connect to on behalf of users: public addresses, and other addresses if a setting lists them.

A user who creates a data source or a repository chooses an address that the servers connect to. Without this rule, the
user could reach addresses that only the servers can reach, such as the servers themselves or the metadata service of a cloud.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Default of the setting ``ALLOWED_HOSTS`` in the command ``serve``.
LOOPBACK: Final = ("localhost", "127.0.0.0/8", "::1")

_HOST_NAME: Final = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*")
#: Maximum number of characters of an invalid entry in an error message.
_MAX_EXCERPT_LENGTH: Final = 80
_GLOBAL_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
# Networks that are not public, although some supported Python versions say that they are.
_SPECIAL_NETWORKS: Final[tuple[Network, ...]] = (
    ipaddress.IPv4Network("192.0.0.0/24"),
    ipaddress.IPv4Network("192.88.99.0/24"),
    ipaddress.IPv6Network("3fff::/20"),
)
_NAT64_NETWORK: Final = ipaddress.IPv6Network("64:ff9b::/96")


class AllowedHosts:
    """Hosts, addresses and networks of the setting ``ALLOWED_HOSTS``. A name that begins with ``*.`` is a pattern."""

    def __init__(self, names: Iterable[str] = (), networks: Iterable[Network] = ()) -> None:
        all_names = frozenset(names)
        self._names = frozenset(name for name in all_names if not name.startswith("*."))
        # ``*.example.com`` becomes ``.example.com``.
        self._suffixes = tuple(name[1:] for name in all_names if name.startswith("*."))
        self._networks = tuple(networks)

    @staticmethod
    def parse(entries: Iterable[str]) -> "AllowedHosts":
        """Return the hosts that the entries of the setting describe.

        Each entry is a host name, a pattern such as ``*.example.com``, an address, or a network such as ``10.0.0.0/8``.
        Raises ValueError for any other entry.
        """
        names, networks = [], []
        for entry in entries:
            network = _parsed_network(entry)
            if network is not None:
                networks.append(network)
            # A name whose last part is a number would be an invalid IPv4 address.
            elif _HOST_NAME.fullmatch(name := _normalized_name(entry)) and not name.rpartition(".")[2].isdigit():
                names.append(name)
            else:
                raise ValueError(
                    f"{entry[:_MAX_EXCERPT_LENGTH]!r} is not a host; give names like prometheus.example.com or *.example.com, "
                    "addresses, or networks like 10.0.0.0/8, without scheme, port or path"
                )
        return AllowedHosts(names, networks)

    def permits(self, address: Address, host: str = "") -> bool:
        """Return whether services may connect to ``address``: it is public, or the setting lists it or its name ``host``."""
        return is_public(address) or self.lists(address, host)

    def lists(self, address: Address | None, host: str = "") -> bool:
        """Return whether the setting lists ``address`` (None: unknown) or ``host``.

        To any other host, services connect with encryption only.
        """
        name = _normalized_name(host)
        if name and (name in self._names or name.endswith(self._suffixes)):
            return True
        return address is not None and any(form in network for form in _equivalent_addresses(address) for network in self._networks)


def is_public(address: Address) -> bool:
    """Return whether ``address`` is on the public internet.

    An IPv6 address that embeds an IPv4 address (IPv4-mapped, 6to4, NAT64) is public if the IPv4 address is.
    """
    embedded_ipv4 = _embedded_ipv4(address)
    if embedded_ipv4 is not None:
        return is_public(embedded_ipv4)
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    is_special = (
        address.is_multicast or address.is_reserved or address.is_link_local or any(address in network for network in _SPECIAL_NETWORKS)
    )
    return address.is_global and not is_special


def _embedded_ipv4(address: Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that an IPv6 address embeds, or None."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64_NETWORK:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _equivalent_addresses(address: Address) -> tuple[Address, ...]:
    """Return an address and, if it embeds an IPv4 address, that one."""
    embedded_ipv4 = _embedded_ipv4(address)
    return (address,) if embedded_ipv4 is None else (address, embedded_ipv4)


def _parsed_network(entry: str) -> Network | None:
    """Return an address or network, perhaps in brackets, as a network. Return None for any other entry."""
    literal = entry.strip()
    if literal.startswith("[") and literal.endswith("]"):
        literal = literal[1:-1]
    try:
        return ipaddress.ip_network(literal, strict=False)
    except ValueError:
        return None


def _normalized_name(host: str) -> str:
    """Return a host name in lower case, without surrounding white space or a trailing dot."""
    return host.strip().lower().removesuffix(".")

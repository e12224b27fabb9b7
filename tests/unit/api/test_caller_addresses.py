"""Addresses of callers: only trusted proxies are believed."""

import ipaddress
from collections.abc import Sequence

import pytest

from dashwright.api.http.addresses import TrustedProxies

TRUSTED = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1/128"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "caller"),
    [
        # The peer is not a trusted proxy.
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["203.0.113.9"], "192.0.2.1"),
        # The last forwarded address that is not a trusted proxy, from one or several headers.
        ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.7, 203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.7", "203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        # Addresses with a port, of IPv6, and of IPv4 in the notation of IPv6.
        ("10.0.0.1", ["203.0.113.9:4711"], "203.0.113.9"),
        ("::1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ("::ffff:10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        # Only trusted proxies.
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        # Unknown callers.
        ("10.0.0.1", [], ""),
        ("10.0.0.1", [" , "], ""),
        ("10.0.0.1", ["203.0.113.9, unknown"], ""),
        ("", ["203.0.113.9"], ""),
        (None, ["203.0.113.9"], ""),
    ],
)
def test_the_last_untrusted_address_is_the_caller(peer: str | None, forwarded: Sequence[str], caller: str) -> None:
    """The caller is the last forwarded address that is not a trusted proxy, or the first one if all are trusted proxies.

    Proxies append addresses, and the client itself may send earlier ones. The caller is unknown (``""``) if a trusted proxy forwards
    no address or an invalid one, or if the address of the peer is unknown.
    """
    assert TrustedProxies(TRUSTED).client_address(peer, forwarded) == caller


def test_without_trusted_proxies_the_peer_is_the_caller() -> None:
    """Without trusted proxies, no client can choose its address by a header."""
    assert TrustedProxies().client_address("10.0.0.1", ["203.0.113.9"]) == "10.0.0.1"

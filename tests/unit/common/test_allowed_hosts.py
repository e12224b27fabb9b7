"""The hosts that data sources may have: hosts with a public address, and hosts that the setting lists."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.allowed_hosts import Address, AllowedHosts, is_public
from dashwright.common.settings import SettingsError, load
from dashwright.standalone.one_process import allow_local_data_sources

NO_HOSTS = AllowedHosts()
ADDRESSES = st.ip_addresses()
V4 = st.ip_addresses(v=4)
NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: Networks that are not public, by the registries of special addresses.
NETWORKS = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
    "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "::/8", "100::/64", "2001::/32", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip


@given(st.sampled_from(NETWORKS).flatmap(lambda text: st.ip_addresses(network=text)))
def test_special_addresses_are_not_public(address: Address) -> None:
    """Loopback, private, shared, link-local, documentation, multicast and reserved addresses are permitted only if they are listed."""
    assert not is_public(address)
    assert not NO_HOSTS.permits(address, "example.com")
    assert AllowedHosts.parse([str(address)]).permits(address)


@given(ADDRESSES | st.ip_addresses(network="64:ff9b::/96") | st.ip_addresses(network="2002::/16"))
def test_addresses_special_to_python_are_not_public(address: Address) -> None:
    """Every address that Python's ipaddress regards as special is not public."""
    # An IPv6 address that contains an IPv4 address is judged by the latter.
    if address in NAT64:
        last_32_bits = int(address) & 0xFFFF_FFFF
        address = ipaddress.IPv4Address(last_32_bits)
    embedded = isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped or address.sixtofour)
    decisive = embedded or address
    if is_public(address):
        assert decisive.is_global
        assert not any((decisive.is_multicast, decisive.is_reserved, decisive.is_link_local, decisive.is_loopback, decisive.is_unspecified))


@given(V4)
def test_an_embedded_ipv4_address_decides(address: ipaddress.IPv4Address) -> None:
    """IPv4-mapped, 6to4 and NAT64 addresses follow the rules of the IPv4 address that they contain."""
    forms = [
        ipaddress.IPv6Address(f"::ffff:{address}"),
        # The 32 bits after the prefix 2002.
        ipaddress.IPv6Address(0x2002 << 112 | int(address) << 80),
        ipaddress.IPv6Address(f"64:ff9b::{address}"),
    ]
    for form in forms:
        assert is_public(form) == is_public(address)
        assert AllowedHosts.parse([str(address)]).permits(form)


@given(ADDRESSES, st.integers(0, 32), V4)
def test_a_listed_network_allows_its_addresses(address: Address, bits: int, other_address: Address) -> None:
    """A network in the setting lists the addresses in it, and no address outside of it."""
    network = ipaddress.ip_network((address, bits), strict=False)
    allowed_hosts = AllowedHosts.parse([str(network)])
    assert allowed_hosts.lists(address)
    assert allowed_hosts.lists(other_address) == (other_address in network)


@pytest.mark.parametrize(
    ("entry", "host", "is_listed"),
    [
        ("db", "db", True),
        ("DB.Example.com", "db.example.COM.", True),
        ("db", "db.example.com", False),
        ("example.com", "db.example.com", False),
        ("*.example.com", "db.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evilexample.com", False),
        ("*.example.com", "", False),
    ],
)
def test_names_are_listed_completely_or_by_suffix(entry: str, host: str, is_listed: bool) -> None:
    """A host is listed by its complete name, or by a suffix after a star. Case and a trailing dot do not matter."""
    assert AllowedHosts.parse([entry]).permits(ipaddress.ip_address("10.0.0.1"), host) is is_listed


@pytest.mark.parametrize("entry", ["", "http://db", "db:9090", "db/x", "10.0.0.0/33", "10.0.0", "127.1", "*", "*.", "a b", "-", "[::1"])
def test_an_invalid_host_stops_the_start(entry: str) -> None:
    """An invalid entry, such as an incomplete address, is an error that says which forms are valid."""
    with pytest.raises(ValueError, match="is not a host"):
        AllowedHosts.parse([entry])
    # An empty setting is valid: it is an empty list.
    if entry:
        with pytest.raises(SettingsError, match=r"DASHWRIGHT_ALLOWED_HOSTS: .*is not a host"):
            load(allowed_hosts=entry)


def test_the_setting_is_a_comma_separated_list() -> None:
    """The hosts are a comma-separated list, which is empty by default. Blanks and empty entries are ignored."""
    assert load().allowed_hosts == ()
    assert load(allowed_hosts=" db , 10.0.0.0/8,").allowed_hosts == ("db", "10.0.0.0/8")


def test_standalone_may_reach_its_own_machine() -> None:
    """In standalone mode, loopback addresses are allowed unless the setting is given, even if it is empty."""
    hosts = AllowedHosts.parse(allow_local_data_sources(load()).allowed_hosts)
    assert all(hosts.permits(ipaddress.ip_address(text)) for text in ("127.0.0.1", "127.9.9.9", "::1"))
    assert not hosts.permits(ipaddress.ip_address("10.0.0.1"))
    assert allow_local_data_sources(load(allowed_hosts="")).allowed_hosts == ()
    assert allow_local_data_sources(load(allowed_hosts="db")).allowed_hosts == ("db",)

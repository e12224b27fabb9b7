"""The resolver of host names, which checks every address before a connection, and whose errors name the setting."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, SourceFailed
from dashwright.common.host_resolver import HostResolver

SetAddresses = Callable[..., None]


@pytest.fixture
async def set_addresses(monkeypatch: pytest.MonkeyPatch) -> SetAddresses:
    """Return a function that sets the addresses of host names (``example=["192.0.2.1"]``). All other names become unknown."""

    def set_addresses(**addresses: list[str]) -> None:
        def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
            if host not in addresses:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses[host]]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    return set_addresses


async def test_a_public_host_needs_encryption(set_addresses: SetAddresses) -> None:
    """A public host without TLS is rejected unless its name or address is listed."""
    set_addresses(example=["93.184.215.14"])
    address = ipaddress.ip_address("93.184.215.14")
    assert await HostResolver(AllowedHosts()).resolve("example", 443) == [address]
    with pytest.raises(BadRequest, match=r"without encryption.*DASHWRIGHT_ALLOWED_HOSTS"):
        await HostResolver(AllowedHosts()).resolve("example", 80, encrypted=False)
    for entry in ("example", "93.184.215.0/24"):
        assert await HostResolver(AllowedHosts.parse([entry])).resolve("example", 80, encrypted=False) == [address]


@pytest.mark.parametrize(
    "addresses", [["10.0.0.1"], ["93.184.215.14", "127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"], ["fe80::1%2"]]
)
async def test_a_name_with_a_private_address_is_rejected(set_addresses: SetAddresses, addresses: list[str]) -> None:
    """One private address among several suffices to reject a name."""
    set_addresses(sneaky=addresses)
    with pytest.raises(BadRequest, match=r"'sneaky' has the address .*DASHWRIGHT_ALLOWED_HOSTS"):
        await HostResolver(AllowedHosts()).resolve("sneaky", 443)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "::1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "localhost", "0"]
)
async def test_every_spelling_of_loopback_is_recognized(host: str) -> None:
    """Decimal, octal, hexadecimal and short forms of loopback are recognized, or cannot be resolved on this system."""
    with pytest.raises((BadRequest, SourceFailed)) as refused:
        await HostResolver(AllowedHosts()).resolve(host, 80)
    assert "DASHWRIGHT_ALLOWED_HOSTS" in str(refused.value) or "cannot be resolved" in str(refused.value)


@pytest.mark.parametrize("host", ["unknown", "a" * 300, "\udc80", "x..y"])
async def test_an_unknown_name_is_an_error_of_the_data_source(set_addresses: SetAddresses, host: str) -> None:
    """An unknown name is a retryable error, as it may be known later."""
    set_addresses()
    with pytest.raises(SourceFailed, match="cannot be resolved"):
        await HostResolver(AllowedHosts()).resolve(host, 443)


async def test_slow_lookups_do_not_block_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many slow lookups leave threads free for reading files and writing responses."""
    may_resolve = threading.Event()

    def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        may_resolve.wait(20)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    # More lookups than the default executor of asyncio has threads.
    lookups = [asyncio.create_task(HostResolver(AllowedHosts()).resolve(f"h{index}", 443)) for index in range(40)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5):
            assert await asyncio.to_thread(lambda: "done") == "done"
    finally:
        may_resolve.set()
    assert await asyncio.gather(*lookups) == [[ipaddress.ip_address("93.184.215.14")]] * 40

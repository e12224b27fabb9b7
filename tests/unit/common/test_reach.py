"""Names lead where they lead: every address is judged before it is connected to, and the error names the setting."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, SourceFailed
from dashwright.common.reach import Reach

NAMED = Callable[..., None]


@pytest.fixture
async def named(monkeypatch: pytest.MonkeyPatch) -> NAMED:
    """Gives host names addresses."""

    def name(**addresses: list[str]) -> None:
        def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
            if host not in addresses:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses[host]]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    return name


async def test_a_public_host_is_reached_with_encryption_only(named: NAMED) -> None:
    """Unless it is listed by its name or address."""
    named(example=["93.184.215.14"])
    address = ipaddress.ip_address("93.184.215.14")
    assert await Reach(AllowedHosts()).resolve("example", 443) == [address]
    with pytest.raises(BadRequest, match=r"without encryption.*DASHWRIGHT_ALLOWED_HOSTS"):
        await Reach(AllowedHosts()).resolve("example", 80, encrypted=False)
    for entry in ("example", "93.184.215.0/24"):
        assert await Reach(AllowedHosts.of([entry])).resolve("example", 80, encrypted=False) == [address]


@pytest.mark.parametrize(
    "addresses", [["10.0.0.1"], ["93.184.215.14", "127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"], ["fe80::1%2"]]
)
async def test_a_name_that_leads_inside_is_refused(named: NAMED, addresses: list[str]) -> None:
    """Also where only one of its addresses does."""
    named(sneaky=addresses)
    with pytest.raises(BadRequest, match=r"'sneaky' has the address .*DASHWRIGHT_ALLOWED_HOSTS"):
        await Reach(AllowedHosts()).resolve("sneaky", 443)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "::1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "localhost", "0"]
)
async def test_no_spelling_of_loopback_gets_through(host: str) -> None:
    """Decimal, octal, hexadecimal and short forms are what the system takes them for."""
    with pytest.raises((BadRequest, SourceFailed)) as refused:
        await Reach(AllowedHosts()).resolve(host, 80)
    assert "DASHWRIGHT_ALLOWED_HOSTS" in str(refused.value) or "cannot be resolved" in str(refused.value)


@pytest.mark.parametrize("host", ["unknown", "a" * 300, "\udc80", "x..y"])
async def test_a_name_that_is_not_known_is_the_sources_fault(named: NAMED, host: str) -> None:
    """It may be known again tomorrow."""
    named()
    with pytest.raises(SourceFailed, match="cannot be resolved"):
        await Reach(AllowedHosts()).resolve(host, 443)


async def test_names_that_nobody_answers_hold_up_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of lookups leaves threads for reading files and writing responses."""
    answered = threading.Event()

    def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        answered.wait(20)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    looking = [asyncio.create_task(Reach(AllowedHosts()).resolve(f"h{number}", 443)) for number in range(40)]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(5):
            assert await asyncio.to_thread(lambda: "done") == "done"
    finally:
        answered.set()
    assert await asyncio.gather(*looking) == [[ipaddress.ip_address("93.184.215.14")]] * 40

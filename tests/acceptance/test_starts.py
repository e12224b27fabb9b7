"""Starts of services with wrong settings, which end with an error, and without a server, for which services wait for some time."""

import asyncio
import signal
from typing import Any

import pytest
from tests.acceptance.client import Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.processes import Service
from tests.acceptance.queries import QUERY
from tests.proxies.tcp_proxy import TcpProxy

#: An address at which no server listens.
CLOSED_PORT = "127.0.0.1:9"
KEY = "of tests only"
SERVICES = ["dashwright-api", "dashwright-jobs-worker", "dashwright-expressions"]


async def run_to_end(service: Service, *, seconds: float = 20) -> tuple[int, list[str]]:
    """Run a service until it ends, and return its exit status and the lines that it wrote besides its log."""
    await service.launch()
    status = await service.wait(seconds=seconds)
    return status, [event["text"] for event in service.events if event["event"] == "text"]


@pytest.mark.parametrize(
    ("name", "wrong_settings"),
    [
        ("dashwright-api", {"HTTP_PORT": "70000", "FEATURES": "sqlExpression,teleport", "SECRET_KEY": "short"}),
        ("dashwright-api", {"AMQP_URL": ""}),
        ("dashwright-jobs-worker", {"JOB_ATTEMPTS": "none", "JOB_LEASE_SECONDS": "0"}),
        ("dashwright-expressions", {"QUERY_SLOTS": "-1", "LOG_LEVEL": "loud"}),
    ],
)
async def test_wrong_settings_are_named_in_a_sentence_each(name: str, wrong_settings: dict[str, str]) -> None:
    """A service with wrong settings ends with status 2, after one line for each of them, and without a traceback.

    ``tests/unit/process/test_wrong_settings.py`` has further settings.
    """
    settings = {"DATABASE_URL": f"postgresql://u:p@{CLOSED_PORT}/d", "AMQP_URL": f"amqp://u:p@{CLOSED_PORT}/", "SECRET_KEY": KEY}
    service = Service(name, settings | wrong_settings)
    status, errors = await run_to_end(service)
    assert status == 2, service.lines
    assert len(errors) == len(wrong_settings), service.lines
    assert errors[0].startswith(f"{name}: ")
    for setting in wrong_settings:
        assert any(f"DASHWRIGHT_{setting}" in line for line in errors)


@pytest.mark.parametrize(
    ("missing_url", "event", "fields", "name"),
    [
        *(("AMQP_URL", "broker_not_reached", {}, name) for name in SERVICES),
        *(("DATABASE_URL", "waiting_at_start", {"what": "database"}, name) for name in SERVICES[:2]),
    ],
)
async def test_a_missing_server_ends_the_start(
    database_url: str, amqp_url: str, missing_url: str, event: str, fields: dict[str, Any], name: str
) -> None:
    """A service without its database or broker logs that it waits. It ends with status 1 and a line with the address of the server."""
    settings = {"DATABASE_URL": database_url, "AMQP_URL": amqp_url, "START_SECONDS": "2", "SECRET_KEY": KEY}
    unreachable = {"DATABASE_URL": f"postgresql://user:hunter22@{CLOSED_PORT}/d", "AMQP_URL": f"amqp://user:hunter22@{CLOSED_PORT}/"}
    settings[missing_url] = unreachable[missing_url]
    service = Service(name, settings | {"HTTP_PORT": "0", "PROBE_PORT": "0"})
    status, errors = await run_to_end(service)
    assert status == 1, service.lines
    (error,) = errors
    assert CLOSED_PORT in error
    assert service.logged_events(event, **fields)
    # No line contains the password.
    assert not any("hunter22" in line for line in service.lines)


@pytest.mark.parametrize("name", SERVICES)
async def test_a_service_that_waits_at_its_start_can_be_stopped(name: str) -> None:
    """SIGTERM ends a service that waits for the broker or the database with status 0 and without an error."""
    settings = {
        "DATABASE_URL": f"postgresql://u:p@{CLOSED_PORT}/d",
        "AMQP_URL": f"amqp://u:p@{CLOSED_PORT}/",
        "PROBE_PORT": "0",
        "SECRET_KEY": KEY,
    }
    service = Service(name, settings | {"HTTP_PORT": "0"})
    await service.launch()
    await service.event("waiting_at_start")
    service.send(signal.SIGTERM)
    assert await service.wait(seconds=5) == 0
    assert [event for event in service.events if event["event"] == "text"] == []


async def test_services_wait_for_database_and_broker(make_stack: MakeStack, database_proxy: TcpProxy, broker_proxy: TcpProxy) -> None:
    """Services that are started before the database and the broker serve when both are available."""
    await database_proxy.disconnect()
    await broker_proxy.disconnect()
    stack = make_stack(database=database_proxy.url, broker=broker_proxy.url)
    starting = asyncio.create_task(stack.start())
    await asyncio.gather(*(service.event("waiting_at_start") for service in (stack.gateway, stack.jobs_worker)))
    await database_proxy.connect()
    await stack.gateway.event("broker_not_reached")
    await broker_proxy.connect()
    await starting
    async with Client(stack.address) as client:
        await client.call("POST", "/api/ds/query", json=QUERY)

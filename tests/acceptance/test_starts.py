"""How services start where something is wrong or missing: they say so in one sentence, wait where waiting helps, and end with a status."""

import asyncio
import signal

import pytest
from tests.acceptance.client import Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.processes import Service
from tests.acceptance.queries import QUERY
from tests.acceptance.tcp_proxy import TcpProxy

NOWHERE = "127.0.0.1:9"
KEY = "of tests only"
SERVICES = ["dashwright-api", "dashwright-jobs-worker", "dashwright-expressions"]


async def ended(service: Service, *, seconds: float = 20) -> tuple[int, list[str]]:
    """Exit status, and what was written beside the log."""
    await service.launch()
    status = await service.wait(seconds=seconds)
    return status, [event["text"] for event in service.events if event["event"] == "text"]


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("dashwright-api", "HTTP_PORT", "70000"),
        ("dashwright-api", "HTTP_HOST", "0.0.0.0"),
        ("dashwright-api", "TLS_CERT", "/nowhere.pem"),
        ("dashwright-api", "FEATURES", "sqlExpression,teleport"),
        ("dashwright-api", "DATABASE_URL", ""),
        ("dashwright-api", "AMQP_URL", ""),
        ("dashwright-api", "SECRET_KEY", ""),
        ("dashwright-api", "SECRET_KEY", "short"),
        ("dashwright-jobs-worker", "JOB_ATTEMPTS", "none"),
        ("dashwright-jobs-worker", "JOB_LEASE_SECONDS", "0"),
        ("dashwright-jobs-worker", "DATABASE_URL", ""),
        ("dashwright-jobs-worker", "SECRET_KEY", ""),
        ("dashwright-expressions", "QUERY_SLOTS", "-1"),
        ("dashwright-expressions", "LOG_LEVEL", "loud"),
        ("dashwright-expressions", "SECRETS_DIR", "/nowhere/at/all"),
    ],
)
async def test_a_wrong_setting_is_named_in_one_sentence(name: str, setting: str, value: str) -> None:
    """Exit status 2, and one line that names the setting; no stack, nothing else."""
    settings = {
        "DATABASE_URL": f"postgresql://u:p@{NOWHERE}/d",
        "AMQP_URL": f"amqp://u:p@{NOWHERE}/",
        "SECRET_KEY": KEY,
        setting: value,
    }
    service = Service(name, settings)
    status, said = await ended(service)
    assert (status, len(said)) == (2, 1), service.lines
    assert said[0].startswith(f"{name}: ")
    assert f"DASHWRIGHT_{setting}" in said[0]


@pytest.mark.parametrize("name", SERVICES)
async def test_a_broker_that_never_comes_ends_the_start(database_url: str, name: str) -> None:
    """The service waits and says so, then gives up with exit status 1 and one sentence that has the address and no password."""
    settings = {
        "DATABASE_URL": database_url,
        "AMQP_URL": f"amqp://user:hunter22@{NOWHERE}/",
        "START_SECONDS": "2",
        "SECRET_KEY": KEY,
    }
    service = Service(name, settings | {"HTTP_PORT": "0", "PROBE_PORT": "0"})
    status, said = await ended(service)
    assert (status, len(said)) == (1, 1), service.lines
    assert NOWHERE in said[0]
    assert service.logged("broker_not_reached")
    assert not [line for line in service.lines if "hunter22" in line]


@pytest.mark.parametrize("name", SERVICES[:2])
async def test_a_database_that_never_comes_ends_the_start(amqp_url: str, name: str) -> None:
    """The same for the database."""
    settings = {
        "DATABASE_URL": f"postgresql://user:hunter22@{NOWHERE}/d",
        "AMQP_URL": amqp_url,
        "START_SECONDS": "2",
        "SECRET_KEY": KEY,
    }
    service = Service(name, settings | {"HTTP_PORT": "0", "PROBE_PORT": "0"})
    status, said = await ended(service)
    assert (status, len(said)) == (1, 1), service.lines
    assert NOWHERE in said[0]
    assert service.logged("waiting_at_start", what="database")
    assert not [line for line in service.lines if "hunter22" in line]


@pytest.mark.parametrize("name", SERVICES)
async def test_a_service_that_waits_at_its_start_can_be_stopped(name: str) -> None:
    """SIGTERM while the broker or the database is waited for ends the process soon, with exit status 0."""
    settings = {
        "DATABASE_URL": f"postgresql://u:p@{NOWHERE}/d",
        "AMQP_URL": f"amqp://u:p@{NOWHERE}/",
        "PROBE_PORT": "0",
        "SECRET_KEY": KEY,
    }
    service = Service(name, settings | {"HTTP_PORT": "0"})
    await service.launch()
    await service.event("waiting_at_start")
    service.send(signal.SIGTERM)
    assert await service.wait(seconds=5) == 0
    assert [event for event in service.events if event["event"] == "text"] == []


async def test_services_wait_for_what_starts_after_them(make_stack: MakeStack, database_proxy: TcpProxy, broker_proxy: TcpProxy) -> None:
    """Started before database and broker, all of them serve once both are there."""
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

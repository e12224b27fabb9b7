"""S4, M1 and M2: the services as separate processes, while a sync is running and at rest."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.processes import Stack

from benchmarks.measurement import Row
from benchmarks.processes import peak_memory, resident_memory
from benchmarks.sync.corpus import Corpus
from benchmarks.sync.sync_times import FEW, MANY, served

_DASHBOARDS: Final = "/apis/dashboard.grafana.app/v1beta1/namespaces/default/dashboards"
_TABLE: Final = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
_REVISIONS: Final = 5
_CHANGED: Final = 500
_PAGE: Final = 500
_SECONDS: Final = 1800
_READERS: Final = 16
_READS: Final = 400

_REST, _LOAD, _WORKER, _GROWTH = 150, 300, 250, 1.5


async def reading(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure S4: lists read one after the other while syncs replace hundreds of dashboards.

    Lists that show half a commit are counted.
    """
    async with _service(database_url, amqp_url, folder) as (stack, client, opened):
        corpus = await asyncio.to_thread(Corpus.make, folder, "bench", FEW)
        await _synced(client, "bench", (await served(opened, folder))[0])
        seen: Counter[int] = Counter()
        for _ in range(_REVISIONS):
            title = await asyncio.to_thread(corpus.change, _CHANGED)
            watching = asyncio.create_task(_watch(client, title, seen))
            await _finished(client, "bench")
            watching.cancel()
            seen[await _shown(client, title)] += 1
        assert stack.jobs_worker.is_running
    complete = seen.pop(0, 0) + seen.pop(_CHANGED, 0)
    if seen or complete <= _REVISIONS:
        raise AssertionError(f"in addition to {complete} lists of whole commits, some show only a part of {_CHANGED} changes: {dict(seen)}")
    return [Row("S4", f"lists of half a commit, of all during {_REVISIONS} syncs", "lists", 0, complete, 0)]


async def _watch(client: Client, title: str, seen: Counter[int]) -> None:
    while True:
        seen[await _shown(client, title)] += 1


async def _shown(client: Client, title: str) -> int:
    """Return the number of dashboards with a title in a list, read page by page."""
    shown, rest = 0, ""
    while True:
        page = await client.call("GET", _DASHBOARDS, headers=_TABLE, params={"limit": _PAGE, "continue": rest})
        shown += sum(title in row["cells"] for row in page["rows"])
        if not (rest := page["metadata"].get("continue", "")):
            return shown


async def memory(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure M1: the largest resident memory of workers that have synced one repository each, and of the gateway."""
    async with _service(database_url, amqp_url, folder) as (stack, client, opened):
        gateway = stack.gateway
        host, _ = await served(opened, folder)
        peaks = []
        for name, count in (("few", FEW), ("many", MANY)):
            await asyncio.to_thread(Corpus.make, folder, name, count)
            await stack.jobs_worker.stop()
            worker = await stack.add_jobs_worker()
            await _synced(client, name, host)
            peaks.append(peak_memory(worker.pid))
        await _load(stack.address)
        under_load = peak_memory(gateway.pid)
    few, many = peaks
    return [
        Row("M1", f"worker that synced {MANY:,}, to one with {FEW:,}", "MB", many, few, _GROWTH),
        Row("M1", f"worker that synced {MANY:,}, to {_WORKER} MB", "MB", many, _WORKER, 1),
        Row("M1", f"gateway under load, to {_LOAD} MB", "MB", under_load, _LOAD, 1),
    ]


async def at_rest(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure M2: the resident memory of each service after its start, without any request."""
    async with _service(database_url, amqp_url, folder) as (stack, _, _):
        services = {"gateway": stack.gateway, "jobs worker": stack.jobs_worker, "expressions worker": stack.expressions}
        return [
            Row("M2", f"{name} at rest, to {_REST} MB", "MB", resident_memory(service.pid), _REST, 1) for name, service in services.items()
        ]


async def _load(address: str) -> None:
    """Read pages of bodies and tables of names, by several concurrent readers."""

    async def read() -> None:
        async with Client(address) as client:
            for index in range(_READS // _READERS):
                await client.call("GET", f"{_DASHBOARDS}?limit={_PAGE}", headers=_TABLE if index % 2 else {})

    await asyncio.gather(*(read() for _ in range(_READERS)))


@asynccontextmanager
async def _service(database_url: str, amqp_url: str, folder: Path) -> AsyncIterator[tuple[Stack, Client, AsyncExitStack]]:
    stack = Stack(
        database_url, amqp_url, folder, DATA_DIR=str(folder), ALLOWED_HOSTS="127.0.0.0/8", REPOSITORY_FILES="100000", JOB_LEASE_SECONDS="60"
    )
    async with AsyncExitStack() as opened:
        opened.push_async_callback(stack.stop)
        await stack.start()
        yield stack, await opened.enter_async_context(Client(stack.address)), opened


async def _synced(client: Client, name: str, host: str) -> None:
    """Create a repository with a name and sync it for the first time."""
    spec = {"title": name, "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    body = {"metadata": {"name": name}, "spec": spec | {"githost": {"url": f"{host}/{name}.git", "branch": "main"}}}
    await client.call("POST", f"{PROVISIONING}/repositories", status=201, json=body)
    await _finished(client, name)


async def _finished(client: Client, name: str) -> None:
    ended: Any = (await client.wait_for_job(await client.sync(name), seconds=_SECONDS))["status"]
    assert ended["state"] == "success", ended

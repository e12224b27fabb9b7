"""S4, M1 and M2: lists during syncs, and the memory of the services, which are separate processes."""

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
from benchmarks.sync.sync_times import LARGE_CORPUS, SMALL_CORPUS, start_host

#: The collection of dashboards, and the headers of a request for a table, whose cells contain the titles.
_DASHBOARDS: Final = "/apis/dashboard.grafana.app/v1beta1/namespaces/default/dashboards"
_TABLE: Final = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
#: S4: commits, each of which is synced, and the number of dashboards that each commit changes.
_COMMITS: Final = 5
_CHANGED: Final = 500
#: Dashboards of a page.
_PAGE_SIZE: Final = 500
_SYNC_TIMEOUT_SECONDS: Final = 1800
#: M1: concurrent readers of the gateway, and the pages that they read together.
_READERS: Final = 16
_READS: Final = 400

#: The goals in MB: a service without requests, the gateway under load, and the worker after a sync.
_IDLE_MB, _GATEWAY_MB, _WORKER_MB = 150, 300, 250
#: The goal for the memory after a sync of many files, divided by that after few.
_GROWTH: Final = 1.5


async def lists_during_syncs(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure S4: the number of lists with only a part of a commit, while syncs replace hundreds of dashboards.

    Raises AssertionError if there are such lists.
    """
    async with _running_services(database_url, amqp_url, folder) as (stack, client, exit_stack):
        corpus = await asyncio.to_thread(Corpus.make, folder, "bench", SMALL_CORPUS)
        await _create_and_sync(client, "bench", (await start_host(exit_stack, folder))[0])
        # The number of lists by the number of changed dashboards in them.
        lists: Counter[int] = Counter()
        for _ in range(_COMMITS):
            title = await asyncio.to_thread(corpus.change, _CHANGED)
            reader = asyncio.create_task(_list_repeatedly(client, title, lists))
            await _sync(client, "bench")
            reader.cancel()
            lists[await _count_with_title(client, title)] += 1
        assert stack.jobs_worker.is_running
    consistent = lists.pop(0, 0) + lists.pop(_CHANGED, 0)
    # One list per commit is read after the sync, so more are needed as evidence that lists were read during syncs.
    if lists or consistent <= _COMMITS:
        raise AssertionError(
            f"in addition to {consistent} lists of whole commits, some show only a part of {_CHANGED} changes: {dict(lists)}"
        )
    return [Row("S4", f"lists of half a commit, of all during {_COMMITS} syncs", "lists", 0, consistent, 0)]


async def _list_repeatedly(client: Client, title: str, lists: Counter[int]) -> None:
    """Count the dashboards with a title in one list after the other until this task is cancelled."""
    while True:
        lists[await _count_with_title(client, title)] += 1


async def _count_with_title(client: Client, title: str) -> int:
    """Return the number of dashboards with a title in a list, which is read page by page."""
    count, token = 0, ""
    while True:
        page = await client.call("GET", _DASHBOARDS, headers=_TABLE, params={"limit": _PAGE_SIZE, "continue": token})
        count += sum(title in row["cells"] for row in page["rows"])
        if not (token := page["metadata"].get("continue", "")):
            return count


async def memory(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure M1: the peak memory of workers that have synced one repository each, and of the gateway."""
    async with _running_services(database_url, amqp_url, folder) as (stack, client, exit_stack):
        gateway = stack.gateway
        host, _ = await start_host(exit_stack, folder)
        peaks = []
        for name, count in (("small", SMALL_CORPUS), ("large", LARGE_CORPUS)):
            await asyncio.to_thread(Corpus.make, folder, name, count)
            await stack.jobs_worker.stop()
            worker = await stack.add_jobs_worker()
            await _create_and_sync(client, name, host)
            peaks.append(peak_memory(worker.pid))
        await _send_load(stack.address)
        gateway_mb = peak_memory(gateway.pid)
    small_mb, large_mb = peaks
    return [
        Row(
            "M1",
            f"worker that synced {LARGE_CORPUS:,}, to one with {SMALL_CORPUS:,}",
            "MB",
            large_mb,
            small_mb,
            _GROWTH,
        ),
        Row("M1", f"worker that synced {LARGE_CORPUS:,}, to {_WORKER_MB} MB", "MB", large_mb, _WORKER_MB, 1),
        Row("M1", f"gateway under load, to {_GATEWAY_MB} MB", "MB", gateway_mb, _GATEWAY_MB, 1),
    ]


async def idle_memory(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure M2: the resident memory of each service after its start, without any request."""
    async with _running_services(database_url, amqp_url, folder) as (stack, _, _):
        services = {"gateway": stack.gateway, "jobs worker": stack.jobs_worker, "expressions worker": stack.expressions}
        return [
            Row("M2", f"{name} at rest, to {_IDLE_MB} MB", "MB", resident_memory(service.pid), _IDLE_MB, 1)
            for name, service in services.items()
        ]


async def _send_load(address: str) -> None:
    """Read pages of dashboards and of tables by several concurrent readers."""

    async def read() -> None:
        async with Client(address) as client:
            for index in range(_READS // _READERS):
                await client.call("GET", f"{_DASHBOARDS}?limit={_PAGE_SIZE}", headers=_TABLE if index % 2 else {})

    await asyncio.gather(*(read() for _ in range(_READERS)))


@asynccontextmanager
async def _running_services(database_url: str, amqp_url: str, folder: Path) -> AsyncIterator[tuple[Stack, Client, AsyncExitStack]]:
    """Start all services. Yield them, a client of the gateway, and a stack that is closed before the services stop."""
    stack = Stack(
        database_url, amqp_url, folder, DATA_DIR=str(folder), ALLOWED_HOSTS="127.0.0.0/8", REPOSITORY_FILES="100000", JOB_LEASE_SECONDS="60"
    )
    async with AsyncExitStack() as exit_stack:
        exit_stack.push_async_callback(stack.stop)
        await stack.start()
        yield stack, await exit_stack.enter_async_context(Client(stack.address)), exit_stack


async def _create_and_sync(client: Client, name: str, host: str) -> None:
    """Create a repository with a name and sync it for the first time."""
    spec = {"title": name, "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder"}}
    body = {"metadata": {"name": name}, "spec": spec | {"githost": {"url": f"{host}/{name}.git", "branch": "main"}}}
    await client.call("POST", f"{PROVISIONING}/repositories", status=201, json=body)
    await _sync(client, name)


async def _sync(client: Client, name: str) -> None:
    """Sync a repository. Raises AssertionError if the job fails."""
    job_status: Any = (await client.wait_for_job(await client.sync(name), seconds=_SYNC_TIMEOUT_SECONDS))["status"]
    assert job_status["state"] == "success", job_status

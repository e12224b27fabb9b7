"""S5: many repositories in one installation, from their first sync to a change that becomes visible.

``REPOSITORIES=<number>`` takes another number than 1,000.
"""

import asyncio
import os
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import aiohttp
from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.polling import until
from tests.acceptance.processes import Service, Stack

from benchmarks.processes import processor_seconds, resident_memory
from benchmarks.row import Row, percentile
from benchmarks.sync.corpus import Corpus
from benchmarks.sync.rows import served

_REPOSITORIES: Final = int(os.environ.get("REPOSITORIES", "1000"))
_FILES: Final = 100
_PUSHES: Final = 60
_INTERVAL_SECONDS: Final = 60
_WARM_UP: Final = 50
_DASHBOARDS: Final = "/apis/dashboard.grafana.app/v1beta1/namespaces/default/dashboards"
_VISIBLE_SECONDS, _PLANNER_CORES, _MEMORY_GROWTH = 2, 0.1, 1.2


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the delay of changes, the processor time at rest, and the growth of the memory of worker and gateway."""
    async with AsyncExitStack() as opened:
        unlimited: Any = {"QUOTAS_ENABLED": "false"}
        stack = Stack(database_url, amqp_url, folder, DATA_DIR=str(folder), ALLOWED_HOSTS="127.0.0.0/8", SCHEDULING="true", **unlimited)
        opened.push_async_callback(stack.stop)
        host, contents = await served(opened, folder)
        await stack.start()
        client = await opened.enter_async_context(Client(stack.address))
        corpora = [await asyncio.to_thread(Corpus.make, folder, f"r{index:04}", _FILES) for index in range(_REPOSITORIES)]
        services = (stack.jobs_worker, stack.gateway)
        started = time.perf_counter()
        await _create(client, host, corpora[:_WARM_UP])
        before = _memory(services)
        await _create(client, host, corpora[_WARM_UP:])
        seconds = time.perf_counter() - started
        print(f"first sync of {_REPOSITORIES:,} repositories with {_FILES} dashboards: {seconds:.0f} s", file=sys.stderr)
        used, requests = processor_seconds(stack.jobs_worker.pid), await _requests(contents)
        await asyncio.sleep(_INTERVAL_SECONDS)
        cores = (processor_seconds(stack.jobs_worker.pid) - used) / _INTERVAL_SECONDS
        polls = (await _requests(contents) - requests) / _REPOSITORIES
        step = max(1, _REPOSITORIES // _PUSHES)
        delays = [await _push(client, corpus) for corpus in corpora[::step][:_PUSHES]]
        after = _memory(services)
    many = f"{_REPOSITORIES:,} repositories of {_FILES} dashboards"
    return [
        Row("S5", f"{many}: a push and its sync until visible, p95, to 2 s", "s", percentile(delays, 95), _VISIBLE_SECONDS, 1),
        Row("S5", f"{many}: the worker's cores while it polls, to 0.1", "cores", cores, _PLANNER_CORES, 1),
        Row("S5", f"{many}: requests of a poll per repository and minute, to 1", "", polls, 1, 1),
        *(
            Row("S5", f"{many}: memory of the {name}, to that with {_WARM_UP}", "MB", now, then, _MEMORY_GROWTH)
            for name, now, then in zip(("jobs worker", "gateway"), after, before, strict=True)
        ),
    ]


async def _requests(contents: str) -> int:
    """Return how many requests the git host has received."""
    async with aiohttp.request("GET", f"{contents}/requests") as response:
        return int(await response.text())


def _memory(services: tuple[Service, ...]) -> list[float]:
    return [resident_memory(service.pid) for service in services]


async def _create(client: Client, host: str, corpora: list[Corpus]) -> None:
    """Create repositories, and wait until all have been synced."""
    for corpus in corpora:
        name = corpus.place.stem
        spec: dict[str, Any] = {"title": name, "type": "githost", "workflows": []}
        spec |= {"sync": {"enabled": True, "target": "folder", "intervalSeconds": _INTERVAL_SECONDS}}
        body = {"metadata": {"name": name}, "spec": spec | {"githost": {"url": f"{host}/{name}.git", "branch": "main"}}}
        await client.call("POST", f"{PROVISIONING}/repositories", status=201, json=body)
    missing = {corpus.place.stem for corpus in corpora}
    while missing:
        listed = await client.call("GET", f"{PROVISIONING}/repositories")
        states = {item["metadata"]["name"]: item["status"].get("sync", {}).get("state") for item in listed["items"]}
        if failed := [name for name, state in states.items() if state == "error"]:
            raise AssertionError(f"the first syncs of {failed[:5]} failed")
        missing -= {name for name, state in states.items() if state == "success"}
        await asyncio.sleep(0.5)


async def _push(client: Client, corpus: Corpus) -> float:
    """Commit a change, request the sync as a webhook does, and return the seconds until the dashboard has changed."""
    title = await asyncio.to_thread(corpus.change, 1, directories=1)
    name = corpus.place.stem
    started = time.perf_counter()
    await client.sync(name)
    dashboard = f"{_DASHBOARDS}/{name}-{corpus.turns % corpus.count:06}"

    async def is_visible() -> bool:
        return bool((await client.call("GET", dashboard))["spec"]["title"] == title)

    await until(is_visible)
    return time.perf_counter() - started

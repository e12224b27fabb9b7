"""S5: many repositories in one installation, from their first sync to a change that becomes visible.

``REPOSITORIES=<number>`` takes another number than 1,000.
"""

import asyncio
import itertools
import os
import sys
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Final

import aiohttp
from tests.acceptance.client import Client
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
#: One in so many repositories belongs to a second organization.
_SHARE: Final = 10
_VISIBLE_SECONDS, _PLANNER_CORES, _MEMORY_GROWTH = 2, 0.1, 1.2


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the delay of changes, the processor time at rest, and the growth of the memory of worker and gateway."""
    async with AsyncExitStack() as opened:
        unlimited: Any = {"QUOTAS_ENABLED": "false", "HOST_REQUESTS": "0"}
        stack = Stack(database_url, amqp_url, folder, DATA_DIR=str(folder), ALLOWED_HOSTS="127.0.0.0/8", SCHEDULING="true", **unlimited)
        opened.push_async_callback(stack.stop)
        host, contents = await served(opened, folder)
        await stack.start()
        client = await opened.enter_async_context(Client(stack.address))
        corpora = [await asyncio.to_thread(Corpus.make, folder, f"r{index:04}", _FILES) for index in range(_REPOSITORIES)]
        services = (stack.jobs_worker, stack.gateway)
        first, second = _Organization(client, host, "default"), await _second_organization(client, host)
        count = _REPOSITORIES // _SHARE
        started = time.perf_counter()
        await first.create(corpora[count : count + _WARM_UP])
        await first.wait()
        before = _memory(services)
        await second.create(corpora[:count])
        await second.wait()
        await first.create(corpora[count + _WARM_UP :])
        pushing = asyncio.create_task(_push_repeatedly(second, corpora[:count]))
        await first.wait()
        pushing.cancel()
        beside = await pushing
        seconds = time.perf_counter() - started
        print(f"first sync of {_REPOSITORIES:,} repositories with {_FILES} dashboards: {seconds:.0f} s", file=sys.stderr)
        used, requests = processor_seconds(stack.jobs_worker.pid), await _requests(contents)
        await asyncio.sleep(_INTERVAL_SECONDS)
        cores = (processor_seconds(stack.jobs_worker.pid) - used) / _INTERVAL_SECONDS
        polls = (await _requests(contents) - requests) / _REPOSITORIES
        step = max(1, (_REPOSITORIES - count) // _PUSHES)
        delays = [await first.push(corpus) for corpus in corpora[count::step][:_PUSHES]]
        after = _memory(services)
    many = f"{_REPOSITORIES:,} repositories of {_FILES} dashboards"
    return [
        Row("S5", f"{many}: a push and its sync until visible, p95, to 2 s", "s", percentile(delays, 95), _VISIBLE_SECONDS, 1),
        Row("S5", f"{many}: the same of a second organization during first syncs", "s", percentile(beside, 95), _VISIBLE_SECONDS, 1),
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


async def _second_organization(client: Client, host: str) -> "_Organization":
    org_id = (await client.call("POST", "/api/orgs", json={"name": "Second"}))["orgId"]
    return _Organization(client, host, f"org-{org_id}")


class _Organization:
    """The repositories of an organization, named like their corpora."""

    def __init__(self, client: Client, host: str, namespace: str) -> None:
        self._client = client
        self._host = host
        self._provisioning = f"/apis/provisioning.grafana.app/v0alpha1/namespaces/{namespace}"
        self._dashboards = f"/apis/dashboard.grafana.app/v1beta1/namespaces/{namespace}/dashboards"
        self._unsynced: set[str] = set()

    async def create(self, corpora: list[Corpus]) -> None:
        """Create repositories. Their first syncs start."""
        for corpus in corpora:
            name = corpus.place.stem
            spec: dict[str, Any] = {"title": name, "type": "githost", "workflows": []}
            spec |= {"sync": {"enabled": True, "target": "folder", "intervalSeconds": _INTERVAL_SECONDS}}
            body = {"metadata": {"name": name}, "spec": spec | {"githost": {"url": f"{self._host}/{name}.git", "branch": "main"}}}
            await self._client.call("POST", f"{self._provisioning}/repositories", status=201, json=body)
            self._unsynced.add(name)

    async def wait(self) -> None:
        """Wait until all repositories have been synced. Raises AssertionError if a sync fails."""
        while self._unsynced:
            listed = await self._client.call("GET", f"{self._provisioning}/repositories")
            states = {item["metadata"]["name"]: item["status"].get("sync", {}).get("state") for item in listed["items"]}
            if failed := [name for name, state in states.items() if state == "error"]:
                raise AssertionError(f"the first syncs of {failed[:5]} failed")
            self._unsynced -= {name for name, state in states.items() if state == "success"}
            await asyncio.sleep(0.5)

    async def push(self, corpus: Corpus) -> float:
        """Commit a change, request the sync as a webhook does, and return the seconds until the dashboard has changed."""
        title = await asyncio.to_thread(corpus.change, 1, directories=1)
        name = corpus.place.stem
        started = time.perf_counter()
        await self._client.call("POST", f"{self._provisioning}/repositories/{name}/sync", status=202)
        dashboard = f"{self._dashboards}/{name}-{corpus.turns % corpus.count:06}"

        async def is_visible() -> bool:
            return bool((await self._client.call("GET", dashboard))["spec"]["title"] == title)

        await until(is_visible)
        return time.perf_counter() - started


async def _push_repeatedly(organization: _Organization, corpora: list[Corpus]) -> list[float]:
    """Return the delays of pushes until the task is cancelled, at least one."""
    delays: list[float] = []
    with suppress(asyncio.CancelledError):
        for corpus in itertools.cycle(corpora):
            delays.append(await organization.push(corpus))
            await asyncio.sleep(1)
    return delays

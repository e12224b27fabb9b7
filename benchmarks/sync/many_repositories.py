"""S5: many repositories in one installation, from their first sync to a push that becomes visible by its webhook.

``REPOSITORIES=<number>`` takes another number than 1,000.
"""

import asyncio
import itertools
import os
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import aiohttp
from tests.acceptance.client import Client
from tests.acceptance.polling import wait_until
from tests.acceptance.processes import Service, Stack

from benchmarks.measurement import Row, percentile
from benchmarks.processes import processor_seconds, resident_memory
from benchmarks.sync.corpus import Corpus
from benchmarks.sync.sync_times import served

_REPOSITORIES: Final = int(os.environ.get("REPOSITORIES", "1000"))
_FILES: Final = 100
_PUSHES: Final = 60
_INTERVAL_SECONDS: Final = 60
_WARM_UP: Final = 50
_OWNER: Final = "boards"
#: One in so many repositories belongs to a second organization.
_SHARE: Final = 10
_LOOK_EVERY_SECONDS: Final = 2
_READY_SECONDS: Final = 1800
_ACCEPTED: Final = 202
_VISIBLE_SECONDS, _PLANNER_CORES, _MEMORY_GROWTH = 2, 0.1, 1.2


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the delay of pushes, the processor time at rest, and the growth of the memory of worker and gateway.

    Raises AssertionError if a push was not delivered to the gateway, or if the gateway did not accept its delivery.
    """
    async with AsyncExitStack() as opened:
        unlimited: Any = {"QUOTAS_ENABLED": "false", "HOST_REQUESTS": "0"}
        stack = Stack(database_url, amqp_url, folder, DATA_DIR=str(folder), ALLOWED_HOSTS="127.0.0.0/8", SCHEDULING="true", **unlimited)
        opened.push_async_callback(stack.stop)
        session = await opened.enter_async_context(aiohttp.ClientSession())
        host = _Host(session, *await served(opened, folder))
        await stack.gateway.start()
        # The worker creates webhooks with the address of the gateway, which is known when the gateway serves.
        await asyncio.gather(stack.add_jobs_worker(PUBLIC_URL=stack.gateway.address), stack.expressions.start())
        client = await opened.enter_async_context(Client(stack.gateway.address))
        (folder / _OWNER).mkdir()
        corpora = [await asyncio.to_thread(Corpus.make, folder / _OWNER, f"r{index:04}", _FILES) for index in range(_REPOSITORIES)]
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
        are_synced = asyncio.Event()
        pushing = asyncio.create_task(_push_until(are_synced, second, corpora[:count]))
        await first.wait()
        are_synced.set()
        beside = await pushing
        seconds = time.perf_counter() - started
        print(f"first sync of {_REPOSITORIES:,} repositories with {_FILES} dashboards: {seconds:.0f} s", file=sys.stderr)
        # Polls that were late because of the first syncs are not those of the measured minute.
        await asyncio.sleep(_INTERVAL_SECONDS)
        used, requests, started = processor_seconds(stack.jobs_worker.pid), await host.requests(), time.perf_counter()
        await asyncio.sleep(_INTERVAL_SECONDS)
        minutes = (time.perf_counter() - started) / 60
        cores = (processor_seconds(stack.jobs_worker.pid) - used) / minutes / 60
        polls = (await host.requests() - requests) / minutes / _REPOSITORIES
        step = max(1, (_REPOSITORIES - count) // _PUSHES)
        delays = [await first.push(corpus) for corpus in corpora[count::step][:_PUSHES]]
        after = _memory(services)
        deliveries = await host.deliveries()
    if deliveries != [_ACCEPTED] * (len(beside) + len(delays)):
        raise AssertionError(f"{len(beside) + len(delays)} pushes had deliveries with these statuses: {deliveries}")
    many = f"{_REPOSITORIES:,} repositories of {_FILES} dashboards"
    return [
        Row("S5", f"{many}: a push until visible by its webhook, p95, to 2 s", "s", percentile(delays, 95), _VISIBLE_SECONDS, 1),
        Row("S5", f"{many}: the same of a second organization during first syncs", "s", percentile(beside, 95), _VISIBLE_SECONDS, 1),
        Row("S5", f"{many}: the worker's cores while it polls, to 0.1", "cores", cores, _PLANNER_CORES, 1),
        Row("S5", f"{many}: requests of a poll per repository and minute, to 1", "", polls, 1, 1),
        *(
            Row("S5", f"{many}: memory of the {name}, to that with {_WARM_UP}", "MB", now, then, _MEMORY_GROWTH)
            for name, now, then in zip(("jobs worker", "gateway"), after, before, strict=True)
        ),
    ]


def _memory(services: tuple[Service, ...]) -> list[float]:
    return [resident_memory(service.pid) for service in services]


async def _second_organization(client: Client, host: "_Host") -> "_Organization":
    org_id = (await client.call("POST", "/api/orgs", json={"name": "Second"}))["orgId"]
    return _Organization(client, host, f"org-{org_id}")


class _Host:
    """The git host and its control server."""

    def __init__(self, session: aiohttp.ClientSession, url: str, control: str) -> None:
        self.url = url
        self._session = session
        self._control = control

    async def push(self, corpus: Corpus) -> str:
        """Commit a change, let the host call the webhooks of the repository, and return the new title of the dashboard."""
        title = await asyncio.to_thread(corpus.change, 1, directories=1)
        async with self._session.post(f"{self._control}/pushes/{_OWNER}/{corpus.place.stem}") as response:
            response.raise_for_status()
        return title

    async def requests(self) -> int:
        """Return how many requests the host has received."""
        return int(await self._get("requests"))

    async def deliveries(self) -> list[int]:
        """Return the status of the response to each delivery."""
        statuses: list[int] = await self._get("deliveries")
        return statuses

    async def _get(self, name: str) -> Any:
        async with self._session.get(f"{self._control}/{name}") as response:
            return await response.json()


class _Organization:
    """The repositories of an organization, named like their corpora."""

    def __init__(self, client: Client, host: _Host, namespace: str) -> None:
        self._client = client
        self._host = host
        self._provisioning = f"/apis/provisioning.grafana.app/v0alpha1/namespaces/{namespace}"
        self._dashboards = f"/apis/dashboard.grafana.app/v1beta1/namespaces/{namespace}/dashboards"
        self._unready: set[str] = set()

    async def create(self, corpora: list[Corpus]) -> None:
        """Create repositories. Their first syncs start, and the worker creates their webhooks."""
        for corpus in corpora:
            name = corpus.place.stem
            spec: dict[str, Any] = {"title": name, "type": "githost", "workflows": []}
            spec |= {"sync": {"enabled": True, "target": "folder", "intervalSeconds": _INTERVAL_SECONDS}}
            githost = {"url": f"{self._host.url}/{_OWNER}/{name}.git", "branch": "main"}
            body = {"metadata": {"name": name}, "spec": spec | {"githost": githost}}
            await self._client.call("POST", f"{self._provisioning}/repositories", status=201, json=body)
            self._unready.add(name)

    async def wait(self) -> None:
        """Wait until all repositories have been synced and have webhooks. Raises AssertionError if a sync fails."""
        async with asyncio.timeout(_READY_SECONDS):
            while self._unready:
                listed = await self._client.call("GET", f"{self._provisioning}/repositories")
                statuses = {item["metadata"]["name"]: item["status"] for item in listed["items"]}
                states = {name: status.get("sync", {}).get("state") for name, status in statuses.items()}
                if failed := [name for name, state in states.items() if state == "error"]:
                    raise AssertionError(f"the first syncs of {failed[:5]} failed")
                hooked = {name for name, status in statuses.items() if status.get("webhook", {}).get("id")}
                self._unready -= {name for name, state in states.items() if state == "success"} & hooked
                await asyncio.sleep(_LOOK_EVERY_SECONDS)

    async def push(self, corpus: Corpus) -> float:
        """Push a change, and return the seconds from the beginning of the push until the API returns the changed dashboard."""
        started = time.perf_counter()
        title = await self._host.push(corpus)
        dashboard = f"{self._dashboards}/{corpus.place.stem}-{corpus.turns % corpus.count:06}"

        async def is_visible() -> bool:
            return bool((await self._client.call("GET", dashboard))["spec"]["title"] == title)

        await wait_until(is_visible)
        return time.perf_counter() - started


async def _push_until(ended: asyncio.Event, organization: _Organization, corpora: list[Corpus]) -> list[float]:
    """Return the delays of pushes until the event is set, at least one."""
    delays: list[float] = []
    for corpus in itertools.cycle(corpora):
        delays.append(await organization.push(corpus))
        if ended.is_set():
            break
        await asyncio.sleep(1)
    return delays

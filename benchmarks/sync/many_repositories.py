"""S5: many repositories in one installation, from their first sync to a push that becomes visible by its webhook.

``REPOSITORIES=<number>`` sets another number than 1,000.
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
from benchmarks.sync.sync_times import start_host

_REPOSITORIES: Final = int(os.environ.get("REPOSITORIES", "1000"))
#: Files of each repository.
_FILES: Final = 100
#: Measured pushes, each to another repository.
_PUSHES: Final = 60
#: The interval in which the worker polls each repository.
_POLL_INTERVAL_SECONDS: Final = 60
#: Repositories that are synced before the memory is measured for comparison.
_WARM_UP: Final = 50
#: The owner of the repositories on the git host.
_OWNER: Final = "boards"
#: One in so many repositories belongs to a second organization.
_SECOND_ORGANIZATION_ONE_IN: Final = 10
#: The interval in which the states of all repositories are read.
_STATUS_INTERVAL_SECONDS: Final = 2
_FIRST_SYNCS_TIMEOUT_SECONDS: Final = 1800
#: The status with which the gateway accepts a delivery of a webhook.
_ACCEPTED: Final = 202
#: The goals: a push until it is visible, the processor time of polls, and the ratio of memory with all and with few repositories.
_VISIBLE_SECONDS, _POLL_CORES, _MEMORY_GROWTH = 2, 0.1, 1.2


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of S5: the delay of pushes, the cost of polls, and the growth of the memory of worker and gateway.

    Raises AssertionError if a push was not delivered to the gateway, or if the gateway did not accept its delivery.
    """
    async with AsyncExitStack() as exit_stack:
        unlimited: Any = {"QUOTAS_ENABLED": "false", "HOST_REQUESTS": "0"}
        stack = Stack(database_url, amqp_url, folder, DATA_DIR=str(folder), ALLOWED_HOSTS="127.0.0.0/8", SCHEDULING="true", **unlimited)
        exit_stack.push_async_callback(stack.stop)
        session = await exit_stack.enter_async_context(aiohttp.ClientSession())
        host = _Host(session, *await start_host(exit_stack, folder))
        await stack.gateway.start()
        # The worker creates webhooks with the address of the gateway, which is known when the gateway serves.
        await asyncio.gather(stack.add_jobs_worker(PUBLIC_URL=stack.gateway.address), stack.expressions.start())
        client = await exit_stack.enter_async_context(Client(stack.gateway.address))
        (folder / _OWNER).mkdir()
        corpora = [await asyncio.to_thread(Corpus.make, folder / _OWNER, f"r{index:04}", _FILES) for index in range(_REPOSITORIES)]
        services = (stack.jobs_worker, stack.gateway)
        first_organization, second_organization = _Organization(client, host, "default"), await _second_organization(client, host)
        second_count = _REPOSITORIES // _SECOND_ORGANIZATION_ONE_IN
        second_corpora, first_corpora = corpora[:second_count], corpora[second_count:]
        started = time.perf_counter()
        await first_organization.create(first_corpora[:_WARM_UP])
        await first_organization.wait()
        memory_before_mb = _memory_mb(services)
        await second_organization.create(second_corpora)
        await second_organization.wait()
        await first_organization.create(first_corpora[_WARM_UP:])
        syncs_have_ended = asyncio.Event()
        pushing = asyncio.create_task(_push_until(syncs_have_ended, second_organization, second_corpora))
        await first_organization.wait()
        syncs_have_ended.set()
        delays_during_syncs = await pushing
        seconds = time.perf_counter() - started
        print(f"first sync of {_REPOSITORIES:,} repositories with {_FILES} dashboards: {seconds:.0f} s", file=sys.stderr)
        # Polls that the first syncs have delayed run before the measured minute.
        await asyncio.sleep(_POLL_INTERVAL_SECONDS)
        seconds_before, requests_before = processor_seconds(stack.jobs_worker.pid), await host.requests()
        started = time.perf_counter()
        await asyncio.sleep(_POLL_INTERVAL_SECONDS)
        minutes = (time.perf_counter() - started) / 60
        cores = (processor_seconds(stack.jobs_worker.pid) - seconds_before) / minutes / 60
        requests_per_minute = (await host.requests() - requests_before) / minutes / _REPOSITORIES
        step = max(1, len(first_corpora) // _PUSHES)
        # The pushed repositories are distributed evenly over all.
        delays = [await first_organization.push(corpus) for corpus in first_corpora[::step][:_PUSHES]]
        memory_after_mb = _memory_mb(services)
        deliveries = await host.deliveries()
    pushes = len(delays_during_syncs) + len(delays)
    if deliveries != [_ACCEPTED] * pushes:
        raise AssertionError(f"{pushes} pushes had deliveries with these statuses: {deliveries}")
    repositories = f"{_REPOSITORIES:,} repositories of {_FILES} dashboards"
    return [
        Row("S5", f"{repositories}: a push until visible by its webhook, p95, to 2 s", "s", percentile(delays, 95), _VISIBLE_SECONDS, 1),
        Row(
            "S5",
            f"{repositories}: the same of a second organization during first syncs",
            "s",
            percentile(delays_during_syncs, 95),
            _VISIBLE_SECONDS,
            1,
        ),
        Row("S5", f"{repositories}: the worker's cores while it polls, to 0.1", "cores", cores, _POLL_CORES, 1),
        Row("S5", f"{repositories}: requests of a poll per repository and minute, to 1", "", requests_per_minute, 1, 1),
        *(
            Row("S5", f"{repositories}: memory of the {name}, to that with {_WARM_UP}", "MB", after, before, _MEMORY_GROWTH)
            for name, after, before in zip(("jobs worker", "gateway"), memory_after_mb, memory_before_mb, strict=True)
        ),
    ]


def _memory_mb(services: tuple[Service, ...]) -> list[float]:
    """Return the resident memory of each service."""
    return [resident_memory(service.pid) for service in services]


async def _second_organization(client: Client, host: "_Host") -> "_Organization":
    """Create an organization."""
    org_id = (await client.call("POST", "/api/orgs", json={"name": "Second"}))["orgId"]
    return _Organization(client, host, f"org-{org_id}")


class _Host:
    """The git host and its control server."""

    def __init__(self, session: aiohttp.ClientSession, url: str, control: str) -> None:
        self.url = url
        self._session = session
        self._control = control

    async def push(self, corpus: Corpus) -> str:
        """Commit a change to one file and make the host call the webhooks of its repository. Return the new title of the dashboard."""
        title = await asyncio.to_thread(corpus.change, 1, directories=1)
        async with self._session.post(f"{self._control}/pushes/{_OWNER}/{corpus.folder.stem}") as response:
            response.raise_for_status()
        return title

    async def requests(self) -> int:
        """Return the number of requests that the host has received."""
        return int(await self._get("requests"))

    async def deliveries(self) -> list[int]:
        """Return the status of the response to each delivery."""
        statuses: list[int] = await self._get("deliveries")
        return statuses

    async def _get(self, name: str) -> Any:
        async with self._session.get(f"{self._control}/{name}") as response:
            return await response.json()


class _Organization:
    """An organization with repositories, each named like its corpus."""

    def __init__(self, client: Client, host: _Host, namespace: str) -> None:
        self._client = client
        self._host = host
        self._provisioning = f"/apis/provisioning.grafana.app/v0alpha1/namespaces/{namespace}"
        self._dashboards = f"/apis/dashboard.grafana.app/v1beta1/namespaces/{namespace}/dashboards"
        #: Names of repositories whose first sync has not ended, or that have no webhook yet.
        self._unready: set[str] = set()

    async def create(self, corpora: list[Corpus]) -> None:
        """Create repositories. The worker then runs their first syncs and creates their webhooks."""
        for corpus in corpora:
            name = corpus.folder.stem
            spec: dict[str, Any] = {"title": name, "type": "githost", "workflows": []}
            spec |= {"sync": {"enabled": True, "target": "folder", "intervalSeconds": _POLL_INTERVAL_SECONDS}}
            githost = {"url": f"{self._host.url}/{_OWNER}/{name}.git", "branch": "main"}
            body = {"metadata": {"name": name}, "spec": spec | {"githost": githost}}
            await self._client.call("POST", f"{self._provisioning}/repositories", status=201, json=body)
            self._unready.add(name)

    async def wait(self) -> None:
        """Wait until all repositories have been synced and have webhooks. Raises AssertionError if a sync fails."""
        async with asyncio.timeout(_FIRST_SYNCS_TIMEOUT_SECONDS):
            while self._unready:
                repositories = await self._client.call("GET", f"{self._provisioning}/repositories")
                statuses = {item["metadata"]["name"]: item["status"] for item in repositories["items"]}
                states = {name: status.get("sync", {}).get("state") for name, status in statuses.items()}
                if failed := [name for name, state in states.items() if state == "error"]:
                    raise AssertionError(f"the first syncs of {failed[:5]} failed")
                names_with_webhook = {name for name, status in statuses.items() if status.get("webhook", {}).get("id")}
                self._unready -= {name for name, state in states.items() if state == "success"} & names_with_webhook
                await asyncio.sleep(_STATUS_INTERVAL_SECONDS)

    async def push(self, corpus: Corpus) -> float:
        """Push a change, and return the seconds from the beginning of the push until the API returns the changed dashboard."""
        started = time.perf_counter()
        title = await self._host.push(corpus)
        dashboard = f"{self._dashboards}/{corpus.folder.stem}-{corpus.changes % corpus.count:06}"

        async def is_visible() -> bool:
            return bool((await self._client.call("GET", dashboard))["spec"]["title"] == title)

        await wait_until(is_visible)
        return time.perf_counter() - started


async def _push_until(event: asyncio.Event, organization: _Organization, corpora: list[Corpus]) -> list[float]:
    """Return the delays of pushes until the event is set, at least one."""
    delays: list[float] = []
    for corpus in itertools.cycle(corpora):
        delays.append(await organization.push(corpus))
        if event.is_set():
            break
        await asyncio.sleep(1)
    return delays

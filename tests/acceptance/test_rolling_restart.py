"""While clients work, every process is replaced: no request fails, and every accepted job succeeds."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from tests.acceptance import dashboard_files
from tests.acceptance.balancer import Balancer
from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.polling import wait_until
from tests.acceptance.queries import QUERY
from tests.acceptance.records import Records

REPOSITORIES = [f"team-{number}" for number in range(6)]
CLIENTS = 4
EVALUATIONS = "/apis/expressions.dashwright.io/v0alpha1/namespaces/default/evaluations"
EVALUATION = {"spec": {"panel": {"type": "timeseries", "targets": [{"refId": "A", "type": "math", "expression": "1 + 1"}]}}}


@dataclass
class Load:
    """Requests of clients that keep their connections, until they are stopped."""

    is_stopped: bool = False
    #: Number of requests.
    requests: int = 0
    #: Names of accepted jobs.
    accepted: set[str] = field(default_factory=set)
    #: Descriptions of failed requests.
    failures: list[str] = field(default_factory=list)

    async def run(self, client: Client, client_number: int) -> None:
        """Send a query, two submissions, a write and a read, repeatedly, until the load is stopped."""
        while not self.is_stopped:
            repository = REPOSITORIES[self.requests % len(REPOSITORIES)]
            await self._send(client, 200, "POST", "/api/ds/query", json=QUERY)
            jobs = [
                await self._send(client, 202, "POST", f"{PROVISIONING}/repositories/{repository}/sync"),
                await self._send(client, 202, "POST", EVALUATIONS, json=EVALUATION),
            ]
            self.accepted |= {job["metadata"]["name"] for job in jobs if job is not None}
            dashboard = {"dashboard": {"uid": f"client-{client_number}", "title": f"Client {client_number}"}, "overwrite": True}
            await self._send(client, 200, "POST", "/api/dashboards/db", json=dashboard)
            await self._send(client, 200, "GET", f"{PROVISIONING}/repositories")

    async def _send(self, client: Client, status: int, method: str, path: str, **options: Any) -> Any:
        """Send a request and return the body of the response. If the request fails or gets another status, record this and return None."""
        self.requests += 1
        try:
            async with client.request(method, path, **options) as response:
                body = await response.json()
                if response.status == status:
                    return body
                self.failures.append(f"{method} {path}: {response.status} {body}")
        except (aiohttp.ClientError, TimeoutError) as error:
            self.failures.append(f"{method} {path}: {error!r}")
        return None


async def test_no_request_fails_and_no_job_is_lost(make_stack: MakeStack, records: Records) -> None:
    """While gateways and workers are replaced one by one, no request fails, and every job succeeds at its first attempt."""
    stack = make_stack(DRAIN_SECONDS="0.5")
    for name in REPOSITORIES:
        dashboard_files.write(stack.repositories / name / "one.json", dashboard_files.classic(f"{name}-one", name))
    await stack.start()
    load = Load()
    async with Balancer() as balancer:
        await balancer.add(stack.address)
        await balancer.add((await stack.add("dashwright-api")).address)
        old_services = [*stack.services]
        async with Client(balancer.address) as client:
            for name in REPOSITORIES:
                await client.create_repository(name, name)
        clients = [Client(balancer.address) for _ in range(CLIENTS)]
        loads = [asyncio.create_task(load.run(client, client_number)) for client_number, client in enumerate(clients)]
        for service in old_services:
            successor = await stack.add(service.name)
            # Only gateways have an address.
            if successor.address:
                await balancer.add(successor.address)
            assert await service.stop() == 0
        load.is_stopped = True
        await asyncio.gather(*loads)
        await wait_until(records.all_jobs_ended, seconds=60)
        for client in clients:
            await client.close()
    assert load.failures == []
    jobs = {job["name"]: (job["state"], job["attempts"]) for job in await records.jobs()}
    assert load.accepted <= set(jobs)
    assert set(jobs.values()) == {("success", 1)}
    assert load.requests > 100

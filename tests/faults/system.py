"""The system under faults: gateways and workers as processes, each behind proxies of its own, over a real database and broker."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import aiohttp
from tests.acceptance.client import Client
from tests.acceptance.processes import service_settings
from tests.faults.clock import Clock
from tests.faults.member import Member

GATEWAY, JOBS_WORKER, EXPRESSIONS = "dashwright-api", "dashwright-jobs-worker", "dashwright-expressions"

#: A request without a response after this time has an unknown result.
_REQUEST_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Response:
    """Response that a gateway sent after it had handled the request."""

    status: int
    body: Any

    @property
    def is_accepted(self) -> bool:
        """True if the status is a success."""
        return self.status < 300


class System:
    """A system with given numbers of gateways, jobs workers and expressions workers.

    With ``has_clocks``, every second process has a clock that can be set, which makes it slower. Leases are short, and jobs have any
    number of attempts. No history is deleted, so that all of it can be audited.
    """

    def __init__(
        self,
        database_url: str,
        amqp_url: str,
        folder: Path,
        *,
        sizes: tuple[int, int, int] = (1, 1, 1),
        has_clocks: bool = False,
        **settings: str,
    ) -> None:
        self.database_url = database_url
        self.amqp_url = amqp_url
        self.repositories = folder / "repositories"
        self.repositories.mkdir(parents=True)
        all_settings = {
            **service_settings(database_url, amqp_url, self.repositories),
            "JOB_LEASE_SECONDS": "1.5",
            "JOB_ATTEMPTS": "1000",
            "JOB_HISTORY": "1000000",
            "EVALUATIONS_KEPT": "1000000",
            **settings,
        }
        programs = zip((GATEWAY, JOBS_WORKER, EXPRESSIONS), sizes, strict=True)
        names = [program for program, count in programs for _ in range(count)]
        clocks = [Clock(folder / f"clock-{index}") if has_clocks and index % 2 else None for index in range(len(names))]
        self.members = [Member(program, all_settings, clock) for program, clock in zip(names, clocks, strict=True)]
        #: Number of requests by how they ended: a status with the message of a 5xx response, or the error of the connection.
        self.outcomes: Counter[str] = Counter()
        self._clients: list[Client] = []
        self._exit_stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await asyncio.gather(*(self._exit_stack.enter_async_context(member) for member in self.members))
        for gateway in self.members_of(GATEWAY):
            self._clients.append(await self._exit_stack.enter_async_context(Client(gateway.http.url)))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._exit_stack.aclose()

    def members_of(self, program: str) -> Sequence[Member]:
        """Return the members of a service."""
        return [member for member in self.members if member.program == program]

    async def request(self, method: str, path: str, **options: Any) -> Response | None:
        """Send a request to any gateway. Return None if it is unknown whether the request was handled."""
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                status, body, _ = await random.choice(self._clients).response(method, path, **options)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            self.outcomes[type(error).__name__] += 1
            return None
        self.outcomes[f"{status} {body.get('message', '') if status >= 500 else ''}".strip()] += 1
        # A commit whose response was lost has an unknown result, and the gateway then responds with 503.
        return None if status >= 500 else Response(status, body)

    def stream(self, path: str, **parameters: str) -> Any:
        """Return the context of a streamed response of any gateway."""
        return random.choice(self._clients).request("GET", path, params=parameters, timeout=aiohttp.ClientTimeout(total=None, sock_read=90))

"""A member of the system under faults: a service whose connections pass through proxies, and whose process is replaced after a kill."""

import asyncio
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Self

from tests.acceptance.processes import Service
from tests.faults.clock import Clock
from tests.proxies.amqp_conversation import AmqpConversation
from tests.proxies.postgres_conversation import PostgresConversation
from tests.proxies.tcp_proxy import TcpProxy
from tests.proxies.traps import Traps

#: Number of lines that are kept of a failed start.
_LAST_LINES = 40
#: A member whose starts fail more often ends the test.
_MAX_FAILED_STARTS = 10


class Member:
    """A service and its proxies. All its connections, and those of its clients over HTTP, pass the same traps."""

    def __init__(self, program: str, settings: Mapping[str, str], clock: Clock | None = None) -> None:
        self.program = program
        self.traps = Traps()
        #: SQLSTATEs by step: PostgreSQL returns such an error to this service instead of running the step.
        self.refusals: dict[str, str] = {}
        self.database = TcpProxy(settings["DATABASE_URL"], lambda: PostgresConversation(self.refusals), self.traps)
        self.broker = TcpProxy(settings["AMQP_URL"], AmqpConversation, self.traps)
        #: Proxy of the clients of a gateway.
        self.http = TcpProxy("http://127.0.0.1:1", traps=self.traps)
        #: Every process that was started.
        self.processes: list[Service] = []
        #: Last lines of processes that ended before they served.
        self.failed_starts: list[str] = []
        #: Clock of the service. None: that of the system.
        self.clock = clock
        #: Whether a process serves and is not being replaced.
        self.is_serving = False
        self._replacement: asyncio.Task[None] | None = None
        self._settings = settings
        self._exit_stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for proxy in (self.database, self.broker, self.http):
            await self._exit_stack.enter_async_context(proxy)
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.is_running:
            self.process.send(signal.SIGCONT)
            await self.process.stop()
        await self._exit_stack.aclose()

    @property
    def process(self) -> Service:
        """The latest process."""
        return self.processes[-1]

    async def start(self) -> None:
        """Start a process and wait until it serves. If it ends before that, the start is recorded as failed and repeated."""
        while True:
            try:
                await self._start()
            except AssertionError:
                # Operators would restart it as well; the report has the reason.
                process = self.process
                self.failed_starts.append(f"{self.program} did not start: {process.lines[-_LAST_LINES:]}")
                await process.kill()
                if len(self.failed_starts) > _MAX_FAILED_STARTS:
                    raise
            else:
                self.is_serving = True
                return

    async def _start(self) -> None:
        """Start a process and wait until it serves. Clients of a gateway are then forwarded to it."""
        urls = {"DATABASE_URL": self.database.url, "AMQP_URL": self.broker.url}
        environment = {} if self.clock is None else self.clock.environment
        self.processes.append(Service(self.program, {**self._settings, **urls}, environment=environment))
        event = await (await self.process.launch()).event("serving")
        if "address" in event:
            self.http.redirect(str(event["address"]))

    async def kill(self) -> None:
        """Send SIGKILL and wait for the end of the process."""
        self.is_serving = False
        await self.process.kill()

    def replace_soon(self) -> None:
        """Start another process in the background."""
        self._replacement = asyncio.create_task(self.start(), name=f"replacement of {self.program}")

    async def wait_for_replacement(self) -> None:
        """Wait until the process that ``replace_soon`` starts serves."""
        if self._replacement is not None:
            await self._replacement

    async def restart(self) -> None:
        """Stop the process by SIGTERM, and start another one."""
        self.is_serving = False
        await self.process.stop()
        await self.start()

    async def abort_connections(self) -> None:
        """Abort the connections to the database and the broker."""
        self.database.abort()
        self.broker.abort()
        await asyncio.sleep(0)

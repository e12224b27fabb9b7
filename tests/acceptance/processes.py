"""Service processes of tests and benchmarks, which are observed through their logs."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

Event = dict[str, Any]

#: The folder of the programs under test.
PROGRAMS: Final = Path(sys.executable).parent

#: Time in which a process must start, log an expected event, or end.
_MAX_SECONDS = 60.0
#: Limit of the bytes of one line of the log. Lines with a traceback are long.
_LONGEST_LINE = 4 * 1024 * 1024


class Service:
    """A process of the product, with its log read as it is written, so that tests wait for events instead of sleeping."""

    def __init__(
        self, name: str, settings: Mapping[str, str], *arguments: str, environment: Mapping[str, str] = {}, programs: Path = PROGRAMS
    ) -> None:
        self.name = name
        self.events: list[Event] = []
        self.lines: list[str] = []
        #: Lines of standard output, which are for the user; the log is on standard error.
        self.output: list[str] = []
        self._settings = settings
        self._arguments = arguments
        self._programs = programs
        #: Variables other than settings.
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None
        self._log_change = asyncio.Condition()
        self._log_reader: asyncio.Task[None] | None = None
        self._output_reader: asyncio.Task[None] | None = None

    async def start(self, *, until: str = "serving") -> Self:
        """Start the process and wait for the log event ``until``."""
        await self.launch()
        await self.event(until)
        return self

    async def launch(self) -> Self:
        """Start the process as the leader of a new process group."""
        program = self._programs / self.name
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DASHWRIGHT_")}
        environment |= {f"DASHWRIGHT_{name}": value for name, value in self._settings.items()} | {"DASHWRIGHT_LOG_FORMAT": "json"}
        # Without certificate authorities, which no test needs, a process starts 50 ms sooner: aiohttp reads them all at its import.
        environment |= {"SSL_CERT_FILE": os.devnull, **self._environment}
        self._process = await asyncio.create_subprocess_exec(
            program,
            *self._arguments,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            start_new_session=True,
        )
        self._log_reader = asyncio.create_task(self._read_log())
        self._output_reader = asyncio.create_task(self._read_output())
        return self

    async def event(self, name: str, *, after: int = 0, seconds: float = _MAX_SECONDS, **fields: object) -> Event:
        """Wait for a log event with a name and fields, at or after the position ``after`` in ``events``, and return it."""
        try:
            async with asyncio.timeout(seconds), self._log_change:
                while True:
                    if events := self.logged_events(name, after=after, **fields):
                        return events[0]
                    if self._log_reader is not None and self._log_reader.done():
                        raise AssertionError(f"{self.name} ended without {name}: {self.events[-5:]}")
                    await self._log_change.wait()
        except TimeoutError as error:
            raise AssertionError(f"{self.name} did not log {name} {fields} within {seconds:g} s; last: {self.events[-5:]}") from error

    def logged_events(self, name: str, *, after: int = 0, **fields: object) -> list[Event]:
        """Return the events with a name and fields that were logged so far, from the position ``after`` in ``events``."""
        return [
            event
            for event in self.events[after:]
            if event.get("event") == name and all(event.get(key) == value for key, value in fields.items())
        ]

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self._process is not None
        return self._process.pid

    @property
    def address(self) -> str:
        """The URL of a gateway that is serving; empty for a worker."""
        return "".join(str(event.get("address", "")) for event in self.logged_events("serving"))

    @property
    def is_running(self) -> bool:
        """True if the process was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def stop(self) -> int:
        """Send SIGTERM and return the exit status."""
        return await self._signal_and_wait(signal.SIGTERM)

    async def kill(self) -> None:
        """Send SIGKILL, which the process cannot handle."""
        await self._signal_and_wait(signal.SIGKILL)

    async def interrupt(self) -> int:
        """Send SIGINT to the process group, like Ctrl-C in a terminal, and return the exit status."""
        os.killpg(self.pid, signal.SIGINT)
        return await self.wait()

    def send(self, signal_number: signal.Signals) -> None:
        """Send a signal to the process, and not to its children."""
        assert self._process is not None
        self._process.send_signal(signal_number)

    async def wait(self, *, seconds: float = _MAX_SECONDS) -> int:
        """Wait for the process to end and return its exit status. Kills it and raises AssertionError after ``seconds``."""
        assert self._process is not None
        try:
            async with asyncio.timeout(seconds):
                status = await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
            raise AssertionError(f"{self.name} did not end within {seconds:g} s; last: {self.events[-5:]}") from None
        if self._log_reader is not None and self._output_reader is not None:
            await asyncio.gather(self._log_reader, self._output_reader)
        return status

    async def _signal_and_wait(self, signal_number: signal.Signals) -> int:
        """Send a signal, unless the process has ended already, and return the exit status."""
        with suppress(ProcessLookupError):
            self.send(signal_number)
        return await self.wait()

    async def _read_output(self) -> None:
        """Collect the lines of standard output until the process ends."""
        assert self._process is not None
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.output.append(line.decode(errors="replace").rstrip("\n"))

    async def _read_log(self) -> None:
        """Collect the lines of the log until the process ends, and notify those who wait for an event."""
        assert self._process is not None
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            text = line.decode(errors="replace").rstrip("\n")
            try:
                event = json.loads(text)
            except ValueError:
                event = {"event": "text", "text": text}
            async with self._log_change:
                self.lines.append(text)
                self.events.append(event)
                self._log_change.notify_all()
        # The end of the log is a change, too: an event that was not logged by now will never be.
        async with self._log_change:
            self._log_change.notify_all()


def service_settings(database_url: str, amqp_url: str, repositories: Path) -> dict[str, str]:
    """Return settings, without their prefix, for services on free ports. The short lease lets jobs of a killed worker continue soon."""
    return {
        "DATABASE_URL": database_url,
        "AMQP_URL": amqp_url,
        "SECRET_KEY": "of tests only",
        "HTTP_PORT": "0",
        "PROBE_PORT": "0",
        "PERMITTED_PATHS": str(repositories),
        "JOB_LEASE_SECONDS": "3",
        "SCHEDULING": "false",
    }


class Stack:
    """A gateway and its workers over one database and broker."""

    def __init__(self, database_url: str, amqp_url: str, folder: Path, programs: Path = PROGRAMS, **settings: str) -> None:
        self._programs = programs
        self.repositories = folder / "repositories"
        self.repositories.mkdir(parents=True, exist_ok=True)
        self.amqp_url = amqp_url
        self.urls = (database_url, amqp_url)
        self.settings = service_settings(database_url, amqp_url, self.repositories) | settings
        #: Every process, including those that have ended or were not started.
        self.services: list[Service] = []
        self.gateway = self._service("dashwright-api")
        self.jobs_worker = self._service("dashwright-jobs-worker")
        self.expressions = self._service("dashwright-expressions")
        self.address = ""

    async def start(self) -> Self:
        """Start the gateway and one worker of each kind."""
        return await self._start(self.services)

    async def start_without_queries(self) -> Self:
        """Start the gateway and the jobs worker only, since each process takes a second of processor time."""
        return await self._start([self.gateway, self.jobs_worker])

    async def add(self, name: str, **settings: str) -> Service:
        """Start another process of a service."""
        return await self._service(name, **settings).start()

    async def add_jobs_worker(self, **settings: str) -> Service:
        """Start another jobs worker, which becomes ``jobs_worker``."""
        self.jobs_worker = await self._service("dashwright-jobs-worker", **settings).start()
        return self.jobs_worker

    async def add_gateway(self, **settings: str) -> Service:
        """Start another gateway."""
        return await self._service("dashwright-api", **settings).start()

    async def stop(self) -> None:
        """Stop all running processes by SIGTERM."""
        await asyncio.gather(*(service.stop() for service in self.services if service.is_running))

    async def _start(self, services: Sequence[Service]) -> Self:
        """Start services concurrently, and set ``address`` to that of the first gateway."""
        await asyncio.gather(*(service.start() for service in services))
        self.address = self.gateway.address
        return self

    def _service(self, name: str, **settings: str) -> Service:
        """Return a service with the settings of the stack, not yet started."""
        service = Service(name, self.settings | settings, programs=self._programs)
        self.services.append(service)
        return service

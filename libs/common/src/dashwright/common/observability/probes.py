"""Whether a process lives and can do its work, asked over HTTP: ``/livez``, ``/readyz``, ``/healthz``.

The text is that of the Kubernetes API server's health endpoints: ``ok``, or with ``verbose`` a line for each check.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

import structlog
from aiohttp import web

from dashwright.common.observability import metrics

log = structlog.get_logger()

Check: TypeAlias = Callable[[], Awaitable[object]]
"""Returns when all is well; raises otherwise."""


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """The outcome of one probe: each check's name, and whether it passed."""

    probe: str
    checks: tuple[tuple[str, bool], ...]

    @property
    def is_healthy(self) -> bool:
        return all(passed for _, passed in self.checks)

    @property
    def status(self) -> int:
        return 200 if self.is_healthy else 503

    def text(self, *, verbose: bool = False) -> str:
        """What went wrong is in the log; callers see the names only."""
        if self.is_healthy and not verbose:
            return "ok"
        lines = [f"[+]{name} ok" if passed else f"[-]{name} failed: reason withheld" for name, passed in self.checks]
        return "\n".join([*lines, f"{self.probe} check {'passed' if self.is_healthy else 'failed'}", ""])


class Probes:
    """The named checks of a process, each bounded by ``seconds``.

    A check of the process itself (``of_process=True``) decides over restarting it (``livez``); every check decides over sending it work
    (``readyz``, ``healthz``), so a database that is away makes a process unready, never dead.
    """

    def __init__(self, seconds: float = 2.0) -> None:
        self._seconds = seconds
        self._checks: dict[str, tuple[Check, bool]] = {}

    def add(self, name: str, check: Check, *, of_process: bool = False) -> None:
        self._checks[name] = (check, of_process)

    async def live(self) -> ProbeReport:
        return await self._report("livez", [name for name, (_, of_process) in self._checks.items() if of_process])

    async def ready(self, probe: str = "readyz") -> ProbeReport:
        return await self._report(probe, list(self._checks))

    async def passes(self, name: str) -> bool:
        """Runs one check. Raises KeyError for an unknown name."""
        check, _ = self._checks[name]
        try:
            async with asyncio.timeout(self._seconds):
                await check()
        except Exception as error:  # noqa: BLE001 - whatever a check raises, that is its answer
            log.warning("check_failed", check=name, error=repr(error))
            return False
        return True

    async def _report(self, probe: str, names: list[str]) -> ProbeReport:
        passed = await asyncio.gather(*(self.passes(name) for name in names))
        return ProbeReport(probe, (("ping", True), *zip(names, passed, strict=True)))


class ProbeServer:
    """Answers the probes and ``/metrics`` for a process that has no gateway of its own."""

    def __init__(self, probes: Probes) -> None:
        self._probes = probes
        self._runner = web.ServerRunner(web.Server(self._answer, access_log=None), shutdown_timeout=1.0)

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Begins to serve and returns the port. Raises OSError where the address cannot be bound."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        return site.port

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, text="Use GET\n", headers={"Allow": "GET, HEAD"})
        match request.path.rstrip("/"):
            case "/livez":
                report = await self._probes.live()
            case "/readyz":
                report = await self._probes.ready()
            case "/healthz":
                report = await self._probes.ready("healthz")
            case "/metrics":
                return web.Response(body=metrics.exposition(), headers={"Content-Type": metrics.CONTENT_TYPE})
            case _:
                return web.Response(status=404, text="Here are /livez, /readyz, /healthz and /metrics\n")
        return web.Response(status=report.status, text=report.text(verbose="verbose" in request.query))

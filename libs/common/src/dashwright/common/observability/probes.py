"""HTTP probes of a process: ``/livez``, ``/readyz`` and ``/healthz``.

The response is that of the Kubernetes API server: ``ok``, or with ``verbose`` a line for each check.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import structlog
from aiohttp import web

from dashwright.common.observability import metrics

log = structlog.get_logger()

#: Function that raises an exception if the check fails.
Check: TypeAlias = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """Result of a probe. ``checks`` has the name of each check and whether it passed."""

    probe: str
    checks: tuple[tuple[str, bool], ...]

    @property
    def is_healthy(self) -> bool:
        """True if all checks passed."""
        return all(passed for _, passed in self.checks)

    @property
    def status(self) -> int:
        """HTTP status of the response."""
        return 200 if self.is_healthy else 503

    def body(self, *, verbose: bool = False) -> str:
        """Return the body of the response. Clients see only the names of failed checks; the reasons are in the log."""
        if self.is_healthy and not verbose:
            return "ok"
        check_lines = [f"[+]{name} ok" if passed else f"[-]{name} failed: reason withheld" for name, passed in self.checks]
        return "\n".join([*check_lines, f"{self.probe} check {'passed' if self.is_healthy else 'failed'}", ""])


class _NamedCheck(NamedTuple):
    """Check with its effect on the probes."""

    check: Check
    is_liveness: bool  #: True if a failure means that the process must be restarted.


class Probes:
    """Named checks of a process. Each check has ``timeout_seconds``.

    Checks with ``is_liveness`` determine whether the process must be restarted (``livez``). All checks determine whether it
    can receive work (``readyz``, ``healthz``). An unreachable database therefore makes a process unready but not dead.
    """

    def __init__(self, timeout_seconds: float = 2.0) -> None:
        self._timeout_seconds = timeout_seconds
        self._checks: dict[str, _NamedCheck] = {}

    def add(self, name: str, check: Check, *, is_liveness: bool = False) -> None:
        """Add a check."""
        self._checks[name] = _NamedCheck(check, is_liveness)

    async def check_liveness(self) -> ProbeReport:
        """Run the liveness checks and return their report."""
        return await self._report("livez", [name for name, named_check in self._checks.items() if named_check.is_liveness])

    async def check_readiness(self, probe: str = "readyz") -> ProbeReport:
        """Run all checks and return their report."""
        return await self._report(probe, list(self._checks))

    async def passes(self, name: str) -> bool:
        """Run one check and return whether it passed. Raises KeyError for an unknown name."""
        check = self._checks[name].check
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await check()
        except Exception as error:  # noqa: BLE001 - any exception means that the check failed
            log.warning("check_failed", check=name, error=repr(error))
            return False
        return True

    async def _report(self, probe: str, names: list[str]) -> ProbeReport:
        """Run checks concurrently, and return their report."""
        passed = await asyncio.gather(*(self.passes(name) for name in names))
        # As in Kubernetes, "ping" passes whenever the process responds.
        return ProbeReport(probe, (("ping", True), *zip(names, passed, strict=True)))


class ProbeServer:
    """Server of the probes and ``/metrics`` for a process without a gateway."""

    def __init__(self, probes: Probes) -> None:
        self._probes = probes
        self._runner = web.ServerRunner(web.Server(self._respond, access_log=None), shutdown_timeout=1.0)

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Start serving and return the port. Raises OSError if the address cannot be bound."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        return site.port

    async def stop(self) -> None:
        """Stop serving."""
        await self._runner.cleanup()

    async def _respond(self, request: web.BaseRequest) -> web.Response:
        """Respond to a request for a probe or for the metrics."""
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, text="Use GET\n", headers={"Allow": "GET, HEAD"})
        match request.path.rstrip("/"):
            case "/livez":
                report = await self._probes.check_liveness()
            case "/readyz":
                report = await self._probes.check_readiness()
            case "/healthz":
                report = await self._probes.check_readiness("healthz")
            case "/metrics":
                return web.Response(body=metrics.exposition(), headers={"Content-Type": metrics.CONTENT_TYPE})
            case _:
                return web.Response(status=404, text="Here are /livez, /readyz, /healthz and /metrics\n")
        return web.Response(status=report.status, text=report.body(verbose="verbose" in request.query))

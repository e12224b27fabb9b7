"""``python -m tests.clients [GROUP …]``: runs a client's own tests against a gateway of their own (``make test-clients``)."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.acceptance.processes import Service
from tests.clients import archive, environment, suite, verdict
from tests.clients.missing import Missing

_HERE = Path(__file__).parent
_EXCEPTIONS = _HERE / "expected_failures.toml"
_LISTENING = "listening"
_GROUP_SECONDS = 900.0
_TEST_SECONDS = 60


@asynccontextmanager
async def _gateway(folder: Path) -> AsyncIterator[Service]:
    """The whole system on an empty data folder, listening. Its log is left in ``folder``."""
    settings = {
        "DATA_DIR": str(folder / "data"),
        "HTTP_HOST": "127.0.0.1",
        "HTTP_PORT": "0",
        "ADMIN_USER": "admin",
        "ADMIN_PASSWORD": "admin",
        "REPORTED_VERSION": suite.REPORTED_VERSION,
    }
    service = Service("dashwright", settings, "serve")
    try:
        await service.start(until=_LISTENING)
        yield service
    finally:
        if service.runs:
            await service.stop()
        (folder / "gateway.log").write_text("\n".join(service.lines))


async def _run(python: Path, tests: Path, file: str, target: str, report: Path) -> str:
    """Runs the tests of one file in the suite's own environment. Answers what pytest said; ``report`` is JUnit's XML."""
    strange = ("DASHWRIGHT_", "GRAFANA_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    settings = {"DASHWRIGHT_TEST_TARGET": target, "PYTHONPATH": str(_HERE / "plugin"), "PYTHONDONTWRITEBYTECODE": "1"}
    plain = ["-p", "grafana_target", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "log_cli=false", "-o", "junit_family=xunit1"]
    options = ["-m", "integration", "--quiet", "--tb=short", f"--timeout={_TEST_SECONDS}", f"--junitxml={report}"]
    left_out = [f"--deselect={test}" for test in suite.UNCLAIMED]
    process = await asyncio.create_subprocess_exec(
        *(str(python), "-m", "pytest", *plain, *options, *left_out, file),
        cwd=tests,
        env=kept | settings,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(_GROUP_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"{file} took longer than {_GROUP_SECONDS:g} s and was ended"
    return said.decode(errors="replace")


def _suspects(gateway: Service, before: int) -> list[str]:
    """The calls since position ``before`` of the gateway's log that no route took, or that failed: most faults are one of these."""
    answered = gateway.logged("request_answered", after=before)
    unserved = {f"not served: {event['method']} {event['path']}" for event in answered if event["route"] == "unmatched"}
    broken = {f"answered {event['status']}: {event['method']} {event['path']}" for event in answered if event["status"] >= 500}
    return sorted(unserved | broken)


async def _judge_all(groups: Sequence[str], folder: Path, python: Path, tests: Path) -> int:
    """Runs the groups one after another; answers the number of complaints."""
    exceptions = verdict.read_exceptions(_EXCEPTIONS.read_text())
    complaints = 0
    async with _gateway(folder) as gateway:
        target = urlsplit(gateway.logged(_LISTENING)[0]["address"]).netloc
        for group in groups:
            before = len(gateway.events)
            file, report = suite.GROUPS[group], folder / f"{group}.xml"
            said = await _run(python, tests, file, target, report)
            (report.with_suffix(".txt")).write_text(said)
            results = verdict.read_results(report.read_text()) if report.exists() else []
            faults = verdict.judge(file, results, exceptions)
            counted = Counter(str(result.outcome) for result in results)
            told = ", ".join(f"{counted[outcome]} {outcome}" for outcome in verdict.Outcome if counted[outcome]) or said.strip()[-2000:]
            print(f"{'as expected' if not faults else 'NOT AS EXPECTED':15} {group}: {told}", flush=True)
            for line in [*faults, *(_suspects(gateway, before) if faults else ())]:
                print(f"    {line}", flush=True)
            complaints += len(faults)
    return complaints


def main(arguments: Sequence[str]) -> int:
    """0 where everything is as expected, 1 where it is not, 2 where something from outside is missing or a group is unknown."""
    groups = arguments or list(suite.GROUPS)
    if unknown := [group for group in groups if group not in suite.GROUPS]:
        print(f"no group {', '.join(unknown)}; there are: {', '.join(suite.GROUPS)}", file=sys.stderr)
        return 2
    # The database's own user must reach it where this runs as root.
    folder = Path(tempfile.mkdtemp(prefix="dashwright-clients-"))
    folder.chmod(0o711)
    try:
        complaints = asyncio.run(_judge_all(groups, folder, environment.python(), archive.unpack(folder)))
    except Missing as error:
        print(f"test-clients: {error}", file=sys.stderr)
        complaints, status = 0, 2
    except AssertionError as error:  # how a service that does not come up is told
        print(f"test-clients: {error}", file=sys.stderr)
        complaints, status = 1, 1
    else:
        status = min(complaints, 1)
    if complaints:
        shutil.rmtree(folder / "data", ignore_errors=True)
        print(f"{complaints} not as expected; what was said and logged lies in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

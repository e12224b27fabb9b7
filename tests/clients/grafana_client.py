"""Runs of grafana-client's own tests, each group against a gateway that reports the version that the group needs."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

from tests.acceptance.processes import Service
from tests.clients import archive, environment, gateway, prometheus, pytest_runs, suite
from tests.clients.group_report import GroupRun

LOCK = "clients"

_PLUGINS = Path(__file__).parent / "plugin"


async def run(groups: Sequence[str], folder: Path) -> AsyncIterator[GroupRun]:
    """Run the groups in sequence; groups of the same version share a gateway. Raises DependencyMissing."""
    python, tests = environment.python(LOCK), archive.unpack(folder)
    async with AsyncExitStack() as stack:
        prometheus_url = await prometheus.url(stack)
        for version in sorted({suite.GROUPS[group].reported for group in groups}, reverse=True):
            path = folder / version
            path.mkdir(mode=0o711)
            async with gateway.serving(path, REPORTED_VERSION=version) as service:
                for group in groups:
                    if suite.GROUPS[group].reported == version:
                        yield await _group_run(service, group, path, python, tests, prometheus_url)


async def _group_run(service: Service, group: str, path: Path, python: Path, tests: Path, prometheus_url: str) -> GroupRun:
    """Run one group against a gateway."""
    group_definition, log_position, report = suite.GROUPS[group], len(service.events), path / f"{group}.xml"
    options = ["-p", "grafana_target", "-m", "integration", *(f"--deselect={test}" for test in suite.deselected(group_definition))]
    settings = {"DASHWRIGHT_TEST_TARGET": urlsplit(gateway.address(service)).netloc, "PYTHONPATH": str(_PLUGINS)}
    settings["DASHWRIGHT_TEST_PROMETHEUS"] = prometheus_url
    output = await pytest_runs.run(python, tests, group_definition.nodes, options, settings, report)
    return GroupRun(group, " ".join(group_definition.nodes), output, report, gateway.suspicious_calls(service, log_position))

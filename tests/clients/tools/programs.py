"""Runs of the cases of each tool, against a gateway of its own and with the token of a service account."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.acceptance.processes import Service
from tests.clients import environment, gateway, prometheus, pytest_runs, service_account
from tests.clients.group_report import GroupRun
from tests.clients.tools import npm_packages
from tests.servers import git


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool with its cases."""

    #: File in the folder ``cases``.
    file: str
    #: Requirements of its environment, without the suffix.
    lock: str = "tool-clients"
    #: True if the cases run programs of Node.js.
    needs_node: bool = False
    #: Plugin of pytest in the folder ``plugin``, or empty.
    plugin: str = ""
    #: True if the cases use a repository on a git server.
    needs_git: bool = False
    #: True if the cases use a Prometheus.
    needs_prometheus: bool = False


GROUPS: Final[Mapping[str, Tool]] = {
    "mcp-grafana": Tool("mcp_grafana_cases.py", plugin="mcp_grafana_server", needs_git=True, needs_prometheus=True),
    "foundation-sdk": Tool("foundation_sdk_cases.py"),
    "foundation-sdk-typescript": Tool("foundation_sdk_typescript_cases.py", needs_node=True),
    "grafana-wtf": Tool("grafana_wtf_cases.py"),
    "grafana-backup": Tool("grafana_backup_cases.py", "backup-clients"),
    "ansible": Tool("ansible_cases.py", "ansible-clients"),
}

_CASES: Final = Path(__file__).parent / "cases"
_PLUGINS: Final = Path(__file__).parent / "plugin"
_REPOSITORY: Final = "team.git"


async def run(groups: Sequence[str], folder: Path) -> AsyncIterator[GroupRun]:
    """Run the groups in sequence. Raises DependencyMissing."""
    pythons = {lock: environment.python(lock) for lock in sorted({GROUPS[group].lock for group in groups})}
    for group in groups:
        path = folder / group
        path.mkdir(mode=0o711)
        async with AsyncExitStack() as stack:
            settings = {}
            if GROUPS[group].needs_git:
                settings = await _git_settings(stack, path)
            if GROUPS[group].needs_node:
                settings["DASHWRIGHT_TEST_NODE"] = str(npm_packages.install())
            if GROUPS[group].needs_prometheus:
                settings["DASHWRIGHT_TEST_PROMETHEUS"] = await prometheus.url(stack)
            service = await stack.enter_async_context(gateway.serving(path, ALLOWED_HOSTS="127.0.0.1"))
            yield await _group_run(service, group, path, pythons[GROUPS[group].lock], settings)


async def _git_settings(stack: AsyncExitStack, path: Path) -> dict[str, str]:
    """Start a git server with an empty repository; return the environment variables that name the repository."""
    root = path / "git"
    root.mkdir()
    server = await stack.enter_async_context(git.serving(root))
    server.create_repository(_REPOSITORY).commit({"README.md": "Dashboards"})
    return {"DASHWRIGHT_TEST_GIT": server.url(_REPOSITORY), "DASHWRIGHT_TEST_GIT_DIR": str(root / _REPOSITORY)}


async def _group_run(service: Service, group: str, path: Path, python: Path, settings: Mapping[str, str]) -> GroupRun:
    """Run the cases of one tool against a gateway."""
    tool, log_position, report = GROUPS[group], len(service.events), path / f"{group}.xml"
    address = gateway.address(service)
    variables = {
        **settings,
        "DASHWRIGHT_TEST_TARGET": address,
        "DASHWRIGHT_TEST_TOKEN": await service_account.token(address),
        "DASHWRIGHT_TEST_PROGRAMS": str(python.parent),
        "HOME": str(path),
        "PYTHONPATH": str(_PLUGINS),
    }
    options = [*(["-p", tool.plugin] if tool.plugin else []), *pytest_runs.case_options(_CASES)]
    output = await pytest_runs.run(python, _CASES, [tool.file], options, variables, report)
    return GroupRun(group, tool.file, output, report, gateway.suspicious_calls(service, log_position))

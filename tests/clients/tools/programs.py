"""Runs of the cases of tools against one gateway, each with the credentials of a service account."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.acceptance.processes import Service
from tests.clients import environment, gateway, pytest_runs, service_account
from tests.clients.group_report import GroupRun
from tests.clients.tools import npm_packages


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool with its cases."""

    #: File in the folder ``cases``.
    file: str
    #: Requirements of its environment, without the suffix.
    lock: str = "tool-clients"
    #: True if the cases run programs of Node.js.
    needs_node: bool = False


GROUPS: Final[Mapping[str, Tool]] = {
    "mcp-grafana": Tool("mcp_grafana_cases.py"),
    "foundation-sdk": Tool("foundation_sdk_cases.py"),
    "foundation-sdk-typescript": Tool("foundation_sdk_typescript_cases.py", needs_node=True),
    "grafana-wtf": Tool("grafana_wtf_cases.py"),
    "grafana-backup": Tool("grafana_backup_cases.py", "backup-clients"),
}

_CASES: Final = Path(__file__).parent / "cases"


async def run(groups: Sequence[str], folder: Path) -> AsyncIterator[GroupRun]:
    """Run the groups in sequence. Raises Missing."""
    pythons = {lock: environment.python(lock) for lock in sorted({GROUPS[group].lock for group in groups})}
    for group in groups:
        place = folder / group
        repositories = place / "repositories"
        repositories.mkdir(mode=0o755, parents=True)
        place.chmod(0o711)
        async with gateway.serving(place, PERMITTED_PATHS=str(repositories)) as service:
            yield await _group_run(service, group, place, pythons[GROUPS[group].lock], repositories)


async def _group_run(service: Service, group: str, place: Path, python: Path, repositories: Path) -> GroupRun:
    tool, before, report = GROUPS[group], len(service.events), place / f"{group}.xml"
    address = gateway.address(service)
    settings = {
        "DASHWRIGHT_TEST_TARGET": address,
        "DASHWRIGHT_TEST_TOKEN": await service_account.token(address),
        "DASHWRIGHT_TEST_REPOSITORIES": str(repositories),
        "DASHWRIGHT_TEST_PROGRAMS": str(python.parent),
        "HOME": str(place),
    }
    if tool.needs_node:
        settings["DASHWRIGHT_TEST_NODE"] = str(npm_packages.install())
    output = await pytest_runs.run(python, _CASES, [tool.file], pytest_runs.case_options(_CASES), settings, report)
    return GroupRun(group, tool.file, output, report, gateway.suspects(service, before))

"""Runs of the cases of Kubernetes clients against one gateway with TLS, without which they send no credentials."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.acceptance.processes import Service
from tests.clients import environment, gateway, pytest_runs
from tests.clients.group_report import GroupRun
from tests.clients.kubernetes import access, kubectl

LOCK: Final = "kubernetes-clients"
KUBECTL: Final = "kubectl"

#: Clients and the files of their cases in the folder ``cases``.
GROUPS: Final[Mapping[str, str]] = {
    KUBECTL: "kubectl_cases.py",
    "kubernetes": "kubernetes_cases.py",
    "kr8s": "kr8s_cases.py",
    "lightkube": "lightkube_cases.py",
}

_CASES: Final = Path(__file__).parent / "cases"
_PLUGINS: Final = Path(__file__).parent / "plugin"


async def run(groups: Sequence[str], folder: Path) -> AsyncIterator[GroupRun]:
    """Run the groups in sequence. Raises DependencyMissing."""
    python = environment.python(LOCK)
    program = kubectl.program() if KUBECTL in groups else None
    path = folder / "kubernetes"
    path.mkdir(mode=0o711)
    async with gateway.serving(path, TLS="self-signed") as service:
        settings = await access.prepare(service, path) | ({kubectl.PATH_VARIABLE: str(program)} if program else {})
        for group in groups:
            yield await _group_run(service, group, path, python, settings)


async def _group_run(service: Service, group: str, path: Path, python: Path, settings: Mapping[str, str]) -> GroupRun:
    """Run the cases of one client, with a home directory of its own."""
    log_position, report, file = len(service.events), path / f"{group}.xml", GROUPS[group]
    home = path / f"home-{group}"
    home.mkdir()
    options = ["-p", "served_versions", *pytest_runs.case_options(_CASES)]
    output = await pytest_runs.run(python, _CASES, [file], options, {**settings, "HOME": str(home), "PYTHONPATH": str(_PLUGINS)}, report)
    return GroupRun(group, file, output, report, gateway.suspicious_calls(service, log_position))

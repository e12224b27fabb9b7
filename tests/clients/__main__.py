"""``python -m tests.clients [GROUP …]``: tests clients with a gateway of their own (``make test-clients``)."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.clients import expectations, grafana_client, group_report, suite
from tests.clients.dependency_missing import DependencyMissing
from tests.clients.kubernetes import programs
from tests.clients.tools import programs as tools

_EXCEPTIONS = Path(__file__).parent / "expected_failures.toml"


async def _judge_all(groups: Sequence[str], folder: Path) -> int:
    """Run the groups in sequence and return the number of complaints."""
    exceptions = expectations.read_expectations(_EXCEPTIONS.read_text())
    complaints = 0
    for runs, known_groups in ((programs.run, programs.GROUPS), (tools.run, tools.GROUPS), (grafana_client.run, suite.GROUPS)):
        if chosen := [group for group in groups if group in known_groups]:
            async for group_run in runs(chosen, folder):
                complaints += group_report.print_report(group_run, exceptions)
    return complaints


def main(arguments: Sequence[str]) -> int:
    """Return 0 if everything is as expected, 1 if it is not, and 2 if a dependency is missing or a group is unknown."""
    known_groups = [*programs.GROUPS, *tools.GROUPS, *suite.GROUPS]
    groups = arguments or known_groups
    if unknown := [group for group in groups if group not in known_groups]:
        print(f"unknown groups {', '.join(unknown)}; known: {', '.join(known_groups)}", file=sys.stderr)
        return 2
    # The database's user must be able to enter the folder when this runs as root.
    folder = Path(tempfile.mkdtemp(prefix="dashwright-clients-"))
    folder.chmod(0o711)
    try:
        complaints = asyncio.run(_judge_all(groups, folder))
    except DependencyMissing as error:
        print(f"test-clients: {error}", file=sys.stderr)
        complaints, status = 0, 2
    except AssertionError as error:  # raised if a service does not start
        print(f"test-clients: {error}", file=sys.stderr)
        complaints, status = 1, 1
    else:
        status = min(complaints, 1)
    if complaints:
        for data in folder.glob("*/data"):
            shutil.rmtree(data, ignore_errors=True)
        print(f"{complaints} not as expected; the output and the logs are in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

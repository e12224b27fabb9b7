"""A random walk of faults under load: nothing that was accepted is lost, doubled or stuck, and no watcher misses a change."""

import os
import secrets
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.faults.faults import FaultTargets
from tests.faults.system import System
from tests.faults.walk import COMPLETE_MINUTES, Walk
from tests.proxies.tcp_proxy import TcpProxy
from tests.servers import databases, postgres, rabbitmq

#: Duration of the walk, without its start and its audit.
MINUTES = float(os.environ.get("FAULT_MINUTES", "10"))
#: Number that decides which faults are injected in which order. The report has it, so that a walk can be repeated.
SEED = int(os.environ.get("FAULT_SEED") or secrets.randbelow(1_000_000))
REPORT_FOLDER = Path(os.environ.get("FAULT_REPORT", "fault-report"))

_AUDIT_SECONDS = 1200


@pytest.mark.faults
@pytest.mark.timeout(MINUTES * 60 + _AUDIT_SECONDS)
async def test_a_random_walk_of_faults_loses_and_doubles_nothing(
    private_postgres: postgres.PrivatePostgres, private_rabbitmq: rabbitmq.PrivateRabbitmq, tmp_path: Path
) -> None:
    """Two processes of each service work on while they, their servers and the network fail; the report has no finding."""
    database_url = await databases.create_migrated(private_postgres.dsn)
    async with AsyncExitStack() as exit_stack:
        standby_database = await exit_stack.enter_async_context(TcpProxy(database_url))
        standby_broker = await exit_stack.enter_async_context(TcpProxy(private_rabbitmq.url))
        system = System(database_url, private_rabbitmq.url, tmp_path, sizes=(2, 2, 2), has_clocks=True)
        await exit_stack.enter_async_context(system)
        targets = FaultTargets(system, private_postgres, private_rabbitmq, standby_database, standby_broker)
        report = await Walk(targets, seed=SEED, minutes=MINUTES).run()
    report.write(REPORT_FOLDER)
    print(report.text())
    assert not report.findings
    if MINUTES >= COMPLETE_MINUTES:
        assert not report.missed_points

"""The examples of ``examples/queue`` in JavaScript and as a shell script. ``tests/acceptance`` runs the one in Python."""

import asyncio
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from tests.acceptance import dashboard_files
from tests.acceptance.client import Client
from tests.acceptance.processes import Stack
from tests.oracles.queue import node_packages
from tests.servers import keeper

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.oracles]

_EXAMPLES: Final = Path(__file__).parents[3] / "examples/queue"


async def make_repository(shared_stack: Stack, user: Client, name: str) -> None:
    """Create a repository with a dashboard, both with the given name."""
    dashboard_files.write(shared_stack.repositories / name / f"{name}.json", dashboard_files.classic(name, name))
    await user.create_repository(name, name)


async def check_job(user: Client, output: str, repository: str) -> None:
    """Raise AssertionError unless the output of an example is a pending job, which then succeeds."""
    job: Any = json.loads(output)
    assert job["kind"] == "Job"
    assert job["spec"]["repository"] == repository
    assert job["status"] == {"state": "pending"}
    assert (await user.wait_for_job(job))["status"]["state"] == "success"


async def test_the_javascript_example_prints_the_pending_job(shared_stack: Stack, user: Client) -> None:
    """examples/queue/submit.mjs prints the pending job of the given repository."""
    await make_repository(shared_stack, user, "javascript")
    packages = await asyncio.to_thread(node_packages.install_packages, _EXAMPLES)
    output = await asyncio.to_thread(node_packages.run, packages, _EXAMPLES / "submit.mjs", shared_stack.amqp_url, "javascript")
    await check_job(user, output, "javascript")


async def test_the_javascript_example_fails_without_the_exchange(shared_stack: Stack) -> None:
    """examples/queue/submit.mjs ends with an error at a broker to which Dashwright is not connected."""
    packages = await asyncio.to_thread(node_packages.install_packages, _EXAMPLES)
    # The URL without its path leads to the default virtual host, in which no service has declared the exchange.
    url_without_path, _, _ = shared_stack.amqp_url.rpartition("/")
    with pytest.raises(subprocess.CalledProcessError) as failed:
        await asyncio.to_thread(node_packages.run, packages, _EXAMPLES / "submit.mjs", url_without_path, "javascript")
    assert "dashwright.jobs" in failed.value.stderr


async def test_the_shell_example_prints_the_pending_job(
    shared_stack: Stack, user: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """examples/queue/submit.sh prints the pending job of the given repository."""
    await make_repository(shared_stack, user, "shell")
    management = keeper.request_server("rabbitmq")["management_url"]
    if shutil.which("rabbitmqadmin") is None:
        await asyncio.to_thread(_download_rabbitmqadmin, management, tmp_path / "rabbitmqadmin")
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    parts = urlsplit(management)
    options = [
        f"--host={parts.hostname}",
        f"--port={parts.port}",
        f"--vhost={urlsplit(shared_stack.amqp_url).path[1:]}",
        f"--username={parts.username}",
        f"--password={parts.password}",
    ]
    output = await asyncio.to_thread(_output_of, [_EXAMPLES / "submit.sh", "shell", *options])
    await check_job(user, output, "shell")


def _output_of(command: Sequence[str | Path]) -> str:
    """Run a command and return its output. Raises CalledProcessError if it fails."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def _download_rabbitmqadmin(management: str, path: Path) -> None:
    """Store the program that the management plugin offers."""
    parts = urlsplit(management)
    with urllib.request.urlopen(f"http://{parts.hostname}:{parts.port}/cli/rabbitmqadmin", timeout=30) as response:
        path.write_bytes(response.read())
    path.chmod(0o755)

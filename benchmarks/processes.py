"""Processes of services and reference programs, with their memory and processor time.

Services log to files. Tests read the log of a service through a pipe, which would slow down what is measured in this process.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.acceptance.processes import Stack


@dataclass(frozen=True, slots=True)
class LaunchedService:
    """A service process that is serving."""

    name: str
    pid: int
    #: The URL of a gateway, or the name of a service that serves no HTTP.
    address: str


async def start_service(exit_stack: AsyncExitStack, stack: Stack, name: str, folder: Path) -> str:
    """Start a service with the settings of a stack, and return its URL, or its name if it serves no HTTP.

    The process ends with ``exit_stack``, as do those of the other functions of this module.
    """
    return (await launch_service(exit_stack, stack, name, folder / f"{name}.log")).address


async def launch_service(exit_stack: AsyncExitStack, stack: Stack, name: str, log: Path) -> LaunchedService:
    """Start a service with the settings of a stack, and return the process when it is serving. Its output is written to ``log``."""
    settings = {f"DASHWRIGHT_{name}": value for name, value in stack.settings.items()} | {"DASHWRIGHT_LOG_FORMAT": "json"}
    pid = await start(exit_stack, log, str(Path(sys.executable).with_name(name)), environment=settings)
    address = await wait_for_line(log, lambda line: str(json.loads(line).get("address", name)) if '"serving"' in line else "")
    return LaunchedService(name, pid, address)


async def start(exit_stack: AsyncExitStack, log: Path, *command: str, environment: Mapping[str, str] | None = None) -> int:
    """Start a process that writes its output into ``log``, and return its process id. ``environment`` has additional variables."""
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **(environment or {})}, stdout=output, stderr=output)
    exit_stack.push_async_callback(process.wait)
    exit_stack.callback(process.terminate)
    return process.pid


async def start_module(exit_stack: AsyncExitStack, module: str, *arguments: str) -> str:
    """Start a module as a process, and return the line that it prints when it is ready."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE)
    exit_stack.push_async_callback(process.wait)
    exit_stack.callback(process.terminate)
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode().strip()
    if not line:
        raise AssertionError(f"{module} ended before it was ready")
    return line


async def wait_for_line(log: Path, parse: Callable[[str], str]) -> str:
    """Return the first value that ``parse`` returns for a line of a log, once it is written.

    ``parse`` returns an empty string for other lines.
    """
    async with asyncio.timeout(60):
        while True:
            if value := _first_value(log, parse):
                return value
            await asyncio.sleep(0.05)


def resident_memory(pid: int) -> float:
    """Return the resident memory of a process in MB, without that of its child processes."""
    return _memory(pid, "VmRSS")


def peak_memory(pid: int) -> float:
    """Return the largest resident memory that a process has had, in MB, without that of its child processes."""
    return _memory(pid, "VmHWM")


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of its ended child processes."""
    # The fields after the name of the program in parentheses; 11 to 14 are utime, stime, cutime and cstime.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int, field: str) -> float:
    """Return a field of the kernel's status of a process in MB."""
    match = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert match is not None
    return int(match[1]) * 1024 / 1e6


def _first_value(log: Path, parse: Callable[[str], str]) -> str:
    """Return the first value that ``parse`` returns for a complete line of a log, or an empty string."""
    # The last line may be incomplete.
    lines = [line for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return next((value for line in lines if (value := parse(line))), "")

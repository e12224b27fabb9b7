"""Processes whose output is a file: reading each line in the benchmark's process, as tests do, would be measured as their time."""

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


async def start_service(opened: AsyncExitStack, stack: Stack, name: str, folder: Path) -> str:
    """Start a service with the settings of a stack, and return its address, or its name if it serves no HTTP."""
    return (await launch_service(opened, stack, name, folder / f"{name}.log")).address


async def launch_service(opened: AsyncExitStack, stack: Stack, name: str, log: Path) -> LaunchedService:
    """Start a service with the settings of a stack and a log file of its own, and return the process when it is serving."""
    settings = {f"DASHWRIGHT_{name}": value for name, value in stack.settings.items()} | {"DASHWRIGHT_LOG_FORMAT": "json"}
    pid = await start(opened, log, str(Path(sys.executable).with_name(name)), environment=settings)
    address = await read_line(log, lambda line: str(json.loads(line).get("address", name)) if '"serving"' in line else "")
    return LaunchedService(name, pid, address)


async def start(opened: AsyncExitStack, log: Path, *command: str, environment: Mapping[str, str] | None = None) -> int:
    """Start a process that writes its output into a file; it ends with ``opened``. Return its process id.

    ``environment`` has additional variables.
    """
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **(environment or {})}, stdout=output, stderr=output)
    opened.push_async_callback(process.wait)
    opened.callback(process.terminate)
    return process.pid


async def start_module(opened: AsyncExitStack, module: str, *arguments: str) -> str:
    """Start a module as a process that ends with ``opened``. Return the line that it prints when it is ready."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE)
    opened.push_async_callback(process.wait)
    opened.callback(process.terminate)
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode().strip()
    if not line:
        raise AssertionError(f"{module} ended before it was ready")
    return line


async def read_line(log: Path, read: Callable[[str], str]) -> str:
    """Return the first value that ``read`` finds in a line, waiting for it. ``read`` returns an empty string for other lines."""
    async with asyncio.timeout(60):
        while True:
            if found := _first(log, read):
                return found
            await asyncio.sleep(0.05)


def resident_memory(pid: int) -> float:
    """Return the current memory of a process in MB, without that of its child processes."""
    return _memory(pid, "VmRSS")


def peak_memory(pid: int) -> float:
    """Return the largest memory that a process has had, in MB, without that of its child processes."""
    return _memory(pid, "VmHWM")


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of its ended child processes."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int, field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024 / 1e6


def _first(log: Path, read: Callable[[str], str]) -> str:
    lines = log.read_text().splitlines(keepends=True)
    return next((value for line in lines if line.endswith("\n") and (value := read(line))), "")

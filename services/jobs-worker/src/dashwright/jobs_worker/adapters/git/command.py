"""The git program, run so that neither this machine's configuration nor a repository's changes its behaviour."""

import asyncio
import os
import re
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.adapters.git.trace import open_trace

_OLDEST: Final = (2, 37)
"""The first version that connects to a given address of a host."""

_MOST_STDERR: Final = 16 * 1024
_NOT_FOUND: Final = 127
_MOST_STDOUT: Final = 8 * 1024 * 1024
_BOUNDED: Final = f'ulimit -v {2 * 1024 * 1024} && exec git "$@"'
"""Limits memory to 2 GiB: a pack from a host may unpack to any size."""

_PATIENCE: Final = 5.0  # seconds between asking the program to end and ending it

_ALWAYS: Final[Mapping[str, str]] = {
    "core.bigFileThreshold": "64m",
    "core.hooksPath": "/dev/null",
    # The mapped part of a large pack has to fit into the memory limit of the program.
    "core.packedGitLimit": "512m",
    "core.packedGitWindowSize": "32m",
    "core.fsmonitor": "false",
    "credential.helper": "",
    # After a rewritten history the negotiation takes one request, whatever its length.
    "fetch.negotiationAlgorithm": "skipping",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "http.followRedirects": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "safe.directory": "*",
    "submodule.recurse": "false",
}


class GitFailed(Exception):
    """The program ended with a ``status`` other than 0; ``stdout`` and ``stderr`` are its output.

    ``retry_after`` is the pause in seconds that the host asks for, None if it does not.
    """

    def __init__(self, status: int, stdout: str, stderr: str, retry_after: float | None = None) -> None:
        super().__init__(f"git ended with {status}")
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.retry_after = retry_after


async def run(arguments: Sequence[str], *, folder: Path, settings: Mapping[str, str], seconds: float) -> bytes:
    """Run git and return at most 8 MiB of its output. ``settings`` are configuration of this run; they do not appear in process lists.

    Raises GitFailed, and SourceFailed if git is not installed or takes longer than ``seconds``. When cancelled or late, git and everything
    it started is ended.
    """
    with open_trace() as trace:
        process = await _start(arguments, folder, {**_environment({**_ALWAYS, **settings}, folder), **trace.environment}, trace.writing)
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(seconds):
                stdout, stderr, _ = await asyncio.gather(
                    _read(process.stdout, _MOST_STDOUT), _read(process.stderr, _MOST_STDERR), trace.read()
                )
                status = await process.wait()
        except TimeoutError as error:
            raise SourceFailed(f"the git host did not respond within {seconds:.0f} s") from error
        finally:
            await _end(process)
    if status == _NOT_FOUND:
        raise SourceFailed("there is no git program here; install git where the jobs worker runs")
    if status != 0:
        raise GitFailed(status, stdout.decode(errors="replace"), stderr.decode(errors="replace"), trace.retry_after)
    return stdout


class Program:
    """The installed git program. Its version is checked until it is recent enough, and then no more."""

    def __init__(self) -> None:
        self._is_recent = False

    async def require(self, folder: Path) -> None:
        """Raise SourceFailed if git is missing, or too old to connect to a given address."""
        if self._is_recent:
            return
        stderr = (await run(["version"], folder=folder, settings={}, seconds=10)).decode(errors="replace").strip()[:60]
        match = re.search(r"(\d+)\.(\d+)", stderr)
        if match is None or (int(match[1]), int(match[2])) < _OLDEST:
            raise SourceFailed(f"git {'.'.join(map(str, _OLDEST))} or newer is needed where the jobs worker runs; there is {stderr!r}")
        self._is_recent = True


async def _start(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], inherited: int) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *("sh", "-c", _BOUNDED, "git"),
            *arguments,
            cwd=folder,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=[inherited],
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise SourceFailed("there is no shell here to run git with") from error


def _environment(settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return an environment made from nothing, so that no configuration of the machine, its users or its administrator is read."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        # Git must not find a repository above the folder: its configuration would apply.
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for index, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
    return environment


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    """Read a stream to its end and return its first ``most`` bytes."""
    kept = bytearray()
    while piece := await stream.read(64 * 1024):
        kept += piece[: most - len(kept)]
    return bytes(kept)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the program and everything it started: the helpers that talk to the host are separate processes and may end later."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()

"""The git program, run so that nothing of this machine or of a repository changes what it does."""

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
"""The first that can be told which address a host has."""

_SAID: Final = 16 * 1024
_NOT_FOUND: Final = 127
_ANSWER: Final = 8 * 1024 * 1024
_BOUNDED: Final = f'ulimit -v {2 * 1024 * 1024} && exec git "$@"'
"""With 2 GiB of memory at most: what a host sends may unpack to anything."""

_PATIENCE: Final = 5.0  # seconds between asking the program to end and ending it

_ALWAYS: Final[Mapping[str, str]] = {
    "core.bigFileThreshold": "64m",
    "core.hooksPath": "/dev/null",
    # What is mapped of a large pack has to fit into the memory that the program may have.
    "core.packedGitLimit": "512m",
    "core.packedGitWindowSize": "32m",
    "core.fsmonitor": "false",
    "credential.helper": "",
    # After a rewritten history all that is known is told in one request, however long it is.
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
    """The program ended with another ``status`` than 0; ``stdout`` and ``stderr`` are what it wrote, for whoever makes a sentence of it.

    ``retry_after``: seconds for which the host wants to be left alone, where it says so.
    """

    def __init__(self, status: int, stdout: str, stderr: str, retry_after: float | None = None) -> None:
        super().__init__(f"git ended with {status}")
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.retry_after = retry_after


async def run(arguments: Sequence[str], *, folder: Path, settings: Mapping[str, str], seconds: float) -> bytes:
    """What the program answers, of which 8 MiB are kept. ``settings`` are configuration of this run only, that no list of processes shows.

    Raises GitFailed, and SourceFailed where there is no such program or it takes longer than ``seconds``. Cancelled or late, it is ended
    with everything it has started.
    """
    with open_trace() as trace:
        process = await _start(arguments, folder, {**_environment({**_ALWAYS, **settings}, folder), **trace.environment}, trace.writing)
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(seconds):
                stdout, stderr, _ = await asyncio.gather(_read(process.stdout, _ANSWER), _read(process.stderr, _SAID), trace.read())
                status = await process.wait()
        except TimeoutError as error:
            raise SourceFailed(f"the git host did not answer within {seconds:.0f} s") from error
        finally:
            await _end(process)
    if status == _NOT_FOUND:
        raise SourceFailed("there is no git program here; install git where the jobs worker runs")
    if status != 0:
        raise GitFailed(status, stdout.decode(errors="replace"), stderr.decode(errors="replace"), trace.retry_after)
    return stdout


class Program:
    """The git program that is here; its version is asked for until it will do, and then no more."""

    def __init__(self) -> None:
        self._is_recent = False

    async def require(self, folder: Path) -> None:
        """Raises SourceFailed for a git that would not connect to the address it is told, and where there is none."""
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
    """Made from nothing, so that no configuration of the machine, its users or its administrator is read."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        # No repository above the folder is looked for: its configuration would be another's.
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for index, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
    return environment


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    """To the end; what is beyond ``most`` is let go."""
    kept = bytearray()
    while piece := await stream.read(64 * 1024):
        kept += piece[: most - len(kept)]
    return bytes(kept)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the program and what it has started: the helpers that talk to the host are processes of their own, and may be slower to end."""
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

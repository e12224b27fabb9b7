"""The git program, run so that neither this machine's configuration nor a repository's changes its behaviour."""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from dashwright.common.errors import SourceFailed
from dashwright.jobs_worker.adapters.git import memory
from dashwright.jobs_worker.adapters.git.trace import NotConnected, open_trace

_MIN_VERSION: Final = (2, 37)
"""The first version with the setting ``http.curloptResolve``, which makes git connect to the address that was checked."""

NOT_GIT: Final = "the server does not speak the git protocol"
"""Message of a failure: the host responds, but not as a git server does."""

NOT_CONNECTED: Final = "the host accepts no connection"
"""Message of a failure: the host does not respond to a connection or its TLS handshake."""

_MAX_STDERR_BYTES: Final = 8 * 1024
_MAX_STDOUT_BYTES: Final = 8 * 1024 * 1024
_STATUS_FATAL: Final = 128
"""Exit status of git after a fatal error."""

_STATUS_NOT_FOUND: Final = 127
"""Exit status of the shell if the git program is missing."""

KILLED: Final = f"died of signal {signal.SIGKILL.value}"
"""Message of git about a program that the system ended, because there was no more memory."""

_MAX_VERSION_CHARACTERS: Final = 60
_VERSION_TIMEOUT_SECONDS: Final = 10.0
_TERMINATE_SECONDS: Final = 5.0
"""Seconds between SIGTERM and SIGKILL."""

_DEFAULT_SETTINGS: Final[Mapping[str, str]] = {
    "core.bigFileThreshold": "64m",
    "core.hooksPath": "/dev/null",
    # The cache of deltas, one for each thread, and the mapped bytes of packs must fit into the memory limits of the program.
    "core.deltaBaseCacheLimit": "32m",
    "core.packedGitLimit": "512m",
    "core.packedGitWindowSize": "32m",
    "core.fsmonitor": "false",
    "credential.helper": "",
    # This algorithm needs one request for a fetch after a force push, regardless of the length of the history.
    "fetch.negotiationAlgorithm": "skipping",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "http.followRedirects": "false",
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


class GitTimedOut(SourceFailed):
    """The program did not end within its time limit."""


async def run(arguments: Sequence[str], *, directory: Path, settings: Mapping[str, str], timeout_seconds: float) -> bytes:
    """Run git and return at most 8 MiB of its output. ``settings`` are configuration of this run; they do not appear in process lists.

    Raises GitFailed, SourceFailed if git is not installed, and GitTimedOut if it takes longer than ``timeout_seconds``. On cancellation
    and timeout, git and all processes that it started are ended.
    """
    # Git prints no response headers: they are read from its trace, through a pipe.
    with open_trace() as git_trace:
        process = await _start(
            arguments,
            directory,
            {**_environment({**_DEFAULT_SETTINGS, **settings}, directory), **git_trace.environment},
            git_trace.write_end,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with asyncio.timeout(timeout_seconds):
                stdout, stderr, _ = await asyncio.gather(
                    _read_to_end(process.stdout, _MAX_STDOUT_BYTES),
                    _read_ends(process.stderr, _MAX_STDERR_BYTES),
                    git_trace.read_to_end(),
                )
                status = await process.wait()
        except TimeoutError as error:
            raise GitTimedOut(f"git did not end within {timeout_seconds:.0f} s") from error
        except NotConnected as error:
            raise GitFailed(_STATUS_FATAL, "", NOT_CONNECTED) from error
        finally:
            await _terminate(process)
    if status == _STATUS_NOT_FOUND:
        raise SourceFailed("the git program is missing; install git where the jobs worker runs")
    if status == 0 and arguments[0] == "ls-remote" and not stdout and git_trace.has_foreign_content:
        # Git takes a page without line breaks for the empty list of references of a server of plain files.
        raise GitFailed(status, "", NOT_GIT)
    if status == -signal.SIGKILL:
        raise GitFailed(status, "", KILLED)
    if status != 0:
        raise GitFailed(status, stdout.decode(errors="replace"), stderr.decode(errors="replace"), git_trace.retry_after)
    return stdout


def start_reading(arguments: Sequence[str], directory: Path, stdin: IO[bytes], pipe_bytes: int) -> "subprocess.Popen[bytes]":
    """Start git on a file of input, with its output in a pipe of ``pipe_bytes``. Raises OSError if it cannot be started."""
    return subprocess.Popen(  # noqa: S603 - no part of the command comes from a request
        ("sh", "-c", memory.limited_command(), "git", *arguments),  # noqa: S607 - like asyncio, by PATH
        cwd=directory,
        env=_environment(_DEFAULT_SETTINGS, directory),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pipesize=pipe_bytes,
        start_new_session=True,
    )


class GitProgram:
    """The installed git program. Its version is checked before each use until it is recent enough."""

    def __init__(self) -> None:
        self._is_recent = False

    async def require(self, directory: Path) -> None:
        """Raise SourceFailed if git is missing or older than the required version."""
        if self._is_recent:
            return
        output = await run(["version"], directory=directory, settings={}, timeout_seconds=_VERSION_TIMEOUT_SECONDS)
        version = output.decode(errors="replace").strip()[:_MAX_VERSION_CHARACTERS]
        match = re.search(r"(\d+)\.(\d+)", version)
        if match is None or (int(match[1]), int(match[2])) < _MIN_VERSION:
            raise SourceFailed(
                f"git {'.'.join(map(str, _MIN_VERSION))} or newer is needed where the jobs worker runs; there is {version!r}"
            )
        self._is_recent = True


async def _start(
    arguments: Sequence[str], directory: Path, environment: Mapping[str, str], inherited_descriptor: int
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *("sh", "-c", memory.limited_command(), "git"),
            *arguments,
            cwd=directory,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=[inherited_descriptor],
            # A process group of its own, so that ``_terminate`` reaches the processes that git starts.
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise SourceFailed("the shell that runs git is missing; install sh where the jobs worker runs") from error


def bare_environment() -> dict[str, str]:
    """Return a new environment, so that a program reads no configuration of this machine's users."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def _environment(settings: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Return a new environment, so that git reads no configuration of the machine, its users or its administrator."""
    environment = {
        **bare_environment(),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        # The program ``true`` prints no password, so git does not ask a desktop for it.
        "GIT_ASKPASS": "true",
        # Git must not find a repository above the directory: its configuration would apply.
        "GIT_CEILING_DIRECTORIES": str(directory.parent),
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for index, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{index}": name, f"GIT_CONFIG_VALUE_{index}": value}
    return environment


async def _read_to_end(stream: asyncio.StreamReader, limit: int) -> bytes:
    """Read a stream to its end and return its first ``limit`` bytes."""
    output = bytearray()
    while chunk := await stream.read(64 * 1024):
        output += chunk[: limit - len(output)]
    return bytes(output)


async def _read_ends(stream: asyncio.StreamReader, limit: int) -> bytes:
    """Read a stream to its end and return its first and last ``limit`` bytes: the hooks of a host write first, and git its error last."""
    output = b""
    while chunk := await stream.read(64 * 1024):
        output += chunk
        if len(output) > 2 * limit:
            output = output[:limit] + output[-limit:]
    return output


async def _terminate(process: asyncio.subprocess.Process) -> None:
    """End the program and all processes that it started, such as those for transport, which may run longer than git itself."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(_TERMINATE_SECONDS):
            await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()

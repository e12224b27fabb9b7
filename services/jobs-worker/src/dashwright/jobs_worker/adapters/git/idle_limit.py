"""A program between git and ssh that ends ssh if the host is silent: ``idle_limit.py SECONDS ssh ARGUMENTS``.

ssh itself gives up dead connections only, but not a living server whose git sends nothing. The worker starts this file as a script in an
isolated interpreter, so it imports only the standard library.
"""

import os
import subprocess
import sys
import time
from contextlib import suppress
from threading import Event, Thread
from typing import IO, Final

SILENT: Final = "the host was silent for"
"""Beginning of the message of a host that was given up, without the number of seconds."""

_CHUNK_BYTES: Final = 64 * 1024
_FLUSH_PACKET: Final = b"0000"
"""End of a response in the git protocol, gitprotocol-common(5)."""

_STATUS_FAILED: Final = 255
_END_SECONDS: Final = 5.0
"""Seconds that ssh has to end after its output has ended."""


class Transfer:
    """The data between git and ssh, and how long git has waited for the host."""

    def __init__(self) -> None:
        #: Set when ssh or git has closed the pipe of responses.
        self.is_over = Event()
        #: Monotonic time in seconds of the last byte that was read or written.
        self._last_activity = time.monotonic()
        #: The last four bytes of the response; empty after a request.
        self._last_bytes = b""
        #: True while git takes bytes of a response.
        self._is_delivering = False

    def copy_requests(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copy data from git to ssh until one of them closes its pipe."""
        with suppress(OSError, ValueError), target:
            while chunk := self._read(source):
                self._last_bytes = b""
                self._write(target, chunk)
            # The host has to respond to the end of the requests, too.
            self._last_bytes = b""

    def copy_responses(self, source: IO[bytes], target: IO[bytes]) -> None:
        """Copy data from ssh to git until one of them closes its pipe."""
        with suppress(OSError, ValueError):
            while chunk := self._read(source):
                self._last_bytes = (self._last_bytes + chunk)[-len(_FLUSH_PACKET) :]
                self._is_delivering = True
                self._write(target, chunk)
                self._is_delivering = False
        self.is_over.set()

    def silent_seconds(self) -> float:
        """Return for how many seconds git has waited for the host.

        After a complete response, git may work for minutes before it sends a request or closes the connection. This time is not counted.
        """
        is_git_busy = self._is_delivering or self._last_bytes == _FLUSH_PACKET
        return 0.0 if is_git_busy else time.monotonic() - self._last_activity

    def _read(self, source: IO[bytes]) -> bytes:
        chunk = os.read(source.fileno(), _CHUNK_BYTES)
        self._last_activity = time.monotonic()
        return chunk

    def _write(self, target: IO[bytes], chunk: bytes) -> None:
        unwritten = memoryview(chunk)
        while unwritten:
            unwritten = unwritten[os.write(target.fileno(), unwritten) :]
            self._last_activity = time.monotonic()


def run(seconds: float, command: list[str]) -> int:
    """Run ssh and return its exit status; 255 if the host was silent for ``seconds``."""
    transfer = Transfer()
    with subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as ssh:  # noqa: S603 - the worker's command
        assert ssh.stdin is not None
        assert ssh.stdout is not None
        Thread(target=transfer.copy_requests, args=(sys.stdin.buffer, ssh.stdin), daemon=True).start()
        Thread(target=transfer.copy_responses, args=(ssh.stdout, sys.stdout.buffer), daemon=True).start()
        while not transfer.is_over.wait(seconds - transfer.silent_seconds()):
            if transfer.silent_seconds() >= seconds:
                ssh.kill()
                sys.stderr.write(f"{SILENT} {seconds:.0f} s\n")
                return _STATUS_FAILED
        # If git has ended, ssh would wait for the host.
        with suppress(subprocess.TimeoutExpired):
            return ssh.wait(_END_SECONDS)
        ssh.kill()
    return _STATUS_FAILED


if __name__ == "__main__":
    sys.exit(run(float(sys.argv[1]), sys.argv[2:]))

"""Debian packages as the last way to a server: only for root, and without starting the package's own service."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.process import CannotProvide

_POLICY = Path("/usr/sbin/policy-rc.d")
_LOCK = Path("/run/dashwright-tests-packages.lock")
_NONINTERACTIVE = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}


def install(package: str) -> None:
    """Install a package. Raises CannotProvide outside Debian, without root, or if the installation fails."""
    if shutil.which("apt-get") is None or os.getuid() != 0:
        raise CannotProvide(f"the package {package} can be installed as root on Debian only")
    # apt-get fails if another process uses it, and workers of pytest-xdist may need the same package concurrently.
    with _exclusive_lock(), _no_service_starts():
        for command in (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", "--no-upgrade", package]):
            process = subprocess.run(command, env=_NONINTERACTIVE, check=False, capture_output=True, text=True, errors="replace")
        # Only the installation must succeed: without an update, the package may already be known.
        if process.returncode != 0:
            raise CannotProvide(f"installing the package {package} failed: {process.stderr.strip()[-500:]}")


@contextmanager
def _exclusive_lock() -> Iterator[None]:
    """Hold the lock of the test suite on installations while the block runs."""
    with _LOCK.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _no_service_starts() -> Iterator[None]:
    """Forbid starts of services while the block runs, by a policy that exits with 101. An existing policy is kept."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()

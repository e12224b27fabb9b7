"""Finds a ``kubectl`` that is new enough, or gets one."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.clients.archive import cache
from tests.clients.kubernetes import debian
from tests.clients.missing import Missing

OLDEST: Final = (1, 32)
CHOSEN: Final = "DASHWRIGHT_TEST_KUBECTL"

_RELEASE: Final = "trixie"
_DISPATCHER: Final = "-dispatcher"
"""Ends the version of a wrapper that runs another kubectl for each server, and knows ours as little as any."""


def program() -> Path:
    """The one that ``DASHWRIGHT_TEST_KUBECTL`` names, or one on the path, or an earlier download, or Debian's. Raises Missing."""
    if chosen := os.environ.get(CHOSEN):
        if _is_usable(Path(chosen)):
            return Path(chosen)
        raise Missing(f"{CHOSEN}={chosen} is no kubectl of version {_named(OLDEST)} or newer")
    found = shutil.which("kubectl")
    if found and _is_usable(Path(found)):
        return Path(found)
    folder = cache() / "kubectl"
    unpacked = folder / "usr" / "bin" / "kubectl"
    if _is_usable(unpacked):
        return unpacked
    shutil.rmtree(folder, ignore_errors=True)
    if _version(debian.candidate("kubectl")) >= OLDEST:
        debian.from_apt("kubectl", folder)
    else:
        debian.from_pool("kubectl", _RELEASE, folder)
    if not _is_usable(unpacked):
        raise Missing(f"Debian's kubectl is not {_named(OLDEST)} or newer, or does not run here; install one, or name it in {CHOSEN}")
    return unpacked


def _is_usable(path: Path) -> bool:
    try:
        done = subprocess.run([path, "version", "--client", "--output=json"], check=False, capture_output=True, text=True, timeout=60)
        told = json.loads(done.stdout)["clientVersion"]["gitVersion"].removeprefix("v")
    except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired):
        return False
    return not told.endswith(_DISPATCHER) and _version(told) >= OLDEST


def _version(text: str) -> tuple[int, ...]:
    """Major and minor of a Kubernetes version; nothing for what is none, as for packages that count otherwise."""
    found = re.match(r"(1)\.(\d+)\.", text)
    return () if found is None else (int(found[1]), int(found[2]))


def _named(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))

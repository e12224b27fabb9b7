"""Selection of a ``kubectl`` that is recent enough."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.clients.archive import cache_folder
from tests.clients.dependency_missing import DependencyMissing
from tests.clients.kubernetes import debian

#: Major and minor of the oldest accepted version.
OLDEST: Final = (1, 32)
PATH_VARIABLE: Final = "DASHWRIGHT_TEST_KUBECTL"

#: Debian release whose kubectl is recent enough.
_RELEASE: Final = "trixie"
#: Suffix of the version of a wrapper that runs another kubectl for each server, which fails for the gateway.
_DISPATCHER: Final = "-dispatcher"


def program() -> Path:
    """Return the kubectl of ``DASHWRIGHT_TEST_KUBECTL``, of the path, of an earlier download, or of Debian. Raises DependencyMissing."""
    if chosen := os.environ.get(PATH_VARIABLE):
        if _is_usable(Path(chosen)):
            return Path(chosen)
        raise DependencyMissing(f"{PATH_VARIABLE}={chosen} is not a kubectl of version {_version_text(OLDEST)} or newer")
    installed = shutil.which("kubectl")
    if installed and _is_usable(Path(installed)):
        return Path(installed)
    folder = cache_folder() / "kubectl"
    unpacked = folder / "usr" / "bin" / "kubectl"
    if _is_usable(unpacked):
        return unpacked
    shutil.rmtree(folder, ignore_errors=True)
    if _version(debian.candidate_version("kubectl")) >= OLDEST:
        debian.from_apt("kubectl", folder)
    else:
        debian.from_pool("kubectl", _RELEASE, folder)
    if not _is_usable(unpacked):
        raise DependencyMissing(
            f"Debian's kubectl is not {_version_text(OLDEST)} or newer, or does not run here; install one, or name it in {PATH_VARIABLE}"
        )
    return unpacked


def _is_usable(path: Path) -> bool:
    """Return True if the program is a kubectl of an accepted version that works without a server."""
    try:
        process = subprocess.run([path, "version", "--client", "--output=json"], check=False, capture_output=True, text=True, timeout=60)
        version = json.loads(process.stdout)["clientVersion"]["gitVersion"].removeprefix("v")
    except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired):
        return False
    return not version.endswith(_DISPATCHER) and _version(version) >= OLDEST


def _version(text: str) -> tuple[int, ...]:
    """Return major and minor of a Kubernetes version, or an empty tuple for another form."""
    match = re.match(r"(1)\.(\d+)\.", text)
    return () if match is None else (int(match[1]), int(match[2]))


def _version_text(version: tuple[int, ...]) -> str:
    """Return the text of a version."""
    return ".".join(map(str, version))

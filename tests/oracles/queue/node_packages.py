"""Packages of npm with all their dependencies: pinned by a lock file, and installed once, outside the repository."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.servers.npm import PackageMissing

_FILES: Final = ("package.json", "package-lock.json")
_INSTALL: Final = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")


def install_packages(source: Path) -> Path:
    """Return a folder with the packages that ``package.json`` and ``package-lock.json`` of ``source`` name. Raises PackageMissing."""
    digest = hashlib.sha256(b"".join((source / name).read_bytes() for name in _FILES)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dashwright" / "oracles"
    folder = cache / f"npm-{digest}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        # The folder has its name only after the installation, so that an interrupted installation is not taken for a complete one.
        with tempfile.TemporaryDirectory(dir=cache) as temporary:
            _install(source, Path(temporary) / "packages").rename(folder)
    return folder


def run(folder: Path, script: Path, *arguments: str) -> str:
    """Run a script with the packages of ``folder`` and return its output. It may load the scripts next to it."""
    # Node looks for packages next to the script, so the script and those that it may load are copied to the packages.
    for source in script.parent.glob(f"*{script.suffix}"):
        shutil.copy(source, folder)
    return subprocess.run(["node", folder / script.name, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout


def _install(source: Path, folder: Path) -> Path:
    """Install the packages of ``source`` in a new folder, and return the folder. Raises PackageMissing."""
    folder.mkdir()
    for name in _FILES:
        shutil.copy(source / name, folder)
    try:
        subprocess.run(_INSTALL, cwd=folder, check=True, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        output = str(getattr(error, "stderr", "") or error)[-400:]
        raise PackageMissing(
            f"the packages of {source} could not be installed: this needs npm, and the network once. npm: {output}"
        ) from error
    return folder

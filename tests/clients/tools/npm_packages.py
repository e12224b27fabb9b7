"""Packages of npm that cases use, outside the repository."""

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tests.clients.archive import cache_folder
from tests.clients.dependency_missing import DependencyMissing

_FOLDER: Final = Path(__file__).parent / "typescript"


def install() -> Path:
    """Return a folder with the programs of ``typescript`` and the locked packages, created once for each content.

    Raises DependencyMissing if Node.js is not installed, or if npm cannot install what is locked.
    """
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_FOLDER.iterdir()))).hexdigest()[:16]
    folder = cache_folder() / f"npm-{digest}"
    complete = folder / "complete"
    if complete.exists():
        return folder
    if not shutil.which("node") or not shutil.which("npm"):
        raise DependencyMissing("the group foundation-sdk-typescript needs Node.js 20 or newer with npm: install it, or run other groups")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_FOLDER, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    process = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, errors="replace")
    if process.returncode != 0:
        raise DependencyMissing(
            f"npm could not install the packages of {_FOLDER.name}; this needs the network once: {process.stderr.strip()[-400:]}"
        )
    complete.touch()
    return folder

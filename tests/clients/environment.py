"""Virtual environments of clients, outside the repository: their HTTP libraries conflict with those of the product."""

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tests.clients.archive import cache_folder
from tests.clients.dependency_missing import DependencyMissing

_REQUIREMENTS = Path(__file__).parents[2] / "requirements"


def python(lock: str) -> Path:
    """Return the interpreter of an environment that holds exactly ``requirements/LOCK.txt``, created once for each lock.

    Raises DependencyMissing if PyPI does not have what is locked.
    """
    locked = _REQUIREMENTS / f"{lock}.txt"
    digest = hashlib.sha256(locked.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = cache_folder() / f"environment-{digest}"
    program, complete = folder / "bin" / "python", folder / "complete"
    if complete.exists():
        return program
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    command = [str(program), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    process = subprocess.run([*command, "--requirement", str(locked)], check=False, capture_output=True, text=True, errors="replace")
    if process.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        raise DependencyMissing(
            f"the packages of {locked.name} could not be installed from PyPI (or the configured index): this needs the network once. "
            f"pip said: {process.stderr.strip()[-400:]}"
        )
    complete.touch()
    return program

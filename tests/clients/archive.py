"""The suite's source archive: downloaded from PyPI once, kept outside the repository, and verified by its hash at each use."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.clients import suite
from tests.clients.dependency_missing import DependencyMissing


def cache_folder() -> Path:
    """Return the folder of downloads, below ``XDG_CACHE_HOME`` or ``~/.cache``."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dashwright" / "clients"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def unpack(into: Path) -> Path:
    """Unpack the suite into a new folder below ``into`` and return that. Raises DependencyMissing if the archive cannot be downloaded."""
    with tarfile.open(_archive()) as archive:
        archive.extractall(into, filter="data")
    return into / _stem()


def check(archive: Path, sha256: str) -> None:
    """Remove the file and raise DependencyMissing unless its content has the hash."""
    actual_hash = hashlib.sha256(archive.read_bytes()).hexdigest()
    if actual_hash != sha256:
        archive.unlink()
        raise DependencyMissing(
            f"{archive.name} is not the archive that is pinned: its SHA-256 is {actual_hash}, not {sha256}; it was removed"
        )


def _stem() -> str:
    """Return the name of the archive without its suffix, which is also the name of the folder in it."""
    return f"{suite.PROJECT.replace('-', '_')}-{suite.VERSION}"


def _archive() -> Path:
    """Return the path of the verified archive, which is downloaded if it is missing."""
    archive = cache_folder() / f"{_stem()}.tar.gz"
    if not archive.exists():
        _download(archive)
    check(archive, suite.SHA256)
    return archive


def _download(archive: Path) -> None:
    """Download the archive with pip, from the configured index. Pip also builds the archive's metadata, for which it needs setuptools."""
    expected = f"{suite.PROJECT}=={suite.VERSION}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", suite.PROJECT]
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        process = subprocess.run([*command, "--dest", folder, expected], check=False, capture_output=True, text=True, errors="replace")
        downloaded = Path(folder) / archive.name
        if process.returncode != 0 or not downloaded.exists():
            raise DependencyMissing(
                f"the source archive of {expected} could not be downloaded from PyPI (or the configured index): it needs the network "
                f"once, or the file at {archive}. pip said: {process.stderr.strip()[-400:]}"
            )
        shutil.move(downloaded, archive)

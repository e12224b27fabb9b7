"""Data directories of an embedded PostgreSQL. Its cluster is created once and copied, since ``initdb`` takes longer than most tests."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from dashwright.standalone.cluster import open_cluster
from dashwright.standalone.placement import choose_placement


def create_empty() -> Path:
    """Create a directory that the server's user can enter even if the tests run as root, unlike pytest's temporary directories."""
    folder = Path(tempfile.mkdtemp(prefix="dashwright-data-"))
    folder.chmod(0o711)
    return folder


def create_with_cluster() -> Path:
    """Create a directory with a cluster whose server was never started."""
    folder = create_empty()
    # Unlike shutil.copytree, cp keeps the owner, which the server's start checks.
    subprocess.run(["cp", "-a", f"{_template()}/.", folder], check=True)
    return folder


@cache
def _template() -> Path:
    """Return a directory with a cluster, which is removed with the other temporary files of the run."""
    folder = create_empty()
    open_cluster(choose_placement(folder))
    return folder

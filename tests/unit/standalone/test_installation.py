"""``pip install ./services/standalone``: one command installs every distribution."""

import tomllib
from pathlib import Path
from urllib.parse import urlsplit

from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

STANDALONE = Path(__file__).parents[3] / "services" / "standalone"


def test_each_own_dependency_is_a_folder_of_this_checkout() -> None:
    """The project's own distributions are required by folder, because no registry has them."""
    metadata = ProjectMetadata(str(STANDALONE), PluginManager())
    own_requirements = [requirement.partition(" @ ") for requirement in metadata.core.dependencies if requirement.startswith("dashwright-")]
    folders = {
        name: tomllib.loads((Path(urlsplit(address).path) / "pyproject.toml").read_text())["project"]["name"]
        for name, _, address in own_requirements
    }
    assert folders == {name: name for name in ("dashwright-api", "dashwright-common", "dashwright-expressions", "dashwright-jobs-worker")}

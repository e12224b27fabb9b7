"""Dependencies on Dashwright's other distributions by folder, so that one command installs all of them."""

from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_FOLDERS = {
    "dashwright-common": "libs/common",
    "dashwright-api": "services/api",
    "dashwright-jobs-worker": "services/jobs-worker",
    "dashwright-expressions": "services/expressions",
}


class SiblingDependencies(MetadataHookInterface):
    """A hook that adds the other distributions to the dependencies, by their folders in this checkout."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``dependencies`` from the hook's configuration and the folders next to this one."""
        checkout = Path(self.root).resolve().parents[1]
        siblings = [f"{name} @ {(checkout / folder).as_uri()}" for name, folder in _FOLDERS.items()]
        metadata["dependencies"] = siblings + self.config["third-party"]

"""Files that declare repositories, and a provisioner that applies them to a gateway's database each time it reads them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.contract.api.conftest import Api

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.changes.feed import Feed
from dashwright.api.repositories.provisioning.provisioner import RepositoryProvisioner
from dashwright.api.resources.services import secret_sealers
from dashwright.api.resources.writing.edits import Edits
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import provisioning
from dashwright.common.clock import Clock
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.secrets import SecretCipher

SECRET_KEY: Final = "of tests only"


def declaration(name: str = "team", *, title: str = "Team", directory: str = "", **members: Any) -> dict[str, Any]:
    """Return a repository as a file declares it. ``directory`` is relative to the first permitted directory."""
    sync = {"enabled": False, "target": "folder", "intervalSeconds": 0}
    spec = {"title": title, "type": "local", "local": {"path": directory or name}, "workflows": [], "sync": sync}
    api_version = "provisioning.grafana.app/v0alpha1"
    return {"apiVersion": api_version, "kind": "Repository", "metadata": {"name": name}, "spec": spec} | members


@dataclass
class FileProvisioning:
    """A directory of files, and the provisioner of one gateway that applies them."""

    api: Api
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = self.api.data / "provisioning"
        self.root.mkdir(exist_ok=True)
        self.restart()

    def restart(self) -> None:
        """Replace the provisioner by a new one, which has read no file yet, like that of another gateway."""
        database, clock, settings = self.api.database, Clock(), AdmissionSettings(permitted_paths=(str(self.api.data),))
        sealers, policy = secret_sealers(SecretCipher.from_keys(SECRET_KEY)), AccessPolicy(database, Feed(database))
        edits = Edits(database, None, clock)  # type: ignore[arg-type]  # no repository has a file that is edited
        writer = Writer(database, clock, settings, QuotaRules(enabled=False, defaults={}), policy, sealers, edits)
        self._provisioner = RepositoryProvisioner(self.root, writer, self.environment)

    def write(self, name: str, *documents: Any) -> None:
        """Write a file with these documents."""
        (self.root / name).write_text("\n---\n".join(json.dumps(document) for document in documents))

    async def read(self, *, times: int = 1) -> None:
        """Read and apply the files as often as ``times``. Raises AssertionError if another provisioner holds the lock."""
        for _ in range(times):
            async with provisioning.lock(self.api.database) as connection:
                assert connection is not None
                await self._provisioner.apply(connection)

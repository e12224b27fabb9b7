"""Validation of repository configurations without saving them (``…/repositories/{name}/test``)."""

from dataclasses import dataclass, replace
from typing import Any, Final

from dashwright.api.resources import objects
from dashwright.api.resources.writing import admission, checks
from dashwright.api.resources.writing.sealing import TokenSealer
from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import RepositorySpec
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

#: The name in the path for a repository that is not stored yet. No repository can have this name.
NEW: Final = "new"

#: A valid placeholder name, for a new configuration without one.
_UNNAMED: Final = "unnamed"


@dataclass(frozen=True, slots=True)
class Configurations:
    """A validator of the configurations of stored and new repositories."""

    database: Database
    sealing: TokenSealer
    settings: AdmissionSettings

    async def get(self, namespace: str, name: str) -> StoredObject:
        """Return the stored repository. Raises NotFound."""
        async with self.database.connection() as connection:
            return await resources.get(connection, REPOSITORY, namespace, name)

    async def of(self, tree: Any, namespace: str, name: str, version: str) -> RepositorySpec:
        """Return the spec of a Repository object. Its token is encrypted for the repository named in the path.

        If no token is sent, the stored one is used, as when saving. Raises BadRequest for a body that is not a Repository,
        NotFound if the repository is not stored, and Invalid for an invalid spec.
        """
        if not isinstance(tree, dict):
            raise BadRequest("the body must be a Repository object or empty")
        async with self.database.connection() as connection:
            stored = None if name == NEW else await resources.get(connection, REPOSITORY, namespace, name)
            called = name if stored is not None else _name_of(tree)
            wanted = objects.read_update(tree, REPOSITORY, namespace, version, called).desired
            sealed = self.sealing.seal(replace(wanted, name=name), namespace, stored)
            wanted = replace(sealed, name=_UNNAMED if called == NEW else called)
            write = admission.admit(wanted, namespace, self.settings, stored).write
            await checks.check_write(connection, namespace, write, stored, self.settings)
        return RepositorySpec.model_validate_json(write.spec)


def _name_of(tree: dict[str, Any]) -> str:
    metadata = tree.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and name else _UNNAMED

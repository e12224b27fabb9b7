"""Configurations of repositories that are to be tried: admitted as if they were saved, which they are not."""

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

NEW: Final = "new"
"""The name in the path that stands for a repository which is not stored yet; none can have it."""

_UNNAMED: Final = "unnamed"
"""A name that nothing is wrong with, for a new one that says none."""


@dataclass(frozen=True, slots=True)
class Configurations:
    """Those of stored repositories and of new ones."""

    database: Database
    sealing: TokenSealer
    settings: AdmissionSettings

    async def get(self, namespace: str, name: str) -> StoredObject:
        """The stored repository. Raises NotFound."""
        async with self.database.connection() as connection:
            return await resources.get(connection, REPOSITORY, namespace, name)

    async def of(self, tree: Any, namespace: str, name: str, version: str) -> RepositorySpec:
        """What a Repository object says, with its token sealed for the name in the path, where it has one.

        A token that is not sent is that of the stored repository, as it would be if the object were saved. Raises BadRequest for what is no
        such object, NotFound, and Invalid.
        """
        if not isinstance(tree, dict):
            raise BadRequest("the body must be one Repository object, or nothing")
        async with self.database.connection() as connection:
            stored = None if name == NEW else await resources.get(connection, REPOSITORY, namespace, name)
            called = name if stored is not None else _name_of(tree)
            wanted = objects.read_update(tree, REPOSITORY, namespace, version, called).wanted
            sealed = self.sealing.seal(replace(wanted, name=name), namespace, stored)
            wanted = replace(sealed, name=_UNNAMED if called == NEW else called)
            write = admission.admit(wanted, namespace, self.settings, stored).write
            await checks.check_write(connection, namespace, write, stored, self.settings)
        return RepositorySpec.model_validate_json(write.spec)


def _name_of(tree: dict[str, Any]) -> str:
    metadata = tree.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and name else _UNNAMED

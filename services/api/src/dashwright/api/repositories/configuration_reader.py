"""Reader of the configurations that ``…/repositories/{name}/test`` tests: those of stored repositories, and those in requests."""

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

#: The placeholder for the name of a new configuration that has none.
_UNNAMED: Final = "unnamed"


@dataclass(frozen=True, slots=True)
class ConfigurationReader:
    """A reader of configurations: of a stored repository, and of the Repository object in a request."""

    database: Database
    token_sealer: TokenSealer
    settings: AdmissionSettings

    async def get(self, namespace: str, name: str) -> StoredObject:
        """Return the stored repository. Raises NotFound for an unknown one."""
        async with self.database.connection() as connection:
            return await resources.get(connection, REPOSITORY, namespace, name)

    async def read_spec(self, tree: Any, namespace: str, name: str, version: str) -> RepositorySpec:
        """Return the spec of the Repository object ``tree``. Its token is sealed for the repository ``name`` of the path.

        If the object has no token, the spec has the stored token for the same git host, as when the object is saved. Raises
        BadRequest for a body that is not a Repository, NotFound if the repository is not stored, and Invalid for an invalid spec.
        """
        if not isinstance(tree, dict):
            raise BadRequest("the body must be a Repository object or empty")
        async with self.database.connection() as connection:
            stored_object = None if name == NEW else await resources.get(connection, REPOSITORY, namespace, name)
            object_name = name if stored_object is not None else _name_of(tree)
            desired = objects.read_update(tree, REPOSITORY, namespace, version, object_name).desired
            # A sealed token is bound to a name. The worker opens it under the name of the path, which can be NEW.
            with_sealed_token = self.token_sealer.seal(replace(desired, name=name), namespace, stored_object)
            # Admission checks the name in the object, because the configuration is saved under that name. It would refuse NEW.
            desired = replace(with_sealed_token, name=_UNNAMED if object_name == NEW else object_name)
            write = admission.admit(desired, namespace, self.settings, stored_object).write
            await checks.check_write(connection, namespace, write, stored_object, self.settings)
        return RepositorySpec.model_validate_json(write.spec)


def _name_of(tree: dict[str, Any]) -> str:
    """Return the name in the metadata of an object, or the placeholder."""
    metadata = tree.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and name else _UNNAMED

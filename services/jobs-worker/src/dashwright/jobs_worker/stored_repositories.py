"""Stored repositories, as the ``Repository`` of the domain."""

from dashwright.common.database.pool import Connection
from dashwright.common.kinds.registry import DASHBOARD, REPOSITORY
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject
from dashwright.jobs_worker.domain.objects import Repository


async def load(connection: Connection, namespace: str, name: str) -> Repository:
    """Return a repository by name. Raises NotFound if it is not stored."""
    return repository_of(await resources.get(connection, REPOSITORY, namespace, name))


def repository_of(stored_object: StoredObject) -> Repository:
    """Return the repository in a stored row."""
    spec = RepositorySpec.model_validate_json(stored_object.spec)
    status = RepositoryStatus.model_validate_json(stored_object.status or "{}")
    has_dashboards = any(item.count and item.resource == DASHBOARD.plural for item in status.stats or ())
    return Repository(
        stored_object.namespace,
        stored_object.name,
        str(stored_object.uid),
        stored_object.generation,
        spec,
        status.sync.last_ref or "",
        has_dashboards,
    )

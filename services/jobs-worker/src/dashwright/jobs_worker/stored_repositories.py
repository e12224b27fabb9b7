"""Stored repositories as the readers of their files need them."""

from dashwright.common.database.pool import Connection
from dashwright.common.kinds.registry import DASHBOARD, REPOSITORY
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject
from dashwright.jobs_worker.domain.objects import Repository


async def load(connection: Connection, namespace: str, name: str) -> Repository:
    """Return a repository by name. Raises NotFound."""
    return repository_of(await resources.get(connection, REPOSITORY, namespace, name))


def repository_of(stored: StoredObject) -> Repository:
    """Return the repository in a stored row."""
    spec = RepositorySpec.model_validate_json(stored.spec)
    status = RepositoryStatus.model_validate_json(stored.status or "{}")
    has_dashboards = any(counted.count and counted.resource == DASHBOARD.plural for counted in status.stats or ())
    return Repository(stored.namespace, stored.name, str(stored.uid), stored.generation, spec, status.sync.last_ref or "", has_dashboards)

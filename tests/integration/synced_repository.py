"""A repository for tests that write objects as a sync does."""

import uuid

from dashwright.common.models.provisioning import RepositorySpec
from dashwright.jobs_worker.domain.objects import Repository


def repository(name: str, *, uid: uuid.UUID | None = None, generation: int = 1) -> Repository:
    """Return a repository of the namespace ``default``. Without ``uid``, it is not stored."""
    spec = {"title": "R", "workflows": [], "type": "local", "sync": {"enabled": True, "target": "instance"}}
    return Repository("default", name, str(uid or uuid.uuid4()), generation, RepositorySpec.model_validate(spec))

"""The repository of tests that write like a sync."""

import uuid

from dashwright.common.models.provisioning import RepositorySpec
from dashwright.jobs_worker.domain.objects import Repository


def repository(name: str, *, uid: uuid.UUID | None = None, generation: int = 1) -> Repository:
    """Return a repository in ``default``; without ``uid``, one that is deleted from the store."""
    spec = {"title": "R", "workflows": [], "type": "local", "sync": {"enabled": True, "target": "instance"}}
    return Repository("default", name, str(uid or uuid.uuid4()), generation, RepositorySpec.model_validate(spec))

"""The repository whose sync a test plays."""

import uuid

from dashwright.common.models.provisioning import RepositorySpec
from dashwright.jobs_worker.domain.objects import Repository


def repository(name: str, *, uid: uuid.UUID | None = None, generation: int = 1) -> Repository:
    """In ``default``; without ``uid`` one that has gone from the store."""
    spec = {"title": "R", "workflows": [], "type": "local", "sync": {"enabled": True, "target": "instance"}}
    return Repository("default", name, str(uid or uuid.uuid4()), generation, RepositorySpec.model_validate(spec))

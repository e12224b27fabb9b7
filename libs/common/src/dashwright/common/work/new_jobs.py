"""Records of jobs on repositories, for the gateway and the scheduler alike."""

import hashlib
import secrets
import uuid
from datetime import datetime
from typing import Final

from dashwright.common.job_actions import ACTIONS
from dashwright.common.jobs import names, routing
from dashwright.common.models.provisioning import JobSpec, RepositoryType
from dashwright.common.stores.job_records import NewJob

REPOSITORY_LABEL: Final = "provisioning.grafana.app/repository"
TYPE_LABEL: Final = "provisioning.grafana.app/repository-type"
OLD_LABEL: Final = "repository"


def new_job(namespace: str, spec: JobSpec, *, uid: uuid.UUID, kind: RepositoryType, now: datetime) -> NewJob:
    """Return the job to submit for a spec. ``uid`` and ``kind`` are those of the repository that the spec names."""
    described = ACTIONS[spec.action]
    return NewJob(
        name=names.job_name(spec.repository, spec.action.value, secrets.token_hex(4)),
        namespace=namespace,
        spec=spec.model_dump_json(by_alias=True, exclude_none=True),
        repository=spec.repository,
        action=spec.action.value,
        labels={REPOSITORY_LABEL: spec.repository, TYPE_LABEL: kind.value, OLD_LABEL: spec.repository},
        created=created_at(now),
        coalesce_key=hashlib.sha256(f"{spec.repository}/{spec.action.value}/{described.target(spec)}".encode()).hexdigest(),
        concurrency_group=f"{spec.repository}/{described.own_group}" if described.own_group else spec.repository,
        group_limit=described.group_limit,
        wake_key=routing.work_key(spec.action.value),
        repository_uid=uid,
    )


def created_at(now: datetime) -> str:
    """Return a time as RFC 3339 text in whole seconds."""
    return now.replace(microsecond=0).isoformat().replace("+00:00", "Z")

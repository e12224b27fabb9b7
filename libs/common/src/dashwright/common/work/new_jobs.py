"""Creation of jobs on repositories, for the gateway and the scheduler."""

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
#: Label that older clients select by. It has the same value as ``REPOSITORY_LABEL``.
OLD_LABEL: Final = "repository"


def new_job(namespace: str, spec: JobSpec, *, uid: uuid.UUID, repository_type: RepositoryType, now: datetime) -> NewJob:
    """Return the job to submit for a spec. ``uid`` and ``repository_type`` are those of the repository that the spec names."""
    action = ACTIONS[spec.action]
    return NewJob(
        name=names.job_name(spec.repository, spec.action.value, secrets.token_hex(4)),
        namespace=namespace,
        spec=spec.model_dump_json(by_alias=True, exclude_none=True),
        repository=spec.repository,
        action=spec.action.value,
        labels={REPOSITORY_LABEL: spec.repository, TYPE_LABEL: repository_type.value, OLD_LABEL: spec.repository},
        created=created_at(now),
        coalesce_key=hashlib.sha256(f"{spec.repository}/{spec.action.value}/{action.merge_key(spec)}".encode()).hexdigest(),
        concurrency_group=f"{spec.repository}/{action.own_group}" if action.own_group else spec.repository,
        group_limit=action.group_limit,
        wake_key=routing.work_key(spec.action.value),
        repository_uid=uid,
    )


def created_at(now: datetime) -> str:
    """Return a time in RFC 3339 format, without fractions of a second."""
    return now.replace(microsecond=0).isoformat().replace("+00:00", "Z")

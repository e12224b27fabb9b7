"""Records of jobs: a job to submit and its creation, and a stored job."""

import hashlib
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import asyncpg
import orjson

from dashwright.common.job_actions import ACTIONS
from dashwright.common.jobs import names, routing
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import find
from dashwright.common.models.provisioning import JobSpec, RepositoryType

#: Columns that are fields of StoredJob without conversion.
_COLUMNS: Final = (
    *("uid", "name", "namespace", "resource_version", "generation", "metadata", "spec"),
    *("status", "state", "action", "repository", "attempts", "coalesce_key", "wake_key", "trace"),
)

REPOSITORY_LABEL: Final = "provisioning.grafana.app/repository"
TYPE_LABEL: Final = "provisioning.grafana.app/repository-type"
#: Label that older clients select by. It has the same value as ``REPOSITORY_LABEL``.
OLD_LABEL: Final = "repository"

#: Priority of a job whose submitter chose none, and the highest priority.
NORMAL_PRIORITY: Final = 3
MAX_PRIORITY: Final = 5


@dataclass(frozen=True, slots=True)
class NewJob:
    """Job to submit."""

    name: str
    namespace: str
    spec: str  #: JSON string.
    repository: str | None
    action: str
    labels: Mapping[str, str]
    created: str  #: Creation time, RFC 3339.
    #: Jobs with the same key do the same work, and a new one is merged into a pending one. None: never merged.
    coalesce_key: str | None
    #: Group of jobs of which at most ``group_limit`` run concurrently. None: no limit. Column ``lane``.
    concurrency_group: str | None
    wake_key: str  #: Routing key of the wake-up. It determines which workers can claim the job.
    repository_uid: uuid.UUID | None = None
    group_limit: int = 1  #: Column ``lane_width``.
    annotations: Mapping[str, str] = field(default_factory=dict)
    priority: int = NORMAL_PRIORITY  #: From 1 to ``MAX_PRIORITY``, the most urgent.
    #: Jobs of a namespace with different keys share its workers in proportion to their weights.
    fairness_key: str = ""
    weight: float = 1.0  #: Weight of the fairness key.
    has_items: bool = False  #: True if the job does the work of items of a batch.


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


@dataclass(frozen=True, slots=True)
class StoredJob:
    """Stored job. ``metadata``, ``spec`` and ``status`` are JSON strings."""

    kind: Kind
    uid: uuid.UUID
    name: str
    namespace: str
    resource_version: int
    generation: int
    metadata: str
    spec: str
    status: str
    state: str
    action: str
    repository: str | None
    attempts: int  #: Number of times that a worker has claimed the job.
    submitted_by: Mapping[str, Any]  #: Uid and names of the submitter.
    coalesce_key: str | None
    wake_key: str  #: Routing key of the wake-up.
    trace: str | None  #: Trace of the submission, as a W3C traceparent.

    def encode(self, version: str | None = None) -> bytes:
        """Return the job as JSON in an API version, by default the preferred one of its kind."""
        return (
            f'{{"kind":"{self.kind.kind}","apiVersion":"{self.kind.api_version(version)}",'
            f'"metadata":{self.metadata_json()},"spec":{self.spec},"status":{self.status}}}'
        ).encode()

    def metadata_json(self) -> str:
        """Return the metadata as JSON, including resource version and generation."""
        # Both are inserted after the opening brace of the stored JSON.
        return f'{{"resourceVersion":"{self.resource_version}","generation":{self.generation},{self.metadata[1:]}'


def stored_job(row: asyncpg.Record) -> StoredJob:
    """Return the job in a row with the columns of a StoredJob."""
    kind = find(row["api_group"], row["resource"])
    assert kind is not None, f"{row['resource']}.{row['api_group']} is stored but is not a known kind"
    return StoredJob(kind=kind, submitted_by=orjson.loads(row["submitted_by"]), **{name: row[name] for name in _COLUMNS})

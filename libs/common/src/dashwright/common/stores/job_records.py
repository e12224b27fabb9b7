"""Records of jobs: one to submit, and one as the store holds it."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dashwright.common.kinds.kind import Kind


@dataclass(frozen=True, slots=True)
class NewJob:
    """Job to submit."""

    name: str
    namespace: str
    spec: str  #: JSON text.
    repository: str | None
    action: str
    labels: Mapping[str, str]
    created: str  #: Creation time, RFC 3339.
    #: Jobs with the same key do the same work: one that is pending absorbs the next. None: never merged.
    coalesce_key: str | None
    #: Jobs that may not all run concurrently; at most ``group_limit`` of them do. None: no limit. Column ``lane``.
    concurrency_group: str | None
    wake_key: str  #: Routing key of the wake-up, which decides the workers that may claim the job.
    repository_uid: uuid.UUID | None = None
    group_limit: int = 1  #: Column ``lane_width``.
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredJob:
    """Job as the store holds it. ``metadata``, ``spec`` and ``status`` are JSON text."""

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
    attempts: int  #: How often a worker has claimed it.
    submitted_by: Mapping[str, Any]  #: Uid and names of the submitter.
    coalesce_key: str | None

    def encode(self) -> bytes:
        """Return the job as JSON, in the preferred version of its kind."""
        return (
            f'{{"kind":"{self.kind.kind}","apiVersion":"{self.kind.api_version()}",'
            f'"metadata":{self.whole_metadata()},"spec":{self.spec},"status":{self.status}}}'
        ).encode()

    def whole_metadata(self) -> str:
        """Return the metadata as JSON text, including resource version and generation."""
        return f'{{"resourceVersion":"{self.resource_version}","generation":{self.generation},{self.metadata[1:]}'

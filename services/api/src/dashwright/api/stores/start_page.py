"""Short lists of repositories and jobs for the start page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.provisioning import RepositoryStatus

_sql = load(__package__, "start_page.sql")


@dataclass(frozen=True, slots=True)
class RepositorySummary:
    """A repository with its status."""

    name: str
    title: str
    #: None for a new repository whose health and sync are not known yet.
    status: RepositoryStatus | None


@dataclass(frozen=True, slots=True)
class JobSummary:
    """A job with its last reported message."""

    name: str
    repository: str
    action: str
    state: str
    message: str
    created: datetime


async def repositories(connection: Connection, namespace: str, limit: int) -> Sequence[RepositorySummary]:
    """Return the first ``limit`` repositories of ``namespace``, sorted by title."""
    rows = await connection.fetch(_sql.repositories, namespace, REPOSITORY.group, REPOSITORY.plural, limit)
    return [
        RepositorySummary(row["name"], row["title"], RepositoryStatus.model_validate_json(row["status"]) if row["status"] else None)
        for row in rows
    ]


async def jobs(connection: Connection, namespace: str, limit: int) -> Sequence[JobSummary]:
    """Return the newest ``limit`` jobs of ``namespace``, the newest first."""
    rows = await connection.fetch(_sql.jobs, namespace, JOB.group, JOB.plural, limit)
    return [
        JobSummary(row["name"], row["repository"] or "", row["action"], row["state"], row["message"] or "", row["created_at"])
        for row in rows
    ]

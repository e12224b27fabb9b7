"""A client of the jobs of a server, over its HTTP API."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from dashwright.common.errors import Conflict, Forbidden, NotFound, SourceFailed
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.provisioning import JobSpec, JobStatus, State
from dashwright.standalone.remote.client import ServerClient
from dashwright.standalone.remote.collection import Collection

#: Attempts to cancel a job that changes between its read and its deletion.
_MAX_CANCEL_ATTEMPTS: Final = 20


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the server returned it."""

    name: str
    resource_version: str
    #: The creation timestamp as the server returned it, in RFC 3339.
    created: str
    spec: JobSpec
    status: JobStatus
    #: The complete object as the server returned it.
    document: Mapping[str, Any]

    @property
    def has_ended(self) -> bool:
        """True for a job that succeeded or failed."""
        return self.status.state in (State.SUCCESS, State.ERROR)


class JobsClient:
    """The jobs in the namespace of a client. Every method raises the errors of the client."""

    def __init__(self, client: ServerClient) -> None:
        self._jobs = Collection(client, JOB)
        self._repositories = Collection(client, REPOSITORY)

    async def jobs(self, repository: str = "") -> AsyncIterator[Job]:
        """Yield the jobs ordered by name; only those of ``repository`` unless it is empty."""
        async for page in self._jobs.list(f"repository={repository}" if repository else ""):
            for item in page.get("items") or []:
                yield _parse_job(item)

    async def has_repository(self, name: str) -> bool:
        """Return whether a repository exists. If the caller may not read repositories, it is assumed to exist."""
        try:
            await self._repositories.get(name)
        except NotFound:
            return False
        except Forbidden:
            pass
        return True

    async def job(self, name: str) -> Job:
        """Return the job with a name."""
        return _parse_job(await self._jobs.get(name))

    async def sync(self, repository: str, *, incremental: bool) -> Job:
        """Request a sync and return its job, which may be an equivalent one that was already pending."""
        return _parse_job(await self._repositories.post(repository, "sync", body={"incremental": incremental}))

    async def submit(self, repository: str, submission: Any) -> Sequence[Job]:
        """Submit a job or a list of jobs of a repository, and return the jobs in the order of the list."""
        response = await self._repositories.post(repository, "jobs", body=submission)
        items = (response.get("items") or []) if isinstance(submission, list) else [response]
        return [_parse_job(item) for item in items]

    async def cancel(self, name: str) -> Job:
        """Cancel a job unless it has ended. Return the job as it was before.

        Raises Conflict if the job changes during each of 20 attempts.
        """
        for _ in range(_MAX_CANCEL_ATTEMPTS):
            job = await self.job(name)
            if job.has_ended:
                return job
            try:
                # The version is a precondition: the deletion of a job that has just ended would remove it from the history.
                await self._jobs.delete(name, resource_version=job.resource_version)
            except Conflict:
                continue
            return job
        raise Conflict(f"the job {name} changes too often to be cancelled; try again later")

    async def follow(self, name: str) -> AsyncIterator[Job]:
        """Yield the job in its current state, then after each change, until it ends.

        Raises NotFound if the job does not exist or is deleted, and SourceFailed if reads fail five times in a row.
        """
        async for document in self._jobs.follow(name, lambda document: _parse_job(document).has_ended):
            yield _parse_job(document)


def _parse_job(item: Any) -> Job:
    """Return the job in a document. Raises SourceFailed if the document has another form."""
    try:
        metadata = item["metadata"]
        spec, status = JobSpec.model_validate(item["spec"]), JobStatus.model_validate(item.get("status") or {})
        return Job(metadata["name"], metadata["resourceVersion"], metadata["creationTimestamp"], spec, status, item)
    except (KeyError, TypeError, ValidationError) as error:
        raise SourceFailed("the server returned a job in an unknown format: is it a different version?") from error

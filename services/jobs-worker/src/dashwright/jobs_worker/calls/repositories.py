"""Calls about repositories that a client waits for: tests of a configuration, refs, history, plans and files."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from pydantic import TypeAdapter, ValidationError

from dashwright.common.database.pool import Database
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, SourceFailed, Unhealthy
from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.json_documents import write_json
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.messaging.rpc import Reply, Request
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.provisioning import RepositoryType
from dashwright.common.models.repository_calls import (
    HistoryRequest,
    PlanRequest,
    RefsRequest,
    RepositoryRequest,
    TrialRequest,
    TrialResponse,
)
from dashwright.common.models.repository_views import HistoryItem, HistoryList, RefItem, RefList
from dashwright.common.secrets import SecretUnreadable
from dashwright.jobs_worker.calls.files import FileCallRequest, FileCalls
from dashwright.jobs_worker.calls.planner import SyncPlanner
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.domain.readiness import field_to_correct
from dashwright.jobs_worker.stored_repositories import load

_REQUEST: Final[TypeAdapter[RepositoryRequest]] = TypeAdapter(RepositoryRequest)

_SLOTS: Final = 8
"""Calls that one worker handles concurrently."""

_MAX_WAITING: Final = 24
"""Limit on the calls of all organizations that wait for a slot. The body of a call may have some megabytes."""

MAX_CALLS: Final = _SLOTS + _MAX_WAITING
"""Limit on the calls that a worker takes from the queue."""


class RepositoryReader(Protocol):
    """A reader of repositories."""

    async def check_readable(self, repository: Repository) -> None:
        """Check that the repository can be read. Raises the error that prevents it."""
        ...

    async def branches(self, repository: Repository) -> Mapping[str, str]:
        """Return the commits of the branches on a git host, by branch."""
        ...

    async def history(self, repository: Repository, ref: str, path: str) -> Sequence[HistoryItem]:
        """Return the newest commits on a git host that touch a path."""
        ...


class AccountDirectory(Protocol):
    """A directory of the accounts of commit authors."""

    async def with_accounts(self, repository: Repository, path: str, history: Sequence[HistoryItem]) -> Sequence[HistoryItem]:
        """Return the history with the accounts at the git host, or without accounts if the host fails."""
        ...


class RepositoryCalls:
    """The handler of calls about repositories."""

    def __init__(
        self, database: Database, repositories: RepositoryReader, authors: AccountDirectory, planner: SyncPlanner, files: FileCalls
    ) -> None:
        self._database = database
        self._authors = authors
        self._repositories = repositories
        self._planner = planner
        self._files = files
        self._limiter = FairLimiter(_SLOTS, waiting=_MAX_WAITING, subject="requests for repositories")

    async def handle(self, call: Request) -> Reply:
        """Return the reply to a call whose body is a RepositoryRequest.

        Raises Unhealthy if the git host fails or denies access, and TooManyRequests for too many calls of an organization.
        """
        try:
            request = _REQUEST.validate_json(call.body)
        except ValidationError as error:
            raise BadRequest("unknown request type for a repository") from error
        async with self._limiter.slot(request.namespace):
            return await self._handle(call, request)

    async def _handle(self, call: Request, request: RepositoryRequest) -> Reply:
        if isinstance(request, TrialRequest):
            return Reply((await self._test(request)).to_json())
        if isinstance(request, FileCallRequest):
            return Reply(_json(await self._files.handle(request, is_repeated=call.is_repeated)))
        try:
            return Reply(_json(await self._read(request)))
        except (Forbidden, SourceFailed) as error:
            raise Unhealthy(f"The repository configuration is not healthy: {error.message}", details={"name": request.name}) from error

    async def _test(self, request: TrialRequest) -> TrialResponse:
        """Test a configuration, which is not stored. Return the field to correct and the error message, or an empty response."""
        # The configuration is not stored, so it has neither a uid nor a generation.
        repository = Repository(request.namespace, request.name, "", 0, request.spec)
        try:
            await self._repositories.check_readable(repository)
        except DashwrightError as error:
            if error.is_server_error and not isinstance(error, SourceFailed | SecretUnreadable):
                raise
            return TrialResponse(field=field_to_correct(repository.spec, error), message=error.message)
        return TrialResponse()

    async def _read(self, request: RefsRequest | HistoryRequest | PlanRequest) -> ApiModel:
        async with self._database.connection() as connection:
            repository = await load(connection, request.namespace, request.name)
        if isinstance(request, PlanRequest):
            return await self._planner.plan(repository, request.ref, with_items=request.with_items)
        version = REPOSITORY.api_version()
        if repository.spec.type is RepositoryType.LOCAL:
            raise BadRequest(f"this repository does not support {request.call}: a local directory has neither branches nor commits")
        if isinstance(request, RefsRequest):
            branches = await self._repositories.branches(repository)
            refs = [RefItem(name=name, hash=sha) for name, sha in branches.items()]
            return RefList(kind="RefList", api_version=version, items=refs)
        commits = await self._repositories.history(repository, request.ref, request.path)
        commits = await self._authors.with_accounts(repository, request.path, commits)
        return HistoryList(kind="HistoryList", api_version=version, items=list(commits))


def _json(response: ApiModel) -> bytes:
    """Return the response as JSON. Numbers in stored bodies are written as they are stored."""
    return write_json(response.model_dump(by_alias=True, exclude_none=True))

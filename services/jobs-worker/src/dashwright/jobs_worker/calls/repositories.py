"""Answers what the gateway asks of repositories, while somebody waits for it."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from pydantic import TypeAdapter, ValidationError

from dashwright.common.database.pool import Database
from dashwright.common.document import write_json
from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, SourceFailed, Unhealthy
from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.messaging.rpc import Reply, Request
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
from dashwright.common.models.shape import Shape
from dashwright.common.secrets import SecretUnreadable
from dashwright.jobs_worker.calls.files import FileCallRequest, FileCalls
from dashwright.jobs_worker.calls.planner import Planner
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.domain.readiness import field_of
from dashwright.jobs_worker.stored_repositories import load

_REQUEST: Final[TypeAdapter[RepositoryRequest]] = TypeAdapter(RepositoryRequest)

_SLOTS: Final = 8
_WAITING: Final = 24
"""Each may have a body of some megabytes."""

CALLS_IN_HAND: Final = _SLOTS + _WAITING
"""Calls of all organizations that a worker takes from the queue."""


class Repositories(Protocol):
    """Where repositories are read. ``check_readable`` is a Look."""

    async def check_readable(self, repository: Repository) -> None: ...

    async def branches(self, repository: Repository) -> Mapping[str, str]:
        """The commits that branches stand at, of one on a git host."""
        ...

    async def history(self, repository: Repository, ref: str, path: str) -> Sequence[HistoryItem]:
        """The newest commits, of one on a git host."""
        ...


class AccountDirectory(Protocol):
    """The accounts of commit authors."""

    async def with_accounts(self, repository: Repository, path: str, history: Sequence[HistoryItem]) -> Sequence[HistoryItem]:
        """Return the history with the accounts that the git host knows. Raises nothing for a host that does not."""
        ...


class RepositoryCalls:
    def __init__(
        self, database: Database, repositories: Repositories, authors: AccountDirectory, planner: Planner, files: FileCalls
    ) -> None:
        self._database = database
        self._authors = authors
        self._repositories = repositories
        self._planner = planner
        self._files = files
        self._limiter = FairLimiter(_SLOTS, waiting=_WAITING, subject="requests for repositories")

    async def handle(self, request: Request) -> Reply:
        """The RPC: a RepositoryRequest in, out what it says there.

        Raises Unhealthy for a host that does not answer as it should, and TooManyRequests where an organization asks for very much.
        """
        try:
            wanted = _REQUEST.validate_json(request.body)
        except ValidationError as error:
            raise BadRequest("the request is none that is answered about repositories") from error
        async with self._limiter.slot(wanted.namespace):
            return await self._answer(request, wanted)

    async def _answer(self, request: Request, wanted: RepositoryRequest) -> Reply:
        if isinstance(wanted, TrialRequest):
            return Reply((await self._test(wanted)).to_json())
        if isinstance(wanted, FileCallRequest):
            return Reply(_written(await self._files.handle(wanted, is_repeated=request.is_repeated)))
        try:
            return Reply(_written(await self._respond(wanted)))
        except (Forbidden, SourceFailed) as error:
            raise Unhealthy(f"The repository configuration is not healthy: {error.message}", details={"name": wanted.name}) from error

    async def _test(self, wanted: TrialRequest) -> TrialResponse:
        """Nothing is kept, neither what is tried nor what was seen."""
        repository = Repository(wanted.namespace, wanted.name, "", 0, wanted.spec)
        try:
            await self._repositories.check_readable(repository)
        except DashwrightError as error:
            if error.status >= 500 and not isinstance(error, SourceFailed | SecretUnreadable):
                raise
            return TrialResponse(field=field_of(repository.spec, error), message=error.message)
        return TrialResponse()

    async def _respond(self, wanted: RefsRequest | HistoryRequest | PlanRequest) -> Shape:
        async with self._database.connection() as connection:
            repository = await load(connection, wanted.namespace, wanted.name)
        if isinstance(wanted, PlanRequest):
            return await self._planner.plan(repository, wanted.ref, with_items=wanted.with_items)
        version = REPOSITORY.api_version()
        if repository.spec.type is RepositoryType.LOCAL:
            raise BadRequest(f"this repository does not support {wanted.call}")
        if isinstance(wanted, RefsRequest):
            branches = await self._repositories.branches(repository)
            refs = [RefItem(name=name, hash=sha) for name, sha in branches.items()]
            return RefList(kind="RefList", api_version=version, items=refs)
        commits = await self._repositories.history(repository, wanted.ref, wanted.path)
        commits = await self._authors.with_accounts(repository, wanted.path, commits)
        return HistoryList(kind="HistoryList", api_version=version, items=list(commits))


def _written(told: Shape) -> bytes:
    """As JSON, with the numbers of stored bodies as they are stored."""
    return write_json(told.model_dump(by_alias=True, exclude_none=True))

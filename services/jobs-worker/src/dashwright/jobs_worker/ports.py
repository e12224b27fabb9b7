"""The interfaces through which actions use files, git hosts and the store. ``adapters`` implements them."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import NamedTuple, Protocol

from dashwright.common.errors import Conflict, SourceFailed
from dashwright.common.jobs.progress import JobProgress
from dashwright.jobs_worker.domain.export import Adoption, ExportItem, HistoryVersion
from dashwright.jobs_worker.domain.hosting import ChangedFile, CommitStatus, Hook, HookSpec, PullRequest
from dashwright.jobs_worker.domain.objects import (
    Change,
    CommitDraft,
    Difference,
    Document,
    Edit,
    Entry,
    File,
    GitIdentity,
    Key,
    LastChange,
    ManagedObject,
    Manager,
    QuarantinedFile,
    Repository,
    Snapshot,
    Write,
)


class Overtaken(Conflict):
    """Another sync or edit stored the repository after the present writer had read it.

    The present writer has stored nothing. It must read the files and plan again.
    """


class MirrorDamaged(SourceFailed):
    """The mirror of a repository cannot be read. The mirror is recreated when the repository is opened again."""


class Checkout(Protocol):
    """The files of a repository at one commit, or the present files of a local directory."""

    @property
    def commit(self) -> str:
        """The hash of the commit, empty for a local directory."""
        ...

    async def entries(self) -> Sequence[Entry]:
        """Return every file and directory in any order; an unreadable directory is an entry with a fault.

        Raises NotFound, Forbidden or TooLarge if the files cannot be listed at all, SourceFailed if the disk or the worker fails.
        """
        ...

    async def entries_at(self, paths: Collection[str]) -> Sequence[Entry]:
        """Return the existing files among ``paths``, without listing all files."""
        ...

    async def difference_since(self, base_commit: str, extra_paths: Collection[str] = ()) -> Difference | None:
        """Return the difference from an earlier commit. It also contains the ``extra_paths``, changed or not.

        None means that the difference is unknown, and everything must be examined.
        """
        ...

    def open_reader(self) -> Callable[[str], File]:
        """Return a function that reads a file by path. Call that function only in the thread that called ``open_reader``.

        Each file has the checksum of the bytes read. An error other than a server error is a fault of that file alone.
        """
        ...

    def reading(self, checksums: Sequence[str]) -> AbstractAsyncContextManager[Callable[[str, str], File]]:
        """Return a context with a function that reads a file by the path and checksum of its entry.

        The function raises the same errors as that of ``open_reader``. Only one thread at a time may call it. ``checksums`` are those of
        the entries, in the order in which their files will be read. Reading in another order is possible, but slower.
        """
        ...


class SizedCheckout(Checkout, Protocol):
    """A checkout with the sizes and last changes of files, for lists of files."""

    async def with_sizes(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return entries of this checkout with the sizes of readable files. A sync needs no sizes, and looking them up takes time."""
        ...

    async def last_changes(self, paths: Collection[str]) -> Mapping[str, LastChange]:
        """Return the known last changes of files by path. Paths without a known change are left out."""
        ...


class Checkouts(Protocol):
    """The checkouts of repositories of every type, at any of their branches and commits."""

    async def at(self, repository: Repository, ref: str) -> SizedCheckout | None:
        """Return the checkout at a ref: a branch or a commit (40 digits), empty for the repository's own branch.

        Returns None for a repository without a commit. A local directory has only its present files. Raises BadRequest for a ref of a
        local directory, NotFound for an unknown ref, Forbidden if access is denied, TooManyRequests if the host must not be called now,
        and SourceFailed if the host or the disk fails.
        """
        ...

    async def commit(
        self,
        repository: Repository,
        base: str,
        ref: str,
        edits: Sequence[Edit],
        author: GitIdentity,
        message: str,
        author_time: datetime | None = None,
    ) -> Checkout:
        """Make one commit of all edits on top of ``base`` (empty: the first commit) and return its checkout.

        ``ref`` is the branch to move, empty for the repository's own; it is created if missing. If nothing differs from ``base``, no commit
        is made and the checkout at ``base`` is returned. Without ``author_time``, the commit has the current time. A local directory is
        written file by file, and ``base``, ``author``, ``message`` and ``author_time`` are ignored.

        Raises Conflict if the branch is no longer at ``base`` or a file was changed, Forbidden if the token or the system denies writing,
        BadRequest if the host rejects the change, TooLarge, SourceFailed.
        """
        ...

    async def commits_by(
        self, repository: Repository, ref: str, author: GitIdentity, author_time: datetime
    ) -> Sequence[tuple[Checkout | None, Checkout]]:
        """Return the newest commits of a branch with this author and author time, each as the checkouts before and after it.

        The time is compared in seconds. The first commit of a repository has None before it. The result is empty for a local directory
        and for an unknown branch. Raises Forbidden, TooManyRequests and SourceFailed like ``at``.
        """
        ...

    async def push(self, repository: Repository, base: str, ref: str, drafts: Sequence[CommitDraft]) -> Checkout:
        """Make a commit of each draft, send all in one push and return the checkout of the last. Otherwise like ``commit``.

        The caller has checked paths and sizes. The edits of a draft are iterated in a thread, perhaps more than once. For a local directory
        all edits are in memory together.
        """
        ...


class SyncedCommits(Protocol):
    """The commits of repositories on git hosts that were synced before."""

    async def at_synced(self, repository: Repository, commit: str) -> Checkout:
        """Return the checkout of a commit that was synced, even if no branch contains it now.

        Raises NotFound if neither the worker nor the host has the commit, BadRequest for a local directory.
        """
        ...

    async def keep_only_synced(self, repository: Repository, commits: Sequence[str]) -> None:
        """Keep the given commits for ``at_synced``, and permit git to delete all other synced commits."""
        ...


class PullRequestCheckouts(Protocol):
    """The files that pull requests propose."""

    async def at_pull_request(self, repository: Repository, pull_request: PullRequest) -> Checkout:
        """Return the checkout of the newest commit of a pull request, which may come from a fork. Nothing is committed to it.

        Raises NotFound if the host has no such commit, BadRequest for a local directory or a fork whose commits the host does not offer,
        and Forbidden, TooManyRequests and SourceFailed like ``Checkouts.at``.
        """
        ...


class Renderer(Protocol):
    """A service that renders dashboards as pictures."""

    async def render(self, repository: Repository, spec: bytes) -> str:
        """Render a dashboard and return the public address of the picture.

        Its queries run on data sources of the repository's organization. Raises DeadlineExceeded, Unavailable, TooLarge or BadRequest if it
        cannot be rendered.
        """
        ...


class MirrorStore(Protocol):
    """The mirrors of repositories on this worker's disk."""

    async def keep_only(self, uids: Sequence[str]) -> int:
        """Delete the mirrors of repositories whose uid is not in ``uids``, and return the number of deleted mirrors."""
        ...


class Host(Protocol):
    """The API of a git host apart from git itself.

    All methods raise BadRequest if the API is unknown or rejects the request, Forbidden if the token does not permit the request, and
    NotFound if its subject does not exist or is hidden from the token. They raise TooManyRequests while the host must not be called, and
    SourceFailed if the host fails, possibly after it carried out the request.
    """

    async def pull_request(self, repository: Repository, number: int) -> PullRequest:
        """Return a pull request by number."""
        ...

    async def open_pull_requests(self, repository: Repository) -> Sequence[PullRequest]:
        """Return the first 1,000 open pull requests, without the number of their files."""
        ...

    async def changed_files(self, repository: Repository, number: int) -> Sequence[ChangedFile]:
        """Return the first 1,000 changed files of a pull request."""
        ...

    async def comment(self, repository: Repository, number: int, text: str, *, may_create: bool = True) -> str:
        """Create or replace this repository's comment on a pull request and return the address of the comment.

        Without ``may_create`` only an existing comment is replaced; without an existing comment the result is empty.
        """
        ...

    async def set_commit_status(self, repository: Repository, status: CommitStatus) -> None:
        """Set or replace this repository's status on a commit."""
        ...

    async def hooks(self, repository: Repository) -> Sequence[Hook]:
        """Return the webhooks of the repository."""
        ...

    async def create_hook(self, repository: Repository, spec: HookSpec) -> Hook:
        """Create a webhook."""
        ...

    async def update_hook(self, repository: Repository, hook_id: int, spec: HookSpec) -> Hook:
        """Replace the address, events and secret of a webhook."""
        ...

    async def delete_hook(self, repository: Repository, hook_id: int) -> None:
        """Delete a webhook."""
        ...


class ObjectStore(Protocol):
    """The store of the objects of a namespace."""

    async def managed(self, namespace: str, repository: str) -> Sequence[ManagedObject]:
        """Return all objects that the repository manages."""
        ...

    async def managed_at(self, namespace: str, repository: str, paths: Collection[str], keys: Collection[Key]) -> Sequence[ManagedObject]:
        """Return the repository's objects that came from one of the paths or have one of the keys."""
        ...

    async def managers(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Manager]:
        """Return the managers of the existing objects among ``keys``; an unmanaged object has a Manager with an empty kind."""
        ...

    async def quarantined(self) -> Sequence[QuarantinedFile]:
        """Return the files of the repository that could not be stored so far."""
        ...

    async def apply(self, namespace: str, changes: AsyncIterator[Change], snapshot: Snapshot) -> None:
        """Write all changes in one transaction, or none; readers see the old state until then.

        The changes come in an order in which each is possible: folders before their content, and content is deleted before folders.
        Iterate them in batches, because bodies are produced on demand. ``snapshot`` describes the state after the changes.

        Raises Conflict if another manager created or took over an object since the plan was made, Overtaken if another writer stored the
        repository.
        """
        ...

    async def store_snapshot(self, snapshot: Snapshot) -> None:
        """Store a snapshot without writing an object. Raises Overtaken like ``apply``."""
        ...


class DryRunStore(ObjectStore, Protocol):
    """A store that also returns single objects as JSON, as stored or as a write would store them."""

    async def get_json(self, namespace: str, key: Key, version: str) -> bytes | None:
        """Return an object as JSON in a version of its kind; None if it does not exist."""
        ...

    async def dry_run(self, namespace: str, write: Write) -> bytes:
        """Return the object that the write would store, as JSON. Nothing is stored. Raises Forbidden if a quota is reached."""
        ...


class DocumentStore(ObjectStore, Protocol):
    """A store that also returns objects with their bodies, for comparison with the result of a sync."""

    async def documents(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Document]:
        """Return the existing objects among ``keys``, by key."""
        ...

    async def quota_refusal(self, namespace: str, *, created: int, removed: int) -> str:
        """Return why a quota does not allow that ``created`` dashboards are created and ``removed`` are deleted, or an empty string."""
        ...


class Exports(Protocol):
    """The objects of a namespace that one attempt at an export may write. Methods raise LeaseLost if the attempt has ended."""

    async def folders(self, limit: int) -> Sequence[ExportItem]:
        """Return at most ``limit`` folders, the oldest first."""
        ...

    async def objects(self, folder_names: Sequence[str] | None, limit: int) -> Sequence[ExportItem]:
        """Return at most ``limit`` unmanaged dashboards and library panels in these folders (None: in all folders), the oldest first."""
        ...

    async def versions(self, items: Sequence[ExportItem], *, include_older: bool) -> Sequence[HistoryVersion]:
        """Return the bodies at the generations of ``items``, for each object the oldest first. Deleted objects are skipped.

        With ``include_older`` earlier generations are returned, too.
        """
        ...

    async def check_lease(self) -> None:
        """Raise LeaseLost if the worker no longer has the lease of the job. Call it right before a change that others can see."""
        ...

    async def adopt(self, levels: Sequence[Sequence[Adoption]]) -> None:
        """Make the repository the manager of all objects that are unchanged since the export, in one transaction.

        ``levels`` begin with the objects at the root. An object below the root is adopted only together with its folder,
        which is in an earlier level.
        """
        ...


class ProgressReporter(Protocol):
    """A receiver of a job's progress."""

    async def report(self, progress: JobProgress) -> None:
        """Report progress after a step or result. Raises LeaseLost if another attempt has the job.

        Implementations may skip a report soon after another one.
        """
        ...


class Spool(Protocol):
    """A temporary store for bodies, so that memory does not grow with the repository. Threads use it, one call at a time."""

    def put(self, body: bytes) -> int:
        """Store a body and return its ticket, with which ``get`` returns the body."""
        ...

    def get(self, ticket: int) -> bytes:
        """Return the body of a ticket."""
        ...


class WebhookResponse(NamedTuple):
    """Response of a webhook, without its body."""

    status: int
    retry_after: float | None  #: Seconds until the next request, if the response has them.


class Webhooks(Protocol):
    """Requests to the webhooks of tenants."""

    async def post(self, address: str, headers: Mapping[str, str], body: bytes) -> WebhookResponse:
        """Send a request and return the response with any status.

        Raises BadRequest if requests to the host are forbidden, and SourceFailed if the webhook fails or does not respond in time.
        """
        ...

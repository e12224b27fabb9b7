"""The ports of actions. Adapters implement them; tests bring small implementations of their own."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from dashwright.common.errors import Conflict, SourceFailed
from dashwright.common.jobs.progress import JobProgress
from dashwright.jobs_worker.domain.export import ExportItem, Handover, Version
from dashwright.jobs_worker.domain.hosting import ChangedFile, CommitStatus, Hook, HookSpec, PullRequest
from dashwright.jobs_worker.domain.objects import (
    Change,
    Difference,
    Document,
    Draft,
    Edit,
    Entry,
    File,
    GitIdentity,
    Key,
    LastChange,
    ManagedObject,
    Owner,
    QuarantinedFile,
    Repository,
    Snapshot,
    Write,
)


class Overtaken(Conflict):
    """Another writer stored the repository after it was read: nothing was written. Read the files again and make a new plan."""


class CopyDamaged(SourceFailed):
    """The worker's copy of a repository cannot be read. It is recreated when the repository is opened again."""


class Checkout(Protocol):
    """The files of a repository at one commit, or of a folder as they are."""

    @property
    def commit(self) -> str:
        """The hash of the commit, empty for a folder."""
        ...

    async def entries(self) -> Sequence[Entry]:
        """Return every file and directory in any order; an unreadable directory is an entry with a fault.

        Raises NotFound, Forbidden or TooLarge if the files as a whole cannot be listed, SourceFailed if the disk or the worker fails.
        """
        ...

    async def difference_since(self, since: str, also: Collection[str] = ()) -> Difference | None:
        """Return the difference from an earlier commit; the paths ``also`` count as changed.

        None means that the difference is unknown, and everything must be examined.
        """
        ...

    def open_reader(self) -> Callable[[str], File]:
        """Return a function that reads a file by path, to be called in the thread that opened it.

        Each file has the checksum of the bytes read. An error with a status below 500 is a fault of that file alone.
        """
        ...


class SizedCheckout(Checkout, Protocol):
    """A checkout that clients can list."""

    async def with_sizes(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return entries of this checkout with the sizes of readable files. A sync needs no sizes, and looking them up takes time."""
        ...

    async def last_changes(self, paths: Collection[str]) -> Mapping[str, LastChange]:
        """Return the last changes of files, as far as they are known. Unknown paths are skipped."""
        ...


class Checkouts(Protocol):
    """Repositories of every type, at any of their branches and commits."""

    async def at(self, repository: Repository, ref: str) -> SizedCheckout | None:
        """Return the state at a branch or commit (40 digits), empty for the repository's own branch; None if there is no commit yet.

        For a folder it is the present state, and a ref is BadRequest. Raises NotFound for an unknown ref, and the errors of the host.
        """
        ...

    async def commit(
        self, repository: Repository, base: str, ref: str, edits: Sequence[Edit], by: GitIdentity, message: str, at: datetime | None = None
    ) -> Checkout:
        """Make one commit of all edits on top of ``base`` (empty: the first commit) and return the state after it.

        ``ref`` is the branch to move, empty for the repository's own; it is created if missing. If nothing differs from ``base``, no commit
        is made and the state at ``base`` is returned. ``at`` is the time of the author, None for now. A folder is written file by file, and
        ``base``, ``by``, ``message`` and ``at`` are ignored.

        Raises Conflict if the branch is no longer at ``base`` or a file was changed, Forbidden if the token or the system denies writing,
        BadRequest if the host rejects the change, TooLarge, SourceFailed.
        """
        ...

    async def commits_by(
        self, repository: Repository, ref: str, by: GitIdentity, at: datetime
    ) -> Sequence[tuple[Checkout | None, Checkout]]:
        """Return the newest commits of a branch by this author in the second ``at``, each as the states before and after it.

        The first commit of a repository has no state before. Empty for a folder and for an unknown branch. Raises the errors of the host.
        """
        ...

    async def push(self, repository: Repository, base: str, ref: str, drafts: Sequence[Draft]) -> Checkout:
        """Make a commit of each draft, send all in one push and return the last state. Otherwise like ``commit``.

        The caller has checked paths and sizes. The edits of a draft are iterated in a thread, perhaps more than once. For a folder all of
        them are in memory together.
        """
        ...


class Revisions(Protocol):
    """The commits of repositories on git hosts that were synced before."""

    async def at_synced(self, repository: Repository, commit: str) -> Checkout:
        """Return the state at such a commit, even if no branch contains it now. Raises NotFound if it is lost, BadRequest for a folder."""
        ...

    async def keep_only_synced(self, repository: Repository, commits: Sequence[str]) -> None:
        """Keep exactly these commits for ``at_synced``."""
        ...


class PullRequestCheckouts(Protocol):
    """The files that pull requests propose."""

    async def at_pull_request(self, repository: Repository, number: int) -> Checkout:
        """Return the state at the newest commit of a pull request, which may come from a fork. It is only read.

        Raises NotFound if the host has no such commit, BadRequest for a folder, and the errors of the host.
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


class Copies(Protocol):
    """The copies of repositories on this worker's disk."""

    async def keep_only(self, uids: Sequence[str]) -> int:
        """Delete the copies of all other repositories and return how many."""
        ...


class Host(Protocol):
    """The API of a git host apart from git itself.

    All methods raise BadRequest if the API is unknown or rejects the request, Forbidden, NotFound, TooManyRequests while the host may not
    be called, and SourceFailed if it fails: the request may have been carried out then.
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
        """Write this repository's comment on a pull request, in place of its former one, and return the address of the comment.

        Without ``may_create`` only a former comment is replaced; without one, the result is empty.
        """
        ...

    async def set_commit_status(self, repository: Repository, status: CommitStatus) -> None:
        """Set this repository's status on a commit, in place of its former one."""
        ...

    async def hooks(self, repository: Repository) -> Sequence[Hook]:
        """Return the webhooks of the repository."""
        ...

    async def make_hook(self, repository: Repository, spec: HookSpec) -> Hook:
        """Create a webhook."""
        ...

    async def change_hook(self, repository: Repository, number: int, spec: HookSpec) -> Hook:
        """Change a webhook."""
        ...

    async def remove_hook(self, repository: Repository, number: int) -> None:
        """Delete a webhook."""
        ...


class Resources(Protocol):
    """The stored objects of a namespace."""

    async def managed(self, namespace: str, repository: str) -> Sequence[ManagedObject]:
        """Return everything that the repository owns."""
        ...

    async def managed_at(self, namespace: str, repository: str, paths: Collection[str], keys: Collection[Key]) -> Sequence[ManagedObject]:
        """Return the repository's objects that came from one of the paths or have one of the keys."""
        ...

    async def owners(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Owner]:
        """Return the owners of those objects that exist; an unmanaged object has an Owner without kind."""
        ...

    async def quarantined(self) -> Sequence[QuarantinedFile]:
        """Return the files of the repository that could not be stored so far."""
        ...

    async def apply(self, namespace: str, changes: AsyncIterator[Change], snapshot: Snapshot) -> None:
        """Write all changes in one transaction, or none; readers see the old state until then.

        The changes come in an order in which each is possible (folders before their content, content removed before folders). Take them in
        batches: bodies are produced on demand. ``snapshot`` describes the state after them. Raises Conflict if an object was created or
        taken over since, Overtaken if the repository was written since.
        """
        ...

    async def note(self, snapshot: Snapshot) -> None:
        """Store a snapshot for which no object had to be written. Raises Overtaken like ``apply``."""
        ...


class Objects(Resources, Protocol):
    """The stored objects of a namespace, also one by one, as JSON in a version of their kind."""

    async def get_json(self, namespace: str, key: Key, version: str) -> bytes | None:
        """Return an object; None if it does not exist."""
        ...

    async def dry_run(self, namespace: str, write: Write) -> bytes:
        """Return the object as it would be stored, without storing it. Raises Forbidden if a quota is reached."""
        ...


class StoredObjects(Resources, Protocol):
    """The stored objects of a namespace with their bodies, for comparison with the result of a sync."""

    async def documents(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Document]:
        """Return those of the objects that exist."""
        ...

    async def quota_refusal(self, namespace: str, *, created: int, removed: int) -> str:
        """Return why so many dashboards may not be created, or an empty string."""
        ...


class Exports(Protocol):
    """The objects of a namespace that one attempt at an export may write. Methods raise LeaseLost if the attempt has ended."""

    async def folders(self, limit: int) -> Sequence[ExportItem]:
        """Return all folders, the oldest first, ``limit`` at most."""
        ...

    async def dashboards(self, within: Sequence[str] | None, limit: int) -> Sequence[ExportItem]:
        """Return unmanaged dashboards in some folders (None: anywhere), the oldest first, ``limit`` at most."""
        ...

    async def versions(self, items: Sequence[ExportItem], *, older: bool) -> Sequence[Version]:
        """Return the bodies as they were; with ``older`` also earlier generations, oldest first. Deleted objects are skipped."""
        ...

    async def check_lease(self) -> None:
        """Raise LeaseLost if the attempt has ended. Call it right before a change that others see."""
        ...

    async def hand_over(self, levels: Sequence[Sequence[Handover]]) -> None:
        """Make the repository the manager of all objects that are still as they were exported, in one transaction.

        Of each level only objects at the root or in a folder of an earlier level that was handed over.
        """
        ...


class ProgressReporter(Protocol):
    """A receiver of a job's progress."""

    async def report(self, progress: JobProgress) -> None:
        """Report progress after every step and result. It is written at most every so often. Raises LeaseLost if the job was taken away."""
        ...


class Spool(Protocol):
    """A temporary store for bodies, so that memory does not grow with the repository. Used from threads, one call at a time."""

    def put(self, body: bytes) -> int:
        """Store a body and return the ticket to get it back with."""
        ...

    def get(self, ticket: int) -> bytes:
        """Return the body of a ticket."""
        ...

"""What an action needs from outside. Adapters implement these; tests bring small ones of their own."""

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
    """What is stored was written after it was read: nothing was done; look at the files and plan again."""


class CopyDamaged(SourceFailed):
    """What a worker keeps of a repository cannot be read: opened again, it is made anew."""


class Checkout(Protocol):
    """The files of a repository at one moment (a commit), or as they are (a directory)."""

    @property
    def commit(self) -> str:
        """The name of that moment, empty of a directory."""
        ...

    async def entries(self) -> Sequence[Entry]:
        """Every file and directory, in any order; a directory that cannot be read is there, with a fault.

        Raises NotFound, Forbidden or TooLarge when there is no checkout to speak of, SourceFailed when the disk or the worker fails.
        """
        ...

    async def difference_since(self, since: str, also: Collection[str] = ()) -> Difference | None:
        """Where it differs from an earlier commit, and the paths ``also`` as if they did.

        None where that cannot be told, and everything must be looked at.
        """
        ...

    def open_reader(self) -> Callable[[str], File]:
        """Answers a function that reads files by path, one after the other, in the thread that asked for it.

        Each file comes with the checksum of what was read. An error with a status below 500 is a fault of that file alone.
        """
        ...


class SizedCheckout(Checkout, Protocol):
    """One that is listed for people, too."""

    async def with_sizes(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Entries of its own, each file that can be read with its size: a sync asks for none, and looking them up takes time."""
        ...

    async def last_changes(self, paths: Collection[str]) -> Mapping[str, LastChange]:
        """Return when files were last changed, as far as it is known. Raises nothing for those that are not there."""
        ...


class Checkouts(Protocol):
    """Repositories of every type, at any of their branches and commits."""

    async def at(self, repository: Repository, ref: str) -> SizedCheckout | None:
        """The state at a branch or commit (40 digits), empty for the repository's own branch; None where there is no commit yet.

        Of a folder it is what lies there; a ref is BadRequest there. Raises NotFound for a ref that is none, and what its host answers.
        """
        ...

    async def commit(
        self, repository: Repository, base: str, ref: str, edits: Sequence[Edit], by: GitIdentity, message: str, at: datetime | None = None
    ) -> Checkout:
        """All edits in one commit on top of ``base`` (empty: the first of an empty repository), and the state after them.

        ``ref`` is the branch that is moved to the commit, empty for the repository's own; it is made where there is none. Where nothing
        differs from ``base``, no commit is made and the state at ``base`` is answered. ``at`` is the time of the author, None for now. A
        folder is written file by file, without regard to ``base``, ``by``, ``message`` and ``at``.

        Raises Conflict where the branch is not at ``base`` any more or a file is not as it was, Forbidden where the token or the system
        does not let it write, BadRequest where the host refuses the change itself, TooLarge, SourceFailed.
        """
        ...

    async def commits_by(
        self, repository: Repository, ref: str, by: GitIdentity, at: datetime
    ) -> Sequence[tuple[Checkout | None, Checkout]]:
        """The newest commits of a branch that are ``by`` somebody and of the second ``at``, each as the states before and after it.

        There is no state before the first commit of all. Empty for a folder and for a branch that is not there.

        Raises what the host answers.
        """
        ...

    async def push(self, repository: Repository, base: str, ref: str, drafts: Sequence[Draft]) -> Checkout:
        """As ``commit``, with a commit for each draft, all sent at once. The caller has checked the paths and bounded the bytes.

        The edits of a draft are iterated in a thread, perhaps more than once. For a folder all of them are in memory together.
        """
        ...


class Revisions(Protocol):
    """The commits of repositories on git hosts that were synced before."""

    async def at_synced(self, repository: Repository, commit: str) -> Checkout:
        """One of them, also where no branch leads to it any more. Raises NotFound where it is lost, BadRequest of a folder."""
        ...

    async def keep_only_synced(self, repository: Repository, commits: Sequence[str]) -> None:
        """What ``at_synced`` is to find later."""
        ...


class PullRequestCheckouts(Protocol):
    """What pull requests propose."""

    async def at_pull_request(self, repository: Repository, number: int) -> Checkout:
        """The files as the newest commit of a pull request has them, which may come from a fork: they are only read.

        Raises NotFound where the git host has no such commit, BadRequest of a folder, and what its host answers.
        """
        ...


class Renderer(Protocol):
    """Who draws dashboards."""

    async def render(self, repository: Repository, spec: bytes) -> str:
        """The address of a picture that everybody who has it can see. Its queries ask the data sources of the repository's organization.

        Raises whatever keeps it from being drawn: DeadlineExceeded, Unavailable, TooLarge, BadRequest.
        """
        ...


class Copies(Protocol):
    """The copies of repositories that a worker keeps."""

    async def keep_only(self, uids: Sequence[str]) -> int:
        """Drops those of all other repositories; answers how many."""
        ...


class Host(Protocol):
    """What a git host knows beside the commits of a repository.

    All raise BadRequest where the host has no API that is known or refuses what is asked, Forbidden, NotFound, TooManyRequests where it
    is to be left alone for a while, and SourceFailed where it fails: then nobody knows whether what was asked for was done.
    """

    async def pull_request(self, repository: Repository, number: int) -> PullRequest: ...

    async def open_pull_requests(self, repository: Repository) -> Sequence[PullRequest]:
        """Return the first 1,000 that are open, without the number of their files."""
        ...

    async def changed_files(self, repository: Repository, number: int) -> Sequence[ChangedFile]:
        """The first 1,000 of a pull request."""
        ...

    async def comment(self, repository: Repository, number: int, text: str, *, may_create: bool = True) -> str:
        """Says it under a pull request, in place of what was said there of this repository before. Answers where it can be read.

        What is not ``may_create`` only takes the place of what was said; where nothing was, the answer is empty.
        """
        ...

    async def set_commit_status(self, repository: Repository, status: CommitStatus) -> None:
        """Puts a status on a commit, in place of the one that this repository put there before."""
        ...

    async def hooks(self, repository: Repository) -> Sequence[Hook]: ...

    async def make_hook(self, repository: Repository, wanted: HookSpec) -> Hook: ...

    async def change_hook(self, repository: Repository, number: int, wanted: HookSpec) -> Hook: ...

    async def remove_hook(self, repository: Repository, number: int) -> None: ...


class Resources(Protocol):
    """The stored objects of a namespace."""

    async def managed(self, namespace: str, repository: str) -> Sequence[ManagedObject]:
        """Everything the repository owns."""
        ...

    async def managed_at(self, namespace: str, repository: str, paths: Collection[str], keys: Collection[Key]) -> Sequence[ManagedObject]:
        """What the repository owns that came from one of the paths or is one of the keys."""
        ...

    async def owners(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Owner]:
        """Who owns those of the objects that exist; an object nobody manages has an Owner without kind."""
        ...

    async def quarantined(self) -> Sequence[QuarantinedFile]:
        """The files of the repository that could not go in so far."""
        ...

    async def apply(self, namespace: str, changes: AsyncIterator[Change], snapshot: Snapshot) -> None:
        """Takes all changes in one transaction, or none: what is read meanwhile is the old state.

        They come in an order that can be followed one by one (folders before their content, content removed before folders) and
        should be taken in batches: bodies are produced as they are asked for. ``snapshot`` is what is stored then. Raises Conflict when an
        object was made or changed hands meanwhile, Overtaken when the repository was written meanwhile.
        """
        ...

    async def note(self, snapshot: Snapshot) -> None:
        """No object had to be written for what is stored then. Raises Overtaken as ``apply`` does."""
        ...


class Objects(Resources, Protocol):
    """The stored objects of a namespace, which can also be looked at one by one. An object is told as JSON, as its version shows it."""

    async def get_json(self, namespace: str, key: Key, version: str) -> bytes | None:
        """None where there is no such object."""
        ...

    async def dry_run(self, namespace: str, write: Write) -> bytes:
        """The object as it would be stored; nothing is. Raises Forbidden where a quota is reached."""
        ...


class StoredObjects(Resources, Protocol):
    """The same, to be compared with what a sync would make of them."""

    async def documents(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Document]:
        """Those of the objects that exist."""
        ...

    async def quota_refusal(self, namespace: str, *, created: int, removed: int) -> str:
        """Why so many dashboards may not be made, or empty."""
        ...


class Exports(Protocol):
    """What of a namespace can be exported into one of its repositories, for one attempt at a job. Raises LeaseLost where that has ended."""

    async def folders(self, limit: int) -> Sequence[ExportItem]:
        """All folders, the oldest first, ``limit`` at most."""
        ...

    async def dashboards(self, within: Sequence[str] | None, limit: int) -> Sequence[ExportItem]:
        """Those that nobody manages, in some folders (None: anywhere), the oldest first, ``limit`` at most."""
        ...

    async def versions(self, items: Sequence[ExportItem], *, older: bool) -> Sequence[Version]:
        """Their bodies as they were, with ``older`` those of the generations before, too, oldest first. None of what is gone for good."""
        ...

    async def check_lease(self) -> None:
        """To be asked right before anything is done that others see."""
        ...

    async def hand_over(self, levels: Sequence[Sequence[Handover]]) -> None:
        """Makes the repository the manager of all that still is as it was exported, in one transaction.

        Of each level only what lies in a folder of one before that could be handed over, or at the root.
        """
        ...


class ProgressReporter(Protocol):
    """Where a job's numbers go."""

    async def report(self, progress: JobProgress) -> None:
        """Called after every step and every result. Decides itself how often something is written; raises when the job was taken away."""
        ...


class Spool(Protocol):
    """Bodies put aside while the plan is made, so that memory does not grow with the repository. Used from threads, one call at a time."""

    def put(self, body: bytes) -> int:
        """Answers the ticket to get it back with."""
        ...

    def get(self, ticket: int) -> bytes: ...

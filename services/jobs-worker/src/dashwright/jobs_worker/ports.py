"""What an action needs from outside. Adapters implement these; tests bring small ones of their own."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from dashwright.common.jobs.progress import Tally
from dashwright.jobs_worker.domain.objects import Change, Difference, Entry, File, Key, Managed, Owner


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

    async def changed(self, since: str) -> Difference | None:
        """Where it differs from an earlier commit; None where that cannot be told, and everything must be looked at."""
        ...

    async def read(self, path: str) -> File:
        """One file, with the checksum of what was read. Raises an error below 500 for a fault of this file alone."""
        ...


class Copies(Protocol):
    """The copies of repositories that a worker keeps."""

    async def keep(self, uids: Sequence[str]) -> int:
        """Drops those of all other repositories; answers how many."""
        ...


class Resources(Protocol):
    """The stored objects of a namespace."""

    async def managed(self, namespace: str, repository: str) -> Sequence[Managed]:
        """Everything the repository owns."""
        ...

    async def managed_at(self, namespace: str, repository: str, paths: Collection[str], keys: Collection[Key]) -> Sequence[Managed]:
        """What the repository owns that came from one of the paths or is one of the keys."""
        ...

    async def owners(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Owner]:
        """Who owns those of the objects that exist; an object nobody manages has an Owner without kind."""
        ...

    async def apply(self, namespace: str, changes: AsyncIterator[Change], *, commit: str) -> None:
        """Takes all changes in one transaction, or none: what is read meanwhile is the old state.

        They come in an order that can be followed one by one (folders before their content, content removed before folders) and
        should be taken in batches: bodies are produced as they are asked for. ``commit`` is what is stored then, whole; empty where
        something of it was left out. Raises Conflict when an object was made or changed hands meanwhile.
        """
        ...

    async def note(self, commit: str) -> None:
        """What is stored is that commit, whole, though nothing had to be written."""
        ...


class Progress(Protocol):
    """Where a job's numbers go."""

    async def report(self, tally: Tally) -> None:
        """Called after every step and every result. Decides itself how often something is written; raises when the job was taken away."""
        ...


class Spool(Protocol):
    """Bodies put aside while the plan is made, so that memory does not grow with the repository. Used from threads, one call at a time."""

    def put(self, body: bytes) -> int:
        """Answers the ticket to get it back with."""
        ...

    def get(self, ticket: int) -> bytes: ...

"""Group commit, by which items that arrive during a commit are committed together in the next one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class GroupCommit(Generic[Item, Result]):
    """Queue of items. One commit runs at a time, with the oldest waiting items, at most ``max_items``.

    ``commit`` returns one result for each item, in their order. An item that arrives while no commit runs is committed
    immediately, so grouping adds no delay.
    """

    def __init__(self, commit: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]], *, max_items: int) -> None:
        self._commit = commit
        self._max_items = max_items
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._committing: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """True if no commit is running or due."""
        return self._committing is None

    async def add(self, item: Item) -> Result:
        """Commit an item and return its result. Raises the error of the commit, which then applies to all its items.

        The item may still be committed after a cancellation.
        """
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_waiting(), name="group-commit")
        return await future

    async def _commit_waiting(self) -> None:
        """Commit groups, one after the other, until no item waits."""
        try:
            while self._waiting:
                group, self._waiting = self._waiting[: self._max_items], self._waiting[self._max_items :]
                await self._commit_group(group)
        finally:
            self._committing = None

    async def _commit_group(self, group: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        """Commit a group, and pass its results or its error to the callers that wait."""
        try:
            results = await self._commit([item for item, _ in group])
        except Exception as error:  # noqa: BLE001 - raised by each caller
            for _, future in group:
                # The future of a cancelled caller is done.
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(group, results, strict=True):
            if not future.done():
                future.set_result(result)

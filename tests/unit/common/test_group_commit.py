"""Group commit: items that arrive during a commit are committed together, and each caller gets its own result."""

import asyncio
from collections.abc import Sequence

import pytest

from dashwright.common.group_commit import GroupCommit


class ControlledCommits:
    """Commits that wait until the test releases them."""

    def __init__(self) -> None:
        #: The items of each commit.
        self.groups: list[list[int]] = []
        #: Acquired before the end of each commit.
        self.may_end = asyncio.Semaphore(0)

    async def commit(self, items: Sequence[int]) -> list[int]:
        """Return ten times each item. Raises ValueError if -1 is one of them."""
        self.groups.append([*items])
        await self.may_end.acquire()
        if -1 in items:
            raise ValueError("refused")
        return [item * 10 for item in items]


async def test_items_that_arrive_during_a_commit_share_the_next() -> None:
    """The first item is committed immediately, the others in groups of at most the maximum."""
    commits = ControlledCommits()
    group = GroupCommit(commits.commit, max_items=3)
    tasks = [asyncio.create_task(group.add(0))]
    # One round starts the caller, and the next one starts the commit.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert commits.groups == [[0]]
    tasks += [asyncio.create_task(group.add(item)) for item in range(1, 6)]
    for _ in range(3):
        commits.may_end.release()
    assert await asyncio.gather(*tasks) == [0, 10, 20, 30, 40, 50]
    assert commits.groups == [[0], [1, 2, 3], [4, 5]]


async def test_an_error_is_raised_by_each_caller_of_its_group() -> None:
    """The callers of a failed commit get its error, and later commits succeed."""
    commits = ControlledCommits()
    group = GroupCommit(commits.commit, max_items=10)
    # Two commits: the failing one, and the one of item 7.
    for _ in range(2):
        commits.may_end.release()
    failing = [asyncio.create_task(group.add(item)) for item in (1, -1)]
    results = await asyncio.gather(*failing, return_exceptions=True)
    assert [type(result) for result in results] == [ValueError, ValueError]
    assert await group.add(7) == 70


async def test_a_cancelled_caller_does_not_affect_the_others() -> None:
    """The item of a cancelled caller may be committed, and the other callers get their results."""
    commits = ControlledCommits()
    group = GroupCommit(commits.commit, max_items=10)
    cancelled = asyncio.create_task(group.add(1))
    other = asyncio.create_task(group.add(2))
    # The commit of both items begins before the cancellation.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    cancelled.cancel()
    commits.may_end.release()
    assert await other == 20
    with pytest.raises(asyncio.CancelledError):
        await cancelled

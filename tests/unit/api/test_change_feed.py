"""The change buffer of a gateway, and notifying watchers."""

import asyncio
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.changes.buffer import ChangeBuffer
from dashwright.api.changes.cursor import Cursor, WakeReason
from dashwright.api.changes.timers import BOOKMARK_SECONDS, GRACE_SECONDS, WatchTimers
from dashwright.api.resources.watching.transitions import transition_of
from dashwright.common.identity import Identity, Role
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.stores.changes import Change, ObjectState

SOMEBODY = Identity(uid="user:1", login="somebody", org_id=1, role=Role.VIEWER)


def state(label: str = "", size: int = 0) -> ObjectState:
    return ObjectState(1, "m" * size, None, label, None, "v2alpha1", False, "", "")


def change(version: int, happened: str = "ADDED", new: ObjectState | None = None, old: ObjectState | None = None) -> Change:
    uid = uuid.UUID(int=version)
    return Change(version, DASHBOARD, DASHBOARD.group, "default", f"d{version}", uid, happened, new or state(), old, None, None)


class IdleStream:
    """A change stream without changes."""

    is_following = True
    index = 0

    def boundary(self, namespace: str) -> int:
        return 0


def cursor() -> Cursor:
    stream: Any = IdleStream()
    return Cursor(stream, DASHBOARD, "default", None, SOMEBODY)


@given(st.integers(0, 30), st.integers(1, 10), st.integers(0, 40), st.integers(0, 40))
def test_a_buffer_returns_all_changes_or_none(count: int, limit: int, index: int, until: int) -> None:
    """The buffer returns every change after an index, in the order of arrival, or None if it has discarded some of them."""
    buffer = ChangeBuffer(max_changes=limit)
    for version in range(count, 0, -1):
        buffer.append(change(version))
    returned = buffer.changes_after(index, last_index=until)
    if returned is None:
        assert index < count - limit
    else:
        assert [count - change.resource_version + 1 for change in returned] == list(range(index + 1, min(count, until) + 1))


def test_a_buffer_is_bounded_by_bytes() -> None:
    """Large changes remove more of the older ones. After clearing, earlier positions are unknown."""
    buffer = ChangeBuffer(max_bytes=10_000)
    for version in range(1, 6):
        buffer.append(change(version))
    buffer.append(change(6, new=state(size=9_000)))
    assert (buffer.last_index, buffer.changes_after(5, last_index=6) is not None, buffer.changes_after(4, last_index=6)) == (6, True, None)
    buffer.clear()
    assert (buffer.changes_after(6, last_index=7), buffer.changes_after(7, last_index=7)) == (None, [])


@pytest.mark.parametrize(
    ("happened", "was", "is_now", "told_as", "expected"),
    [
        ("ADDED", None, "in", "ADDED", "in"),
        ("ADDED", None, "out", None, None),
        ("MODIFIED", "in", "in", "MODIFIED", "in"),
        ("MODIFIED", "out", "in", "ADDED", "in"),
        ("MODIFIED", "in", "out", "DELETED", "in"),
        ("MODIFIED", "out", "out", None, None),
        # Changes of jobs have no old state.
        ("MODIFIED", None, "in", "MODIFIED", "in"),
        ("DELETED", None, "in", "DELETED", "in"),
        ("DELETED", None, "out", None, None),
    ],
)
def test_a_watcher_sees_its_selection_alone(happened: str, was: str | None, is_now: str, told_as: str | None, expected: str | None) -> None:
    """An object that enters the selection is added, one that leaves it is deleted with its old content, and others are not reported."""
    event = transition_of(change(1, happened, state(is_now), None if was is None else state(was)), lambda item: item.labels == "in")
    assert (told_as, expected) == ((None, None) if event is None else (event.type, event.state.labels))


async def test_a_waiting_watcher_is_woken_once_for_all_reasons() -> None:
    """Several reasons wake a waiting watcher once, and changes while it is busy are not lost."""
    waiting = cursor()
    task = asyncio.create_task(waiting.wait())
    await asyncio.sleep(0)
    waiting.wake(WakeReason.CHANGES)
    waiting.wake(WakeReason.BOOKMARK)
    await task
    assert waiting.take_wake_reasons() == WakeReason.CHANGES | WakeReason.BOOKMARK
    waiting.wake(WakeReason.TIMEOUT)
    await waiting.wait()
    assert (waiting.take_wake_reasons(), waiting.take_wake_reasons()) == (WakeReason.TIMEOUT, WakeReason.NOTHING)


@pytest.mark.looptime
async def test_bookmarks_are_sent_every_minute() -> None:
    """Watchers that requested bookmarks receive them every minute, spread over time."""
    turns, wanting, not_wanting = WatchTimers(), [cursor() for _ in range(BOOKMARK_SECONDS)], cursor()
    for watcher in wanting:
        turns.add(watcher, seconds=1000, bookmarks=True)
    turns.add(not_wanting, seconds=1000, bookmarks=False)
    for _ in range(2):
        counts = []
        for _ in range(BOOKMARK_SECONDS):
            await asyncio.sleep(1)
            counts.append(sum(WakeReason.BOOKMARK in watcher.take_wake_reasons() for watcher in wanting))
        assert sum(counts) == BOOKMARK_SECONDS
        assert max(counts) <= 2
    assert not_wanting.take_wake_reasons() == WakeReason.NOTHING
    turns.close()


@pytest.mark.looptime
async def test_a_watcher_is_woken_at_its_timeout_and_later_cancelled() -> None:
    """A client that reads nothing does not keep its watch open; a closed watch is not touched."""
    timers, woken, cancelled = WatchTimers(), cursor(), cursor()
    for watcher in (woken, cancelled):
        timers.add(watcher, seconds=5, bookmarks=False)
    stuck = asyncio.create_task(asyncio.Event().wait())
    woken.attach_task(stuck)
    await asyncio.sleep(4)
    assert woken.take_wake_reasons() == WakeReason.NOTHING
    await asyncio.sleep(2)
    assert (woken.take_wake_reasons(), cancelled.take_wake_reasons()) == (WakeReason.TIMEOUT, WakeReason.TIMEOUT)
    timers.remove(cancelled)
    await asyncio.sleep(GRACE_SECONDS - 4)
    assert not stuck.cancelled()
    await asyncio.sleep(4)
    assert stuck.cancelled()
    timers.remove(woken)

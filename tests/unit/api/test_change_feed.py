"""The change buffer of a gateway, and the notification of watchers."""

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

VIEWER = Identity(uid="user:1", login="vic", org_id=1, role=Role.VIEWER)


def state(label: str = "", size: int = 0) -> ObjectState:
    """Return a state with a label and metadata of a size."""
    return ObjectState(
        generation=1,
        metadata="m" * size,
        status=None,
        labels=label,
        folder=None,
        stored_version="v2alpha1",
        layout=False,
        title="",
        subtype="",
    )


def change(version: int, event_type: str = "ADDED", new: ObjectState | None = None, old: ObjectState | None = None) -> Change:
    """Return a change of a dashboard whose name and uid follow from the resource version."""
    uid = uuid.UUID(int=version)
    return Change(
        resource_version=version,
        kind=DASHBOARD,
        group=DASHBOARD.group,
        namespace="default",
        name=f"d{version}",
        uid=uid,
        type=event_type,
        state=new or state(),
        old=old,
        old_resource_version=None,
        spec=None,
    )


class IdleStream:
    """A change stream without changes."""

    is_following = True
    index = 0

    def boundary(self, namespace: str) -> int:
        """Return 0: no change of the namespace has been read."""
        return 0


def cursor() -> Cursor:
    """Return the cursor of a watch on all dashboards."""
    stream: Any = IdleStream()
    return Cursor(stream=stream, kind=DASHBOARD, namespace="default", name=None, caller=VIEWER)


@given(st.integers(0, 30), st.integers(1, 10), st.integers(0, 40), st.integers(0, 40))
def test_a_buffer_returns_all_changes_or_none(count: int, limit: int, index: int, until: int) -> None:
    """The buffer returns every change after an index, in the order of arrival, or None if it has discarded some of them."""
    buffer = ChangeBuffer(max_changes=limit)
    # The change at index i has version count - i + 1: changes are not sorted by version.
    for version in range(count, 0, -1):
        buffer.append(change(version))
    returned = buffer.changes_after(index, last_index=until)
    if returned is None:
        # The buffer has only the last changes, as many as its limit.
        assert index < count - limit
    else:
        assert [count - change.resource_version + 1 for change in returned] == list(range(index + 1, min(count, until) + 1))


def test_a_buffer_is_bounded_by_bytes() -> None:
    """A large change discards several older ones. After ``clear``, the changes after earlier positions are unknown."""
    # A change counts as at least 700 bytes, so the sixth change, of 9,000 bytes, leaves no space for others.
    buffer = ChangeBuffer(max_bytes=10_000)
    for version in range(1, 6):
        buffer.append(change(version))
    buffer.append(change(6, new=state(size=9_000)))
    assert buffer.last_index == 6
    assert buffer.changes_after(5, last_index=6) is not None
    assert buffer.changes_after(4, last_index=6) is None
    buffer.clear()
    # Clearing skips index 7.
    assert buffer.changes_after(6, last_index=7) is None
    assert buffer.changes_after(7, last_index=7) == []


@pytest.mark.parametrize(
    ("event_type", "old_label", "new_label", "reported_type", "reported_label"),
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
def test_a_watcher_sees_only_its_selection(
    event_type: str, old_label: str | None, new_label: str, reported_type: str | None, reported_label: str | None
) -> None:
    """An object that enters the selection is reported as added, and one that leaves it as deleted, with its old content.

    Changes of objects outside of the selection are not reported. The selection is the label ``in``.
    """
    old = None if old_label is None else state(old_label)
    event = transition_of(change(1, event_type, state(new_label), old), lambda item: item.labels == "in")
    if reported_type is None:
        assert event is None
    else:
        assert event is not None
        assert event.type == reported_type
        assert event.state.labels == reported_label


async def test_a_waiting_watcher_is_woken_once_for_all_reasons() -> None:
    """Several reasons wake a waiting watcher once. A reason that occurs before the watcher waits is not lost."""
    waiting = cursor()
    task = asyncio.create_task(waiting.wait())
    await asyncio.sleep(0)
    waiting.wake(WakeReason.CHANGES)
    waiting.wake(WakeReason.BOOKMARK)
    await task
    assert waiting.take_wake_reasons() == WakeReason.CHANGES | WakeReason.BOOKMARK
    waiting.wake(WakeReason.TIMEOUT)
    await waiting.wait()
    assert waiting.take_wake_reasons() == WakeReason.TIMEOUT
    assert waiting.take_wake_reasons() == WakeReason.NOTHING


@pytest.mark.looptime
async def test_bookmarks_are_sent_every_minute() -> None:
    """Watchers that requested bookmarks receive them every minute, spread over time."""
    timers, subscribers, other_watcher = WatchTimers(), [cursor() for _ in range(BOOKMARK_SECONDS)], cursor()
    for watcher in subscribers:
        timers.add(watcher, seconds=1000, bookmarks=True)
    timers.add(other_watcher, seconds=1000, bookmarks=False)
    # Two minutes: bookmarks are repeated.
    for _ in range(2):
        counts = []
        for _ in range(BOOKMARK_SECONDS):
            await asyncio.sleep(1)
            counts.append(sum(WakeReason.BOOKMARK in watcher.take_wake_reasons() for watcher in subscribers))
        assert sum(counts) == len(subscribers)
        # A second of the test may overlap two seconds of the timer.
        assert max(counts) <= 2
    assert other_watcher.take_wake_reasons() == WakeReason.NOTHING
    timers.close()


@pytest.mark.looptime
async def test_a_watcher_is_woken_at_its_timeout_and_later_cancelled() -> None:
    """A watch is woken at its timeout. If its client reads nothing, its task is cancelled ``GRACE_SECONDS`` later."""
    timers, unread, closed = WatchTimers(), cursor(), cursor()
    for watcher in (unread, closed):
        timers.add(watcher, seconds=5, bookmarks=False)
    stuck = asyncio.create_task(asyncio.Event().wait())
    unread.attach_task(stuck)
    await asyncio.sleep(4)
    assert unread.take_wake_reasons() == WakeReason.NOTHING
    await asyncio.sleep(2)
    assert unread.take_wake_reasons() == WakeReason.TIMEOUT
    assert closed.take_wake_reasons() == WakeReason.TIMEOUT
    timers.remove(closed)
    # The timeout was one second ago, so the task is cancelled in ``GRACE_SECONDS - 1`` seconds.
    await asyncio.sleep(GRACE_SECONDS - 4)
    assert not stuck.cancelled()
    await asyncio.sleep(4)
    assert stuck.cancelled()
    timers.remove(unread)

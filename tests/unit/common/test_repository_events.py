"""Events that a repository announces, and the bounds of their data."""

import json
import uuid
from typing import Any, get_args

import pytest

from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.notifications import EventFile, EventSelector, NotificationReceiver, RepositoryEventName
from dashwright.common.models.provisioning import JobResourceSummary, JobStatus, State, SyncStatus
from dashwright.common.stores import jobs
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.repositories import QuarantineChange
from dashwright.common.stores.repository_events import MAX_FILES, health_announcements, quarantine_announcements, sync_announcements
from dashwright.common.stores.resources import StoredObject

GIT = {"type": "githost", "githost": {"url": "https://git.example/team", "branch": "main"}}
LOCAL = {"type": "local", "local": {"path": "/srv/team"}}


def repository(source: dict[str, Any]) -> StoredObject:
    """Return a stored repository with a source."""
    spec = {"title": "T", "workflows": [], "sync": {"enabled": True, "target": "folder"}, **source}
    return StoredObject(
        kind=REPOSITORY,
        uid=uuid.uuid4(),
        name="team",
        namespace="default",
        resource_version=1,
        generation=1,
        stored_version="v0alpha1",
        metadata="{}",
        spec=json.dumps(spec),
        status=None,
    )


def job(submitter: str) -> StoredJob:
    """Return a sync job of a submitter, which is the scheduler for a periodic sync."""
    return StoredJob(
        kind=JOB,
        uid=uuid.uuid4(),
        name="team-sync-1",
        namespace="default",
        resource_version=1,
        generation=1,
        metadata="{}",
        spec="{}",
        status="{}",
        state="working",
        action="sync",
        repository="team",
        attempts=1,
        submitted_by={"uid": submitter},
        coalesce_key=None,
        wake_key="work.sync",
        trace=None,
    )


def status(state: State, **counts: int) -> JobStatus:
    """Return the status of an ended job with the counts of one kind, and two unchanged objects of another kind."""
    return JobStatus(state=state, finished=1, summary=[JobResourceSummary.model_validate(counts), JobResourceSummary(noop=2)])


@pytest.mark.parametrize(
    ("source", "submitter", "job_status", "name"),
    [
        pytest.param(GIT, "user:1", status(State.SUCCESS, create=1), "sync.success", id="success"),
        pytest.param(GIT, "user:1", status(State.SUCCESS, warning=1), "sync.warning", id="warning"),
        pytest.param(GIT, "user:1", status(State.ERROR, error=1, warning=1), "sync.error", id="error"),
        pytest.param(GIT, jobs.SCHEDULER, status(State.SUCCESS), "sync.success", id="periodic"),
        pytest.param(LOCAL, "user:1", status(State.SUCCESS), "sync.success", id="local directory"),
        pytest.param(LOCAL, jobs.SCHEDULER, status(State.SUCCESS), None, id="periodic without changes"),
        pytest.param(LOCAL, jobs.SCHEDULER, status(State.SUCCESS, update=1), "sync.success", id="periodic with a change"),
        pytest.param(LOCAL, jobs.SCHEDULER, status(State.ERROR, error=1), "sync.error", id="periodic with an error"),
        pytest.param(GIT, "user:1", JobStatus(state=State.ERROR, finished=1), "sync.error", id="no summary"),
    ],
)
def test_the_end_of_a_sync_is_named_for_its_result(source: Any, submitter: str, job_status: JobStatus, name: str | None) -> None:
    """The event of a sync is named after its result. Periodic syncs of local directories without changes have no event.

    The counts of an event are the totals of all kinds.
    """
    events = sync_announcements(repository(source), job(submitter), job_status, SyncStatus())
    expected_names = [] if name is None else [name]
    assert [event.name for event in events] == expected_names
    for event in events:
        assert event.data.message
        assert event.data.counts is not None
        expected_noop = 2 if job_status.summary else 0
        assert event.data.counts.noop == expected_noop


@pytest.mark.parametrize(
    ("was_healthy", "healthy", "names"),
    [
        (None, True, []),
        (None, False, ["health.unhealthy"]),
        (True, True, []),
        (True, False, ["health.unhealthy"]),
        (False, False, []),
        (False, True, ["health.healthy"]),
    ],
)
def test_the_health_is_announced_when_it_changes(was_healthy: bool | None, healthy: bool, names: list[str]) -> None:
    """A change of the health is an event. The first check of a repository is an event only if it fails."""
    events = health_announcements(repository(GIT), was_healthy=was_healthy, healthy=healthy, message="m", commit=None, milliseconds=1)
    assert [event.name for event in events] == names


def test_events_are_bounded() -> None:
    """An event has at most a hundred files, and messages of a thousand characters. The number of files is complete."""
    files = [EventFile(path=f"{index:05}.json", message="m" * 5000) for index in range(10_000)]
    (event,) = quarantine_announcements(repository(GIT), change=QuarantineChange(entered=files, left=[]), commit="c", milliseconds=1)
    assert event.data.file_count == 10_000
    assert len(event.data.files or ()) == MAX_FILES
    # A hundred messages of a thousand characters, and the rest of the event.
    assert len(event.data.to_json()) < 150_000
    job_status = JobStatus(state=State.ERROR, finished=1, message="m" * 5000, errors=["e" * 5000] * 20)
    (ended,) = sync_announcements(repository(GIT), job("user:1"), job_status, SyncStatus())
    # Twenty errors and a message, each of a thousand characters.
    assert len(ended.data.to_json()) < 30_000


def test_every_event_can_be_selected() -> None:
    """The selectors are the names of the events and their groups: the group of ``sync.error`` is ``sync``.

    A receiver without a selection gets every event.
    """
    names = {name.value for name in RepositoryEventName}
    assert set(get_args(EventSelector)) == names | {name.partition(".")[0] for name in names}
    for name in RepositoryEventName:
        for selected in (None, [name.value], [name.group]):
            assert NotificationReceiver(name="a", url="https://a", events=selected).is_notified_of(name)  # type: ignore[arg-type] # names of events
        others = [other.value for other in RepositoryEventName if other is not name]
        assert not NotificationReceiver(name="a", url="https://a", events=others).is_notified_of(name)  # type: ignore[arg-type] # names of events

"""The progress of a job, which counts results into the summary and the status of the job."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.jobs.progress import Effect, JobProgress, Result
from dashwright.common.models.provisioning import State


def file_result(
    effect: Effect = Effect.CREATE, path: str = "a.json", error: str = "", name: str = "", resource: str = "dashboards"
) -> Result:
    """Return the result of a sync for one file."""
    return Result(effect, "dashboard.grafana.app", resource, path=path, name=name, error=error)


def test_nothing_recorded_is_success() -> None:
    """A job without results and errors has completed."""
    assert JobProgress().outcome == (State.SUCCESS, "completed successfully")


def test_the_final_message_is_used_only_if_nothing_failed() -> None:
    """If a job has errors, its message reports them instead of the action's own final message."""
    progress = JobProgress(final_message="no changes to sync")
    assert progress.outcome == (State.SUCCESS, "no changes to sync")
    progress.record(file_result(error="broken"))
    assert progress.outcome == (State.ERROR, "completed with errors")


def test_any_error_makes_the_job_an_error() -> None:
    """One failed file among successful ones makes the job an error."""
    progress = JobProgress()
    progress.record(file_result(Effect.UPDATE, error="failed to process"))
    progress.record(file_result(path="b.json"))
    assert progress.outcome == (State.ERROR, "completed with errors")
    assert progress.error_count == 1


def test_the_limit_of_errors_changes_the_message() -> None:
    """From the limit on, the message has the number of errors."""
    progress = JobProgress(max_errors=1)
    progress.record(file_result(error="x"))
    assert progress.outcome == (State.ERROR, "completed with too many errors")
    assert progress.error_limit_message == "too many errors: 1"


def test_the_failure_of_a_job_is_its_message() -> None:
    """The error that ended the job is its message and its first error. Uncommitted results no longer count as progress."""
    progress = JobProgress(total=10, uncommitted=10)
    progress.record(file_result(error="x"))
    progress.fail("boom")
    assert progress.outcome == (State.ERROR, "boom")
    assert progress.errors[0] == "boom"
    # One of the ten results is recorded.
    assert progress.percent == 10


def test_uncounted_results_are_not_counted() -> None:
    """Uncounted results are not counted, not even with an error."""
    progress = JobProgress()
    progress.record(file_result(Effect.UNCOUNTED, "a/", "unsupported"))
    assert progress.outcome[0] is State.SUCCESS
    assert progress.summary() == []


def test_ignored_files_and_warnings_are_not_errors() -> None:
    """Ignored files and warnings are counted apart from the total; twenty warnings are kept as strings."""
    progress = JobProgress()
    for index in range(25):
        progress.record(Result(Effect.IGNORED, "dashboard.grafana.app", "dashboards", f"{index}.json", warning="a copy"))
    progress.record(file_result(Effect.IGNORED, "package.json"))
    (entry,) = progress.summary()
    state, _ = progress.outcome
    assert state is State.SUCCESS
    assert progress.errors == []
    assert entry.errors is None
    assert entry.total == 0
    assert entry.ignored == 26
    assert entry.warning == 25
    assert entry.warnings is not None
    assert len(entry.warnings) == 20
    assert entry.warnings[0] == "a copy (file: 0.json, action: ignored)"


@pytest.mark.parametrize(("total", "done", "percent"), [(4, 1, 25.0), (0, 3, 0.0), (2, 3, 100.0)])
def test_progress_is_the_done_share_of_the_total(total: int, done: int, percent: float) -> None:
    """The progress is the part of the total that is done: zero while the total is unknown, and never above 100."""
    progress = JobProgress(total=total)
    progress.record(file_result(Effect.NOOP, ""), done)
    assert progress.percent == percent


@pytest.mark.parametrize(("read", "total", "done", "percent"), [(0, 0, 0, 0.0), (2, 0, 0, 25.0), (4, 8, 4, 75.0), (4, 8, 8, 99.0)])
def test_reading_is_half_of_the_progress(read: int, total: int, done: int, percent: float) -> None:
    """If files are read, reading is the first half of the progress; 100 is reserved for the end."""
    progress = JobProgress(files_to_read=4, files_read=read, total=total, uncommitted=done)
    assert progress.status(started=5).progress == percent


def test_a_success_has_full_progress() -> None:
    """A job with nothing to do shows 100; a failed one shows its last progress."""
    assert JobProgress().status(started=5, finished=9).progress == 100
    progress = JobProgress(total=4, done=1)
    progress.fail("boom")
    assert progress.status(started=5, finished=9).progress == 25


def test_the_number_of_kept_errors_is_limited() -> None:
    """Twenty messages are kept for the job and for each resource, and all errors are counted."""
    progress = JobProgress()
    for index in range(50):
        progress.record(file_result(path=f"{index}.json", error="broken"))
    (entry,) = progress.summary()
    assert len(progress.errors) == 20
    assert entry.errors is not None
    assert len(entry.errors) == 20
    assert entry.error == 50


@pytest.mark.parametrize("message", ["broken", "duplicate: a.json", "the folder data.json is missing"])
def test_an_error_ends_with_its_file(message: str) -> None:
    """The file, name and action follow each message, also one that contains the path or a longer path."""
    assert file_result(Effect.UPDATE, error=message, name="n").problem == f"{message} (file: a.json, name: n, action: update)"


def test_an_error_without_a_file_is_its_message() -> None:
    """An error that concerns no file has no details."""
    assert file_result(path="", error="broken").problem == "broken"


def test_a_warning_that_no_summary_counts_has_no_action() -> None:
    """A warning of a result without an effect names the file only."""
    assert Result(Effect.UNCOUNTED, "folder.grafana.app", "folders", "a/", warning="odd").problem == "odd (file: a/)"


def test_summary_has_one_entry_a_resource() -> None:
    """The summary has one entry for each group and plural, in order. A write counts as a create or an update."""
    progress = JobProgress()
    progress.record(file_result())
    progress.record(file_result(Effect.UPDATE))
    progress.record(file_result(Effect.DELETE))
    progress.record(file_result(error="x"))
    progress.record(file_result(Effect.NOOP), 7)
    progress.record(Result(Effect.CREATE, "folder.grafana.app", "folders", "a/"))
    dashboards, folders = progress.summary()
    assert dashboards.model_dump(exclude={"errors"}) == {
        "group": "dashboard.grafana.app",
        "resource": "dashboards",
        # A create, an update, a deletion, an error and seven results without a change.
        "total": 11,
        "create": 1,
        "update": 1,
        "delete": 1,
        "write": 2,
        "error": 1,
        "noop": 7,
        "ignored": 0,
        "warning": 0,
        "warnings": None,
    }
    assert folders.resource == "folders"
    assert folders.create == 1
    assert folders.errors is None


@given(st.lists(st.tuples(st.sampled_from(list(Effect)), st.booleans())))
def test_total_is_the_sum_of_the_counters(effects: list[tuple[Effect, bool]]) -> None:
    """The totals of a summary count each result once, except uncounted results and ignored files without an error."""
    progress = JobProgress(total=len(effects))
    for effect, fails in effects:
        progress.record(file_result(effect, error="x" if fails else ""))
    counted = [effect for effect, fails in effects if effect is not Effect.UNCOUNTED and (fails or effect is not Effect.IGNORED)]
    assert sum(entry.total or 0 for entry in progress.summary()) == len(counted)
    # Without results, the total is zero, and so is the progress.
    expected_percent = 100.0 if effects else 0.0
    assert progress.percent == expected_percent


def test_a_status_has_the_step_and_then_the_result() -> None:
    """The message of a working job is its step, and the message of a finished job is its result."""
    progress = JobProgress(message="replicating changes", total=2)
    progress.record(file_result())
    working = progress.status(started=5)
    finished = progress.status(started=5, finished=9)
    assert working.state is State.WORKING
    assert working.message == "replicating changes"
    assert working.progress == 50.0
    assert working.finished is None
    assert finished.state is State.SUCCESS
    assert finished.message == "completed successfully"
    assert finished.finished == 9

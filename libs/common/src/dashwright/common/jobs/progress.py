"""Progress of a job: results counted into the numbers of a JobStatus."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dashwright.common.jobs import job_messages
from dashwright.common.models.provisioning import JobResourceSummary, JobStatus, State

#: Number of error texts kept, and of errors at which most jobs stop.
MOST_ERRORS = 20

#: Percent that an unfinished job shows at most: results in progress may still have to be committed.
_MOST_AT_WORK: Final = 99.0


class Effect(StrEnum):
    """Effect of a job on one resource or file."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    NOOP = "noop"
    IGNORED = "ignored"  #: File without a resource.
    UNCOUNTED = "uncounted"  #: Result that appears in no summary.


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome for one resource."""

    effect: Effect  #: With an ``error``: the intended effect.
    group: str
    resource: str  #: Plural of the kind.
    path: str
    name: str = ""
    error: str = ""
    warning: str = ""  #: Worth reporting, without changing the outcome.

    @property
    def complaint(self) -> str:
        """Error or warning, with what is needed to find the file."""
        text = self.error or self.warning
        if self.path in text:
            return text
        found = [f"file: {self.path}", f"name: {self.name}" if self.name else "", f"action: {self.effect.value}"]
        return f"{text} ({', '.join(part for part in found if part)})"


@dataclass(slots=True)
class _Count:
    create: int = 0
    update: int = 0
    delete: int = 0
    noop: int = 0
    ignored: int = 0
    error: int = 0
    errors: list[str] = field(default_factory=list)
    warning: int = 0
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class JobProgress:
    """Progress that grows with each result."""

    message: str = job_messages.STARTED
    total: int = 0  #: Number of expected results.
    underway: int = 0  #: Results that are done but not committed yet.
    to_read: int = 0  #: Number of files to read before ``total`` is known: the first half of the progress.
    read: int = 0  #: Number of files read.
    final_message: str = job_messages.COMPLETED
    #: Errors at which the job ends with too many errors. As many texts are kept, but every result counts.
    most_errors: int = MOST_ERRORS
    errors: list[str] = field(default_factory=list)
    error_count: int = 0
    done: int = 0
    _failure: str = ""
    _counts: dict[tuple[str, str], _Count] = field(default_factory=dict)

    def record(self, result: Result, times: int = 1) -> None:
        """Count a result ``times`` times."""
        self.done += times
        if result.effect is Effect.UNCOUNTED:
            return
        count = self._counts.setdefault((result.group, result.resource), _Count())
        if result.error:
            self._complain(count, result)
        else:
            setattr(count, result.effect.value, getattr(count, result.effect.value) + times)
        if result.warning:
            count.warning += 1
            count.warnings += [result.complaint] if len(count.warnings) < MOST_ERRORS else []

    def _complain(self, count: _Count, result: Result) -> None:
        self.error_count += 1
        count.error += 1
        if len(count.errors) < MOST_ERRORS:
            count.errors.append(result.complaint)
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(result.complaint)

    def fail(self, message: str) -> None:
        """Fail the job as a whole: results in progress do not count."""
        self._failure = message
        self.underway = 0
        self.errors = [message, *self.errors][:MOST_ERRORS]

    @property
    def percent(self) -> float:
        """Percentage of files read and of expected results; 0 while both numbers are unknown."""
        done = min(1.0, (self.done + self.underway) / self.total) if self.total else 0.0
        return 50.0 * (min(1.0, self.read / self.to_read) + done) if self.to_read else 100.0 * done

    @property
    def too_many_errors(self) -> str:
        """Message once the limit is reached, otherwise empty."""
        return job_messages.too_many_errors(self.error_count) if self.error_count >= self.most_errors else ""

    @property
    def outcome(self) -> tuple[State, str]:
        """Final state and message. Any recorded error makes the job an ``error``."""
        if self._failure:
            return State.ERROR, self._failure
        if self.too_many_errors:
            return State.ERROR, job_messages.COMPLETED_WITH_TOO_MANY_ERRORS
        if self.error_count:
            return State.ERROR, job_messages.COMPLETED_WITH_ERRORS
        return State.SUCCESS, self.final_message

    def summary(self) -> list[JobResourceSummary]:
        """Return one entry for each group and resource; ``write`` is create and update together, ``total`` leaves ignored files out."""
        return [
            JobResourceSummary(
                group=group,
                resource=resource,
                total=count.create + count.update + count.delete + count.noop + count.error,
                create=count.create,
                update=count.update,
                delete=count.delete,
                write=count.create + count.update,
                error=count.error,
                noop=count.noop,
                errors=list(count.errors) or None,
                ignored=count.ignored,
                warning=count.warning,
                warnings=list(count.warnings) or None,
            )
            for (group, resource), count in sorted(self._counts.items())
        ]

    def status(self, *, started: int, finished: int | None = None) -> JobStatus:
        """Return the status of a working job, or with ``finished`` that of an ended one. Times are Unix milliseconds."""
        state, message = (State.WORKING, self.message) if finished is None else self.outcome
        progress = 100.0 if state is State.SUCCESS else min(self.percent, _MOST_AT_WORK) if finished is None else self.percent
        return JobStatus(
            state=state,
            started=started,
            finished=finished,
            message=message,
            errors=list(self.errors) or None,
            progress=progress,
            summary=self.summary() or None,
        )

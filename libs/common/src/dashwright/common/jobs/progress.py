"""Progress of a job, which counts results for the job's status."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dashwright.common.jobs import job_messages
from dashwright.common.models.provisioning import JobResourceSummary, JobStatus, State

#: Maximum number of reported errors, and the number of errors at which most jobs stop.
MAX_ERRORS = 20

#: Maximum percentage of an unfinished job, whose results may not be committed yet.
_MAX_UNFINISHED_PERCENT: Final = 99.0


class Effect(StrEnum):
    """Effect of a job on one resource or file."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    NOOP = "noop"
    IGNORED = "ignored"  #: File without a resource.
    UNCOUNTED = "uncounted"  #: Result that no summary counts; its warning is reported.


@dataclass(frozen=True, slots=True)
class Result:
    """Result for one resource."""

    effect: Effect  #: The intended effect if there is an ``error``.
    group: str
    resource: str  #: Plural of the kind.
    path: str
    name: str = ""
    error: str = ""
    warning: str = ""  #: Message that does not make the job fail.

    @property
    def problem(self) -> str:
        """Error or warning, followed by path, name and action unless the result concerns no file."""
        message = self.error or self.warning
        if not self.path:
            return message
        details = [
            f"file: {self.path}",
            f"name: {self.name}" if self.name else "",
            f"action: {self.effect.value}" if self.effect is not Effect.UNCOUNTED else "",
        ]
        return f"{message} ({', '.join(detail for detail in details if detail)})"


@dataclass(slots=True)
class _EffectCounts:
    """Counts of the results for one kind of resource, with the first messages."""

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
    uncommitted: int = 0  #: Number of results that are not committed yet.
    files_to_read: int = 0  #: Number of files to read before ``total`` is known. Reading is the first half of the progress.
    files_read: int = 0
    final_message: str = job_messages.COMPLETED
    #: Number of errors at which the job stops. At most MAX_ERRORS of them are reported.
    max_errors: int = MAX_ERRORS
    errors: list[str] = field(default_factory=list)
    error_count: int = 0
    done: int = 0  #: Number of recorded results.
    _failure: str = ""  #: Message of ``fail``.
    _counts: dict[tuple[str, str], _EffectCounts] = field(default_factory=dict)

    def record(self, result: Result, times: int = 1) -> None:
        """Count a result, which advances the progress by ``times``. An error or warning is listed and counted once."""
        self.done += times
        if result.effect is Effect.UNCOUNTED and not result.warning:
            return
        counts = self._counts.setdefault((result.group, result.resource), _EffectCounts())
        if result.error:
            self._record_error(counts, result)
        elif result.effect is not Effect.UNCOUNTED:
            # The value of each effect that is counted is the name of a field.
            setattr(counts, result.effect.value, getattr(counts, result.effect.value) + times)
        if result.warning:
            counts.warning += 1
            if len(counts.warnings) < MAX_ERRORS:
                counts.warnings.append(result.problem)

    def _record_error(self, counts: _EffectCounts, result: Result) -> None:
        self.error_count += 1
        counts.error += 1
        if len(counts.errors) < MAX_ERRORS:
            counts.errors.append(result.problem)
        if len(self.errors) < MAX_ERRORS:
            self.errors.append(result.problem)

    def fail(self, message: str) -> None:
        """Make the job fail with a message. Uncommitted results are not counted any more."""
        self._failure = message
        self.uncommitted = 0
        self.errors = [message, *self.errors][:MAX_ERRORS]

    @property
    def percent(self) -> float:
        """Progress in percent. If there are files to read, reading is one half, and the expected results are the other half."""
        done_fraction = min(1.0, (self.done + self.uncommitted) / self.total) if self.total else 0.0
        if not self.files_to_read:
            return 100.0 * done_fraction
        read_fraction = min(1.0, self.files_read / self.files_to_read)
        return 50.0 * (read_fraction + done_fraction)

    @property
    def error_limit_message(self) -> str:
        """Message if the limit of errors is reached, else an empty string."""
        return job_messages.too_many_errors(self.error_count) if self.error_count >= self.max_errors else ""

    @property
    def outcome(self) -> tuple[State, str]:
        """Final state and message. Any recorded error makes the job an ``error``."""
        if self._failure:
            return State.ERROR, self._failure
        if self.error_limit_message:
            return State.ERROR, job_messages.COMPLETED_WITH_TOO_MANY_ERRORS
        if self.error_count:
            return State.ERROR, job_messages.COMPLETED_WITH_ERRORS
        return State.SUCCESS, self.final_message

    def summary(self) -> list[JobResourceSummary]:
        """Return a summary for each group and resource. ``write`` counts creates and updates, and ``total`` excludes ignored files."""
        return [
            JobResourceSummary(
                group=group,
                resource=resource,
                total=counts.create + counts.update + counts.delete + counts.noop + counts.error,
                create=counts.create,
                update=counts.update,
                delete=counts.delete,
                write=counts.create + counts.update,
                error=counts.error,
                noop=counts.noop,
                errors=list(counts.errors) or None,
                ignored=counts.ignored,
                warning=counts.warning,
                warnings=list(counts.warnings) or None,
            )
            for (group, resource), counts in sorted(self._counts.items())
        ]

    def status(self, *, started: int, finished: int | None = None) -> JobStatus:
        """Return the status of a working job, or with ``finished`` that of an ended one. Times are Unix milliseconds."""
        state, message = (State.WORKING, self.message) if finished is None else self.outcome
        max_percent = _MAX_UNFINISHED_PERCENT if finished is None else 100.0
        # A job that succeeded is complete, even if it had fewer results than it expected.
        percent = 100.0 if state is State.SUCCESS else min(self.percent, max_percent)
        return JobStatus(
            state=state,
            started=started,
            finished=finished,
            message=message,
            errors=list(self.errors) or None,
            progress=percent,
            summary=self.summary() or None,
        )

"""What a job has done so far: results counted into the numbers of a JobStatus."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dashwright.common.jobs import job_messages
from dashwright.common.models.provisioning import JobResourceSummary, JobStatus, State

MOST_ERRORS = 20

_MOST_AT_WORK: Final = 99.0
"""Percent that a job shows until it has ended: what is underway may still have to be committed."""


class Effect(StrEnum):
    """The effect of a job on one resource or file. ``ignored`` is a file that holds no resource; ``uncounted`` counts nowhere."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    NOOP = "noop"
    IGNORED = "ignored"
    UNCOUNTED = "uncounted"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome for one resource; ``resource`` is the plural. With an ``error`` the effect is the one that was wanted.

    A ``warning`` is worth knowing, and changes nothing about the outcome.
    """

    effect: Effect
    group: str
    resource: str
    path: str
    name: str = ""
    error: str = ""
    warning: str = ""

    @property
    def complaint(self) -> str:
        """The error or warning with what is needed to find the file."""
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
    """Grows with each result. ``total`` is the number of results expected, ``underway`` of those done but not yet committed.

    ``to_read`` is the number of files to read before that is known, ``read`` of those read: the first half of the progress.
    At ``most_errors`` the verdict speaks of too many; that many texts are kept, but every result counts.
    """

    message: str = job_messages.STARTED
    total: int = 0
    underway: int = 0
    to_read: int = 0
    read: int = 0
    final_message: str = job_messages.COMPLETED
    most_errors: int = MOST_ERRORS
    errors: list[str] = field(default_factory=list)
    error_count: int = 0
    done: int = 0
    _failure: str = ""
    _counts: dict[tuple[str, str], _Count] = field(default_factory=dict)

    def record(self, result: Result, times: int = 1) -> None:
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
        """The job as a whole failed: nothing that is underway counts."""
        self._failure = message
        self.underway = 0
        self.errors = [message, *self.errors][:MOST_ERRORS]

    @property
    def percent(self) -> float:
        """Percent of what is to be read and of the expected results, 0 while both numbers are unknown."""
        done = min(1.0, (self.done + self.underway) / self.total) if self.total else 0.0
        return 50.0 * (min(1.0, self.read / self.to_read) + done) if self.to_read else 100.0 * done

    @property
    def too_many_errors(self) -> str:
        """The text once the limit is reached, else empty."""
        return job_messages.too_many_errors(self.error_count) if self.error_count >= self.most_errors else ""

    @property
    def outcome(self) -> tuple[State, str]:
        """The final state and message: any recorded error makes the job an ``error``."""
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
        """The status to write: of a working job, or with ``finished`` of one that ended. Unix milliseconds."""
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

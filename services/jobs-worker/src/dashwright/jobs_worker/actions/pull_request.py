"""The review of a pull request: one comment on it and one status of its newest commit say what merging it would change.

Only files that the pull request itself changes are reported. Changes on the target branch that it has not merged yet are ignored.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

import structlog

from dashwright.common.document import read_json
from dashwright.common.errors import Conflict, DashwrightError, TooManyRequests, Unavailable
from dashwright.common.jobs import job_messages, paths
from dashwright.common.jobs.progress import Effect, JobProgress, Result
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.repository_views import PlannedAction
from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.actions.files.looking import rules_at
from dashwright.jobs_worker.actions.preview import refusals
from dashwright.jobs_worker.actions.sync import PlannedSync, SyncJob, SyncTools, plan_sync
from dashwright.jobs_worker.domain.comment import MOST_IN_DETAIL, FileReport, Pictures, Report, comment_text, status_text
from dashwright.jobs_worker.domain.hosting import ChangedFile, CommitState, CommitStatus, PullRequest
from dashwright.jobs_worker.domain.lint.config import Config
from dashwright.jobs_worker.domain.lint.issue import Issue
from dashwright.jobs_worker.domain.lint.linter import BROKEN, lint
from dashwright.jobs_worker.domain.objects import Document, Key, Repository
from dashwright.jobs_worker.domain.panels import Comparison, compare
from dashwright.jobs_worker.domain.plan import PreparedFile
from dashwright.jobs_worker.domain.pull_request_reference import PullRequestReference
from dashwright.jobs_worker.domain.resource import Resource, unpack
from dashwright.jobs_worker.ports import Checkout, Host, ProgressReporter, PullRequestCheckouts, Renderer, StoredObjects

log = structlog.get_logger()

MOST_LOOKED_INTO: Final = 100
"""Dashboards of one pull request that are linted; of the others only whether they can be stored is reported."""

_EFFECTS: Final = {PlannedAction.CREATE: Effect.CREATE, PlannedAction.UPDATE: Effect.UPDATE, PlannedAction.DELETE: Effect.DELETE}


@dataclass(frozen=True, slots=True)
class ReviewTools:
    """The adapters of one review."""

    host: Host
    proposals: PullRequestCheckouts
    stored: StoredObjects
    sync_tools: SyncTools
    renderer: Renderer
    #: Public address of the gateway, without a slash at the end.
    address: str


async def review(repository: Repository, reference: PullRequestReference, tools: ReviewTools, reporter: ProgressReporter) -> JobProgress:
    """Comment on the pull request at the host, set the status of its commit and return what was found.

    A closed pull request, or one into another branch, ends without a comment. Raises what the ports raise, and BadRequest or NotFound if
    the host knows no such pull request. After an error the commit status is ``error`` if the host still accepts it.
    """
    progress = JobProgress(message=job_messages.REVIEWING)
    await reporter.report(progress)
    host = tools.host
    request = await _request(repository, reference, host)
    number = request.number
    if not request.is_open:
        progress.final_message = job_messages.REQUEST_CLOSED
        return progress
    if _branch(repository) not in ("", request.base):
        progress.final_message = job_messages.REQUEST_GOES_ELSEWHERE
        return progress
    checkout = await tools.proposals.at_pull_request(repository, number)
    await host.set_commit_status(repository, CommitStatus(checkout.commit, CommitState.PENDING, "reviewing the changes", ""))
    try:
        report = await _report(repository, request, checkout, tools, reporter)
        comment_url = await host.comment(repository, number, await asyncio.to_thread(comment_text, report), may_create=_has_content(report))
    except (TooManyRequests, Unavailable):
        raise
    except DashwrightError as error:
        await _set_error_status(repository, checkout.commit, host, error)
        raise
    state = CommitState.FAILURE if report.is_broken else CommitState.SUCCESS
    await host.set_commit_status(repository, CommitStatus(checkout.commit, state, status_text(report), comment_url))
    _record(progress, report)
    return progress


async def _request(repository: Repository, reference: PullRequestReference, host: Host) -> PullRequest:
    """Return the pull request that is meant: by its number, or else the open one that matches the reference."""
    number = reference.number
    if not number:
        number = reference.choose(await host.open_pull_requests(repository), _branch(repository)).number
    request = await host.pull_request(repository, number)
    reference.check(request)
    return request


async def _set_error_status(repository: Repository, commit: str, host: Host, error: DashwrightError) -> None:
    try:
        await host.set_commit_status(repository, CommitStatus(commit, CommitState.ERROR, f"the review failed: {error.message}", ""))
    except DashwrightError as failure:
        log.warning("commit_status_not_set", repository=repository.name, reason=failure.message)


async def _report(
    repository: Repository, request: PullRequest, checkout: Checkout, tools: ReviewTools, reporter: ProgressReporter
) -> Report:
    changed = await tools.host.changed_files(repository, request.number)
    touched, title = _touched(changed, _directory(repository)), repository.spec.title
    if not touched:
        return Report(title, checkout.commit, [])
    try:
        planned = await plan_sync(
            SyncJob.of(repository), checkout, tools.stored, reporter, tools.sync_tools, JobProgress(message=job_messages.REVIEWING)
        )
    except Conflict as error:
        return Report(title, checkout.commit, [], problems=[error.message])
    files = await _Review(repository, request, checkout, tools, planned).files(touched)
    problems = await refusals(repository.namespace, planned.plan, tools.stored)
    return Report(title, checkout.commit, files, max(0, request.files - len(changed)), problems)


def _touched(changed: Sequence[ChangedFile], directory: str) -> frozenset[str]:
    """Return the paths of added, changed and deleted resource files inside the repository's directory."""
    found = {paths.within(directory, path) for file in changed for path in (file.path, file.previous_path)}
    return frozenset(path for path in found if paths.is_resource(path) and not paths.is_hidden(path))


@dataclass(frozen=True, slots=True)
class _Review:
    """The review of one pull request whose sync is planned; the bodies of its files are in the spool."""

    repository: Repository
    request: PullRequest
    checkout: Checkout
    tools: ReviewTools
    planned: PlannedSync

    async def files(self, touched: frozenset[str]) -> list[FileReport]:
        """Return reports of refused, written and deleted files, then of the folders."""
        plan = self.planned.plan
        refused = [
            FileReport(fault.path, PlannedAction.REFUSE, problems=[fault.message])
            for fault in plan.faults
            if fault.path in touched or any(path in fault.message for path in touched)
        ]
        written = await self._written([file for file in plan.writes if file.path in touched])
        if self._wants_pictures:
            written = [*await self._with_pictures(written[:MOST_IN_DETAIL]), *written[MOST_IN_DETAIL:]]
        removed = [
            FileReport(item.path, PlannedAction.DELETE, item.title, original=self._original(item.key))
            for item in plan.removals
            if item.key.group == DASHBOARD.group and item.path in touched
        ]
        return [*refused, *written, *removed, *self._folders(touched)]

    def _folders(self, touched: frozenset[str]) -> list[FileReport]:
        plan, folders = self.planned.plan, self.planned.folders
        above = {directory for path in touched for directory in paths.directories(path)}
        found = [
            FileReport(
                directory, _action_for(folders.key(directory) in plan.existing), folders.write(directory, is_new=False).extract.title
            )
            for directory in plan.directories
            if directory in above
        ]
        gone = [item for item in plan.removals if item.key.group == FOLDER.group and item.path.rstrip("/") + "/" in above]
        return [*found, *(FileReport(item.path.rstrip("/") + "/", PlannedAction.DELETE, item.title) for item in gone)]

    async def _written(self, files: Sequence[PreparedFile]) -> list[FileReport]:
        tools, existing = self.tools, self.planned.plan.existing
        config, faults = await rules_at(self.checkout)
        updates = [file.key for file in files[:MOST_IN_DETAIL] if file.key in existing]
        stored = await tools.stored.documents(self.repository.namespace, updates)
        found = []
        for number, file in enumerate(files):
            is_known = file.key in existing
            resource, findings = await asyncio.to_thread(self._read, file), _FileFindings()
            if number < MOST_LOOKED_INTO:
                before = stored.get(file.key) if is_known else None
                is_compared = number < MOST_IN_DETAIL and (before is not None or not is_known)
                findings = await asyncio.to_thread(_inspect, resource.spec, before, config, is_compared=is_compared)
            found.append(
                FileReport(
                    file.path,
                    _action_for(is_known),
                    resource.extract.title,
                    findings.comparison,
                    findings.problems,
                    [*faults, *findings.issues],
                    original=self._original(file.key) if is_known else "",
                    preview=self._preview(file.path),
                )
            )
        return found

    def _read(self, file: PreparedFile) -> Resource:
        return unpack(self.tools.sync_tools.spool.get(file.ticket))

    @property
    def _wants_pictures(self) -> bool:
        """``True`` if pictures are wanted and safe. Readers of a picture see the results of its queries, so a fork gets none."""
        githost = self.repository.spec.remote
        return githost is not None and bool(githost.generate_dashboard_previews) and not self.request.is_from_elsewhere

    async def _with_pictures(self, reports: Sequence[FileReport]) -> list[FileReport]:
        """Add pictures to the reports. After the first failure the others are not tried: the renderer is away or overloaded."""
        files = {file.path: file for file in self.planned.plan.writes}
        keys = [files[report.path].key for report in reports]
        stored = await self.tools.stored.documents(self.repository.namespace, keys)
        found, undrawn = [], ""
        for report in reports:
            if not undrawn:
                try:
                    found.append(replace(report, pictures=await self._pictures(files[report.path], stored)))
                    continue
                except DashwrightError as error:
                    log.warning("pictures_not_drawn", repository=self.repository.name, reason=error.message)
                    undrawn = error.message
            found.append(replace(report, undrawn=undrawn))
        return found

    async def _pictures(self, file: PreparedFile, stored: Mapping[Key, Document]) -> Pictures:
        renderer, before = self.tools.renderer, stored.get(file.key)
        old = await renderer.render(self.repository, before.spec) if before is not None else ""
        new = await asyncio.to_thread(self._read, file)
        return Pictures(old, await renderer.render(self.repository, new.spec))

    def _original(self, key: Key) -> str:
        return f"{self.tools.address}/d/{quote(key.name)}"

    def _preview(self, path: str) -> str:
        """Return the address of the preview of a file; empty for a fork, whose branch is unknown here."""
        if self.request.is_from_elsewhere:
            return ""
        return f"{self.tools.address}/preview/{self.repository.name}/{quote(path)}?ref={quote(self.request.head, safe='')}"


@dataclass(frozen=True, slots=True)
class _FileFindings:
    """The results of linting one file and comparing it with the stored dashboard."""

    comparison: Comparison | None = None
    problems: Sequence[str] = ()
    issues: Sequence[Issue] = ()


def _inspect(body: bytes, before: Document | None, config: Config | None, *, is_compared: bool) -> _FileFindings:
    spec = _tree(body)
    issues = lint(spec, config)
    problems = [issue.message for issue in issues if issue.rule in BROKEN and issue.severity is LintSeverity.ERROR]
    others = [issue for issue in issues if issue.rule not in BROKEN or issue.severity is not LintSeverity.ERROR]
    return _FileFindings(compare(_tree(before.spec) if before else {}, spec) if is_compared else None, problems, others)


def _tree(spec: bytes) -> Mapping[str, Any]:
    tree: dict[str, Any] = read_json(spec.decode())
    return tree


def _action_for(is_known: bool) -> PlannedAction:
    return PlannedAction.UPDATE if is_known else PlannedAction.CREATE


def _record(progress: JobProgress, report: Report) -> None:
    """Count the files in the job's progress. Faults of files do not fail the job: they are for the author of the pull request."""
    for file in report.files:
        if effect := _EFFECTS.get(file.action):
            kind = FOLDER if paths.is_directory(file.path) else DASHBOARD
            progress.record(Result(effect, kind.group, kind.plural, file.path))
    progress.total = progress.done
    progress.final_message = status_text(report) if _has_content(report) else job_messages.NO_FILES


def _has_content(report: Report) -> bool:
    return bool(report.files or report.problems)


def _branch(repository: Repository) -> str:
    return repository.spec.remote.branch if repository.spec.remote else ""


def _directory(repository: Repository) -> str:
    return (repository.spec.remote.path if repository.spec.remote else None) or ""

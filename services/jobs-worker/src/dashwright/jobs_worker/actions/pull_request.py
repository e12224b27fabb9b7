"""The review of a pull request: a comment on it and a status of its newest commit, with the effect of merging it.

Only files that the pull request itself changes are reported, not changes on the target branch that its branch lacks.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

import structlog

from dashwright.common.dashboard_comparison import Comparison, compare
from dashwright.common.errors import BadRequest, Conflict, DashwrightError, Forbidden, NotFound, TooManyRequests, Unavailable
from dashwright.common.jobs import job_messages, paths
from dashwright.common.jobs.progress import Effect, JobProgress, Result
from dashwright.common.json_documents import read_json
from dashwright.common.kinds.git_addresses import is_ssh_form
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.repository_views import PlannedAction
from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.actions.files.reading import read_lint_config
from dashwright.jobs_worker.actions.preview import quota_errors
from dashwright.jobs_worker.actions.sync import PlannedSync, SyncJob, SyncTools, plan_sync
from dashwright.jobs_worker.domain.comment import MAX_DETAILED_FILES, FileReport, Pictures, Report, comment_text, status_text
from dashwright.jobs_worker.domain.hosting import ChangedFile, CommitState, CommitStatus, PullRequest
from dashwright.jobs_worker.domain.lint.config import Config
from dashwright.jobs_worker.domain.lint.issue import Issue
from dashwright.jobs_worker.domain.lint.linter import ERROR_RULES, lint
from dashwright.jobs_worker.domain.objects import SHORT_HASH_DIGITS, Document, Key, Repository
from dashwright.jobs_worker.domain.plan import PreparedFile
from dashwright.jobs_worker.domain.pull_request_reference import PullRequestReference
from dashwright.jobs_worker.domain.resource import Resource, resource_from_bytes
from dashwright.jobs_worker.ports import Checkout, DocumentStore, Host, ProgressReporter, PullRequestCheckouts, Renderer

log = structlog.get_logger()

MAX_LINTED_FILES: Final = 100
"""Limit on the dashboards of a pull request that are linted. For further ones the report says only whether they can be stored."""

_EFFECTS: Final = {PlannedAction.CREATE: Effect.CREATE, PlannedAction.UPDATE: Effect.UPDATE, PlannedAction.DELETE: Effect.DELETE}


@dataclass(frozen=True, slots=True)
class ReviewTools:
    """The adapters of one review."""

    host: Host
    pull_request_checkouts: PullRequestCheckouts
    document_store: DocumentStore
    sync_tools: SyncTools
    renderer: Renderer
    #: Public address of the gateway, without a slash at the end.
    gateway_address: str


async def review(repository: Repository, reference: PullRequestReference, tools: ReviewTools, reporter: ProgressReporter) -> JobProgress:
    """Comment on the pull request at the host, set the status of its commit and return the progress.

    A pull request that is closed, or that targets another branch, receives no comment. Raises BadRequest or NotFound if the host knows no
    such pull request, and the errors of ``Host``, ``PullRequestCheckouts`` and ``plan_sync``. After an error the commit status is ``error``
    if the host still accepts it. A status that the token may not set is omitted with a warning.
    """
    if repository.spec.remote is not None and is_ssh_form(repository.spec.remote.url or ""):
        raise BadRequest("pull requests need the API of the git host: give the repository an https address and a token")
    progress = JobProgress(message=job_messages.REVIEWING)
    await reporter.report(progress)
    host = tools.host
    pull_request = await _find_pull_request(repository, reference, host)
    number = pull_request.number
    if not pull_request.is_open:
        progress.final_message = job_messages.REQUEST_CLOSED
        return progress
    if _target_branch(repository) not in ("", pull_request.base):
        progress.final_message = job_messages.OTHER_TARGET_BRANCH
        return progress
    checkout = await tools.pull_request_checkouts.at_pull_request(repository, pull_request)
    statuses = _Statuses(repository, host, checkout.commit, pull_request.url, progress)
    await statuses.set(CommitState.PENDING, "reviewing the changes")
    try:
        report = await _report(repository, pull_request, checkout, tools, reporter)
        comment_url = await host.comment(repository, number, await asyncio.to_thread(comment_text, report), may_create=_has_changes(report))
    except (TooManyRequests, Unavailable):
        # The review is repeated later, so its status remains pending.
        raise
    except DashwrightError as error:
        await statuses.set_error(error)
        raise
    state = CommitState.FAILURE if report.is_broken else CommitState.SUCCESS
    await statuses.set(state, status_text(report), comment_url)
    _record(progress, report)
    return progress


async def _find_pull_request(repository: Repository, reference: PullRequestReference, host: Host) -> PullRequest:
    """Return the pull request with the number in the reference, or else the open one that matches the reference."""
    number = reference.number
    if not number:
        number = reference.choose(await host.open_pull_requests(repository), _target_branch(repository)).number
    pull_request = await host.pull_request(repository, number)
    reference.check(pull_request)
    return pull_request


@dataclass(slots=True)
class _Statuses:
    """The statuses of the reviewed commit. After the host refuses a status, further ones are not sent."""

    repository: Repository
    host: Host
    commit: str
    #: Address of the pull request, for statuses without an address of their own.
    page: str
    progress: JobProgress
    is_refused: bool = False

    async def set(self, state: CommitState, text: str, url: str = "") -> None:
        """Set the status. A refusal is recorded as a warning, because the comment has the result as well."""
        if self.is_refused:
            return
        try:
            await self.host.set_commit_status(self.repository, CommitStatus(self.commit, state, text, url or self.page))
        except (Forbidden, NotFound) as error:
            self.is_refused = True
            log.info("commit_status_refused", repository=self.repository.name, reason=error.message)
            short_hash = self.commit[:SHORT_HASH_DIGITS]
            warning = f"commit {short_hash} has no status; give the token the right to set commit statuses: {error.message}"
            # Zero times: the warning is listed, but it is not one of the counted files.
            self.progress.record(Result(Effect.UNCOUNTED, DASHBOARD.group, DASHBOARD.plural, "", warning=warning), times=0)

    async def set_error(self, error: DashwrightError) -> None:
        """Set the status of a failed review, if the host accepts it."""
        try:
            await self.set(CommitState.ERROR, f"the review failed: {error.message}")
        except DashwrightError as failure:
            log.warning("commit_status_not_set", repository=self.repository.name, reason=failure.message)


async def _report(
    repository: Repository, pull_request: PullRequest, checkout: Checkout, tools: ReviewTools, reporter: ProgressReporter
) -> Report:
    """Return the effect of merging the pull request. A conflict that would prevent the sync is a problem of the report."""
    changed_files = await tools.host.changed_files(repository, pull_request.number)
    changed_paths, title = _changed_resource_paths(changed_files, _directory(repository)), repository.spec.title
    if not changed_paths:
        return Report(title, checkout.commit, [])
    try:
        planned_sync = await plan_sync(
            SyncJob.from_repository(repository),
            checkout,
            tools.document_store,
            reporter,
            tools.sync_tools,
            JobProgress(message=job_messages.REVIEWING),
        )
    except Conflict as error:
        return Report(title, checkout.commit, [], problems=[error.message])
    files = await _Review(repository, pull_request, checkout, tools, planned_sync).file_reports(changed_paths)
    problems = await quota_errors(repository.namespace, planned_sync.plan, tools.document_store)
    # Some hosts do not report the number of changed files, which is 0 then.
    skipped_count = max(0, pull_request.changed_file_count - len(changed_files))
    return Report(title, checkout.commit, files, skipped_count, problems)


def _changed_resource_paths(changed_files: Sequence[ChangedFile], directory: str) -> frozenset[str]:
    """Return the paths of added, changed and deleted resource and folder files inside the repository's directory."""
    relative_paths = {paths.relative_to(directory, path) for file in changed_files for path in (file.path, file.previous_path)}
    return frozenset(
        path for path in relative_paths if (paths.is_resource(path) or paths.is_folder_file(path)) and not paths.is_hidden(path)
    )


@dataclass(frozen=True, slots=True)
class _Review:
    """The review of one pull request whose sync is planned; the bodies of its files are in the spool."""

    repository: Repository
    pull_request: PullRequest
    checkout: Checkout
    tools: ReviewTools
    planned_sync: PlannedSync

    async def file_reports(self, changed_paths: frozenset[str]) -> list[FileReport]:
        """Return reports of refused files, then of written files, deleted files and folders."""
        plan = self.planned_sync.plan
        refused_reports = [
            FileReport(
                fault.path,
                PlannedAction.REFUSE,
                problems=[fault.message],
                preview_url=self._preview_address(fault.path) if fault.kind is DASHBOARD else "",
            )
            for fault in (*plan.faults, *plan.folder_faults)
            # The change can also be in the other file, such as a new duplicate that replaces this file as the source.
            if fault.path in changed_paths or fault.other_path in changed_paths
        ]
        write_reports = await self._reports_of_writes([file for file in plan.writes if file.path in changed_paths])
        if self._needs_pictures:
            write_reports = [*await self._with_pictures(write_reports[:MAX_DETAILED_FILES]), *write_reports[MAX_DETAILED_FILES:]]
        removal_reports = [
            FileReport(
                item.path,
                PlannedAction.DELETE,
                item.title,
                original_url=self._dashboard_address(item.key),
                preview_url=self._preview_address(item.path) if item.key.resource == DASHBOARD.plural else "",
            )
            for item in plan.removals
            if item.key.group == DASHBOARD.group and item.path in changed_paths
        ]
        return [*refused_reports, *write_reports, *removal_reports, *self._folder_reports(changed_paths)]

    def _folder_reports(self, changed_paths: frozenset[str]) -> list[FileReport]:
        plan, folders = self.planned_sync.plan, self.planned_sync.folders
        directories = paths.all_directories(changed_paths)
        write_reports = [
            FileReport(
                directory, _write_action(folders.key(directory) in plan.existing), folders.write_for(directory, is_new=False).extract.title
            )
            for directory in plan.directories
            if directory in directories
        ]
        removed_folders = [item for item in plan.removals if item.key.group == FOLDER.group and item.directory in directories]
        return [*write_reports, *(FileReport(item.directory, PlannedAction.DELETE, item.title) for item in removed_folders)]

    async def _reports_of_writes(self, files: Sequence[PreparedFile]) -> list[FileReport]:
        """Return the reports of new and changed files. The first files are compared with the stored objects, and more are linted."""
        tools, existing = self.tools, self.planned_sync.plan.existing
        config, config_issues = await read_lint_config(self.checkout)
        updates = [file.key for file in files[:MAX_DETAILED_FILES] if file.key in existing]
        documents = await tools.document_store.documents(self.repository.namespace, updates)
        reports = []
        for index, file in enumerate(files):
            is_stored = file.key in existing
            resource, findings = await asyncio.to_thread(self._resource, file), _FileFindings()
            is_dashboard = file.key.resource == DASHBOARD.plural
            if is_dashboard and index < MAX_LINTED_FILES:
                stored_document = documents.get(file.key) if is_stored else None
                # A stored dashboard without a document was just deleted, and must not look like a new one.
                with_comparison = index < MAX_DETAILED_FILES and (stored_document is not None or not is_stored)
                findings = await asyncio.to_thread(
                    _lint_and_compare, resource.spec, stored_document, config, with_comparison=with_comparison
                )
            reports.append(
                FileReport(
                    file.path,
                    _write_action(is_stored),
                    resource.extract.title,
                    findings.comparison,
                    findings.problems,
                    [*config_issues, *findings.issues] if is_dashboard else (),
                    original_url=self._dashboard_address(file.key) if is_stored else "",
                    preview_url=self._preview_address(file.path) if is_dashboard else "",
                )
            )
        return reports

    def _resource(self, file: PreparedFile) -> Resource:
        return resource_from_bytes(self.tools.sync_tools.spool.get(file.ticket))

    @property
    def _needs_pictures(self) -> bool:
        """``True`` if the repository enables pictures and the pull request does not come from a fork.

        A picture shows the results of queries, so the author of a fork must not receive one.
        """
        remote = self.repository.spec.remote
        return remote is not None and bool(remote.generate_dashboard_previews) and not self.pull_request.is_from_fork

    async def _with_pictures(self, reports: Sequence[FileReport]) -> list[FileReport]:
        """Return the reports with pictures. After the first failure no other picture is requested: the renderer may be overloaded."""
        files = {file.path: file for file in self.planned_sync.plan.writes}
        keys = [files[report.path].key for report in reports]
        documents = await self.tools.document_store.documents(self.repository.namespace, keys)
        completed_reports, pictures_error = [], ""
        for report in reports:
            if not pictures_error:
                try:
                    file = files[report.path]
                    has_picture = file.key.resource == DASHBOARD.plural
                    pictures = await self._pictures(file, documents) if has_picture else None
                    completed_reports.append(replace(report, pictures=pictures))
                    continue
                except DashwrightError as error:
                    log.warning("pictures_not_drawn", repository=self.repository.name, reason=error.message)
                    pictures_error = error.message
            completed_reports.append(replace(report, pictures_error=pictures_error))
        return completed_reports

    async def _pictures(self, file: PreparedFile, documents: Mapping[Key, Document]) -> Pictures:
        """Render the stored dashboard, if it exists, and the dashboard in the file."""
        renderer, stored_document = self.tools.renderer, documents.get(file.key)
        old_address = await renderer.render(self.repository, stored_document.spec) if stored_document is not None else ""
        resource = await asyncio.to_thread(self._resource, file)
        return Pictures(old_address, await renderer.render(self.repository, resource.spec))

    def _dashboard_address(self, key: Key) -> str:
        """Return the address of a stored dashboard; empty for a library panel, which has no page."""
        return f"{self.tools.gateway_address}/d/{quote(key.name)}" if key.resource == DASHBOARD.plural else ""

    def _preview_address(self, path: str) -> str:
        """Return the address of the preview of a file; empty for a fork, whose branch is unknown here."""
        if self.pull_request.is_from_fork:
            return ""
        return f"{self.tools.gateway_address}/preview/{self.repository.name}/{quote(path)}?ref={quote(self.pull_request.head, safe='')}"


@dataclass(frozen=True, slots=True)
class _FileFindings:
    """The results of linting one file and comparing it with the stored dashboard."""

    #: None if the file is not compared.
    comparison: Comparison | None = None
    #: Messages of lint errors, because of which the dashboard does not work.
    problems: Sequence[str] = ()
    #: The other lint issues.
    issues: Sequence[Issue] = ()


def _lint_and_compare(body: bytes, stored_document: Document | None, config: Config | None, *, with_comparison: bool) -> _FileFindings:
    """Lint a dashboard and compare it with the stored one; all of a new dashboard (``stored_document`` None) is a change."""
    spec = _spec_tree(body)
    issues = lint(spec, config)
    errors = [issue for issue in issues if issue.rule in ERROR_RULES and issue.severity is LintSeverity.ERROR]
    other_issues = [issue for issue in issues if issue not in errors]
    comparison = compare(_spec_tree(stored_document.spec) if stored_document else {}, spec) if with_comparison else None
    return _FileFindings(comparison, [issue.message for issue in errors], other_issues)


def _spec_tree(spec: bytes) -> Mapping[str, Any]:
    tree: dict[str, Any] = read_json(spec.decode())
    return tree


def _write_action(is_stored: bool) -> PlannedAction:
    return PlannedAction.UPDATE if is_stored else PlannedAction.CREATE


def _record(progress: JobProgress, report: Report) -> None:
    """Count the files in the job's progress. Faults of files do not fail the job, because the comment reports them."""
    for file in report.files:
        if effect := _EFFECTS.get(file.action):
            kind = FOLDER if paths.is_directory(file.path) else DASHBOARD
            progress.record(Result(effect, kind.group, kind.plural, file.path))
    progress.total = progress.done
    progress.final_message = status_text(report) if _has_changes(report) else job_messages.NO_FILES


def _has_changes(report: Report) -> bool:
    return bool(report.files or report.problems)


def _target_branch(repository: Repository) -> str:
    """Return the repository's branch, into which its pull requests are merged; empty for the default branch of the host."""
    return repository.spec.remote.branch if repository.spec.remote else ""


def _directory(repository: Repository) -> str:
    """Return the directory of the repository at its host; empty for the root."""
    return (repository.spec.remote.path if repository.spec.remote else None) or ""

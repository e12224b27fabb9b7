"""Reads of a repository's files: lists of files, the content of one file, and its lint issues."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, NotFound
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, REPOSITORY
from dashwright.common.models.repository_calls import FileResponse
from dashwright.common.models.repository_views import FileItem, FileList
from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.actions.files.planning import (
    ChangeContext,
    key_at,
    plan_files,
    read_file,
    resource_directories,
    touches_of_file,
    touches_of_repository,
    view_file,
)
from dashwright.jobs_worker.actions.sync import PlannedSync
from dashwright.jobs_worker.domain.files.content import object_tree
from dashwright.jobs_worker.domain.files.differences import difference_at, files_below
from dashwright.jobs_worker.domain.files.rules import check_extension
from dashwright.jobs_worker.domain.files.wrapper import FileView, wrap
from dashwright.jobs_worker.domain.lint.config import Config, read_config
from dashwright.jobs_worker.domain.lint.issue import CONFIG_FILE, Issue, config_issue
from dashwright.jobs_worker.domain.lint.linter import lint
from dashwright.jobs_worker.domain.objects import Entry, Key, LastChange, Write
from dashwright.jobs_worker.ports import Checkout, SizedCheckout


async def list_files(checkout: SizedCheckout | None, directory: str) -> FileList:
    """Return the files below a directory (empty: the root) by path, without hidden ones. Raises NotFound for an unknown directory."""
    directory = directory.rstrip("/") + "/" if directory else ""
    paths.check_path(directory)
    entries = await checkout.entries() if checkout is not None else ()
    if directory and not any(entry.path.startswith(directory) for entry in entries):
        raise NotFound(f"directory not found: {directory}")
    visible_entries = [entry for path, entry in sorted(files_below(entries, directory).items()) if not paths.is_hidden(path)]
    entries_with_sizes = await checkout.with_sizes(visible_entries) if checkout is not None else visible_entries
    last_changes = await checkout.last_changes([entry.path for entry in entries_with_sizes]) if checkout is not None else {}
    items = [_file_item(entry, last_changes.get(entry.path)) for entry in entries_with_sizes]
    return FileList(kind="FileList", api_version=REPOSITORY.api_version(), items=items)


def _file_item(entry: Entry, last_change: LastChange | None) -> FileItem:
    return FileItem(
        path=entry.path,
        size=None if entry.fault else entry.size,
        hash=entry.checksum or None,
        modified=last_change.milliseconds if last_change is not None else None,
        author=(last_change.author or None) if last_change is not None else None,
    )


async def describe_file(context: ChangeContext, checkout: SizedCheckout | None, path: str, ref: str) -> FileResponse:
    """Return a file and its object; problems of the file are in the ``errors`` of the response.

    A Markdown file has no object: its text is returned to callers who may read a dashboard at that path. Raises NotFound, and BadRequest
    for a directory.
    """
    check_extension(path, allow_markdown=True)
    if paths.is_directory(path):
        raise BadRequest("the path of a directory ends in a slash: list it instead of reading it")
    file = await read_file(checkout, path)
    assert checkout is not None, "there was a file in it"
    planned_sync = await _plan_file(context, checkout, path, file.checksum)
    if paths.is_markdown(path):
        text = await asyncio.to_thread(file.body.decode, errors="replace")
        view, key = FileView(path, ref, checkout.commit, file.checksum, text=text), key_at(context, planned_sync, path)
    else:
        view, key = await _object_view(context, planned_sync, checkout, path, ref)
    if (last_change := (await checkout.last_changes([path])).get(path)) is not None:
        view = replace(view, timestamp=datetime.fromtimestamp(last_change.milliseconds / 1000, UTC))
    touches = await touches_of_file(context, planned_sync, "get", key, path)
    if repository_touches := touches_of_repository(context, planned_sync, ref, [path], {*paths.directories(path)}):
        # Other files may make the directory a folder. All entries are listed only in this case, because that is expensive.
        existing_directories = resource_directories(await checkout.entries())
        repository_touches = touches_of_repository(context, planned_sync, ref, [path], existing_directories)
    touches += repository_touches
    return FileResponse(wrapper=await asyncio.to_thread(wrap, context.repository, view), touches=touches)


async def _plan_file(context: ChangeContext, checkout: Checkout, path: str, checksum: str) -> PlannedSync:
    """Return the plan for a file. If its object is stored from a file that is missing in the checkout, the plan is that of a move."""
    difference = difference_at(path, checksum)
    planned_sync = await plan_files(context, checkout, difference)
    sources = {item.path for item in planned_sync.plan.managed.values() if item.key.group != FOLDER.group} - {path}
    missing_sources = sources - {entry.path for entry in await checkout.entries_at(sources)}
    if not missing_sources:
        return planned_sync
    return await plan_files(context, checkout, replace(difference, paths=difference.paths | missing_sources))


async def _object_view(context: ChangeContext, planned_sync: PlannedSync, checkout: Checkout, path: str, ref: str) -> tuple[FileView, Key]:
    """Return the view of a file's object; a quota that is reached is one of its errors."""
    try:
        view, key = await view_file(context, planned_sync, checkout, path, ref)
    except Forbidden as refusal:
        view, key = await view_file(context, planned_sync, checkout, path, ref, with_dry_run=False)
        view.errors.append(refusal.message)
    return replace(view, lint=await lint_object(context, checkout, view.write)), key


async def lint_object(context: ChangeContext, checkout: Checkout, write: Write | None) -> Sequence[Issue]:
    """Return the lint issues of a dashboard and those of the lint configuration; none for another object. Raises SourceFailed."""
    if write is None or write.key.resource != DASHBOARD.plural:
        return []
    spec = await asyncio.to_thread(object_tree, write.spec)
    config, config_issues = await read_lint_config(checkout)
    return [*config_issues, *await asyncio.to_thread(lint, spec, config)]


async def read_lint_config(checkout: Checkout) -> tuple[Config | None, Sequence[Issue]]:
    """Return the lint configuration of a repository and the issues of its file. Raises SourceFailed."""
    try:
        config, warnings = read_config((await read_file(checkout, CONFIG_FILE)).body)
    except NotFound:
        return None, []
    except DashwrightError as fault:
        if fault.is_server_error:
            raise
        return None, [config_issue(fault.message, LintSeverity.ERROR)]
    return config, [config_issue(message, LintSeverity.WARNING) for message in warnings]

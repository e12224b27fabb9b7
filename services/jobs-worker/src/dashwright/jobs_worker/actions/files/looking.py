"""Files of a repository as they are: lists of them, the content of one, and its lint issues."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, NotFound
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import DASHBOARD, REPOSITORY
from dashwright.common.models.repository_calls import FileResponse
from dashwright.common.models.repository_views import FileItem, FileList
from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.actions.files.planning import (
    ChangeContext,
    key_at,
    plan_files,
    read_file,
    touches_of_file,
    touches_of_unknown,
    view_file,
    with_resources,
)
from dashwright.jobs_worker.actions.sync import PlannedSync
from dashwright.jobs_worker.domain.files.content import object_tree
from dashwright.jobs_worker.domain.files.proposal import difference_at, files_below
from dashwright.jobs_worker.domain.files.rules import check_name
from dashwright.jobs_worker.domain.files.wrapper import FileView, wrap
from dashwright.jobs_worker.domain.lint.config import Config, read_config
from dashwright.jobs_worker.domain.lint.issue import FILE, Issue, fault_of_config
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
    found = [entry for path, entry in sorted(files_below(entries, directory).items()) if not paths.is_hidden(path)]
    sized = await checkout.with_sizes(found) if checkout is not None else found
    changes = await checkout.last_changes([entry.path for entry in sized]) if checkout is not None else {}
    items = [_item(entry, changes.get(entry.path)) for entry in sized]
    return FileList(kind="FileList", api_version=REPOSITORY.api_version(), items=items)


def _item(entry: Entry, change: LastChange | None) -> FileItem:
    return FileItem(
        path=entry.path,
        size=None if entry.fault else entry.size,
        hash=entry.checksum or None,
        modified=change.at if change is not None else None,
        author=(change.author or None) if change is not None else None,
    )


async def describe_file(context: ChangeContext, checkout: SizedCheckout | None, path: str, ref: str) -> FileResponse:
    """Return a file and its object; problems of the file are in the ``errors`` of the response.

    A Markdown file has no object: its text is returned to callers who may read a dashboard at that path. Raises NotFound, and BadRequest
    for a directory.
    """
    check_name(path, reading=True)
    if paths.is_directory(path):
        raise BadRequest("the path of a directory ends in a slash: list it instead of reading it")
    file = await read_file(checkout, path)
    assert checkout is not None, "there was a file in it"
    planned = await plan_files(context, checkout, difference_at(path, file.checksum))
    if paths.is_markdown(path):
        text = await asyncio.to_thread(file.body.decode, errors="replace")
        view, key = FileView(path, ref, checkout.commit, file.checksum, text=text), key_at(context, planned, path)
    else:
        view, key = await _object(context, planned, checkout, path, ref)
    if (change := (await checkout.last_changes([path])).get(path)) is not None:
        view = replace(view, timestamp=datetime.fromtimestamp(change.at / 1000, UTC))
    touches = await touches_of_file(context, planned, "get", key, path)
    if unknown := touches_of_unknown(context, planned, ref, [path], {*paths.directories(path)}):
        # Listing all entries is expensive, so only here: other files may make a folder of the directory.
        there = with_resources(await checkout.entries())
        unknown = touches_of_unknown(context, planned, ref, [path], there)
    touches += unknown
    return FileResponse(wrapper=await asyncio.to_thread(wrap, context.repository, view), touches=touches)


async def _object(context: ChangeContext, planned: PlannedSync, checkout: Checkout, path: str, ref: str) -> tuple[FileView, Key]:
    """Return the view of a file's object; a quota that is reached is one of its errors."""
    try:
        view, key = await view_file(context, planned, checkout, path, ref)
    except Forbidden as refusal:
        view, key = await view_file(context, planned, checkout, path, ref, is_tried=False)
        view.errors.append(refusal.message)
    return replace(view, lint=await lint_object(context, checkout, view.write)), key


async def lint_object(context: ChangeContext, checkout: Checkout, write: Write | None) -> Sequence[Issue]:
    """Return the lint issues of a dashboard, and of the configuration that applies to it; none for other objects. Raises SourceFailed."""
    if write is None or write.key.group != DASHBOARD.group:
        return []
    spec = await asyncio.to_thread(object_tree, write.spec)
    config, faults = await rules_at(checkout)
    return [*faults, *await asyncio.to_thread(lint, spec, config)]


async def rules_at(checkout: Checkout) -> tuple[Config | None, Sequence[Issue]]:
    """Return the lint configuration of a repository and the issues of its file. Raises SourceFailed."""
    try:
        config, unknown = read_config((await read_file(checkout, FILE)).body)
    except NotFound:
        return None, []
    except DashwrightError as fault:
        if fault.status >= 500:
            raise
        return None, [fault_of_config(fault.message, LintSeverity.ERROR)]
    return config, [fault_of_config(message, LintSeverity.WARNING) for message in unknown]

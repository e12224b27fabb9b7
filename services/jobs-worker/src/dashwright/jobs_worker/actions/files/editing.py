"""An edit of a managed object: the file it changes, and its effect on the stored objects."""

import asyncio
from collections.abc import Iterable, Sequence

from dashwright.common.document import json_equal
from dashwright.common.errors import AlreadyExists, BadRequest, Conflict, NotFound
from dashwright.common.jobs import paths
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.models.provisioning import SyncTarget
from dashwright.common.models.repository_calls import EditedObject, EditRequest
from dashwright.jobs_worker.actions.files.changing import check_faults
from dashwright.jobs_worker.actions.files.planning import ChangeContext, ProposedCheckout, check_selection, plan_files, read_file
from dashwright.jobs_worker.actions.sync import PlannedSync
from dashwright.jobs_worker.domain.files.content import updated_tree, write_content
from dashwright.jobs_worker.domain.files.proposal import difference_of
from dashwright.jobs_worker.domain.objects import Difference, Edit, Entry, Key
from dashwright.jobs_worker.ports import Checkout


async def edits_of(context: ChangeContext, checkout: Checkout | None, request: EditRequest) -> list[Edit]:
    """Return the edits that write an object into its file; none if the file has that content already.

    Raises Conflict if the file differs from the stored one, AlreadyExists if another file is at the new path, BadRequest for a folder of
    another repository, and what the Reader raises.
    """
    try:
        file = await read_file(checkout, request.path)
    except NotFound as missing:
        # Not NotFound: the object exists, and clients would take it for deleted.
        raise Conflict(f"{request.path} is not in the repository any more: sync it, then look at the object again") from missing
    if file.checksum != request.checksum:
        raise Conflict(f"{request.path} has changed in the repository: sync it, then look at the object again")
    assert checkout is not None, "there is a file in it"
    if request.edited is None:
        return [Edit(request.path, None, file.checksum), *_keeping(await checkout.entries(), request.path)]
    before = await asyncio.to_thread(context.reader.tree, request.path, file.body)
    path = await _directory(context, request.edited.folder) + request.path.rpartition("/")[2]
    body = await asyncio.to_thread(_body, context, path, before, request.edited)
    if path == request.path:
        return [] if json_equal(context.reader.tree(path, body), before) else [Edit(path, body, file.checksum)]
    entries = await checkout.entries()
    if any(entry.path in (path, path + "/") for entry in entries):
        raise AlreadyExists(f"{path} already exists: the object cannot be moved there", details={"name": path})
    return [Edit(request.path, None, file.checksum), *_keeping([*entries, Entry(path)], request.path), Edit(path, body, None)]


async def plan_edits(context: ChangeContext, checkout: Checkout | None, edits: list[Edit]) -> tuple[PlannedSync, Difference]:
    """Plan the edits. Raises BadRequest if the object could not be stored from its file."""
    check_selection(context, edits)
    # The other files matter only if one is deleted: its directory may become empty.
    if checkout is not None and any(edit.body is None for edit in edits):
        entries = await checkout.entries()
    else:
        entries = [Entry(path) for edit in edits for path in (edit.path, *paths.directories(edit.path))]
    difference = difference_of(entries, edits, in_git=context.in_git)
    planned = await plan_files(context, ProposedCheckout(checkout, edits, in_git=context.in_git), difference)
    check_faults(planned, edits)
    return planned, difference


def message_of_edit(request: EditRequest, edits: Sequence[Edit]) -> str:
    """Return the commit message of an edit: the client's, or a generated one. The last edit is the object's new file."""
    if request.message:
        return request.message
    if request.edited is None:
        return f"Delete {request.path}"
    path = edits[-1].path
    return f"Update {path}" if path == request.path else f"Move {request.path} to {path}"


def _keeping(entries: Iterable[Entry], path: str) -> list[Edit]:
    """Return an edit that keeps the directory of a file that is its last: an edit gives no right to delete the folder."""
    directory = paths.parent(path)
    is_last = all(entry.path in (path, directory) or not entry.path.startswith(directory) for entry in entries)
    return [Edit(directory + paths.KEEP, b"", None)] if directory and is_last else []


def _body(context: ChangeContext, path: str, before: dict[str, object], edited: EditedObject) -> bytes:
    """Return the file of an edited object. It contains the name if the path would give the object another name."""
    largest = context.tools.largest_file
    body = write_content(path, updated_tree(before, edited, name_it=False), largest=largest)
    if context.reader.read(path, body).key.name == edited.name:
        return body
    body = write_content(path, updated_tree(before, edited, name_it=True), largest=largest)
    context.reader.read(path, body)
    return body


async def _directory(context: ChangeContext, folder: str | None) -> str:
    repository = context.repository
    rooted = repository.spec.sync.target is SyncTarget.FOLDER
    if folder == (repository.name if rooted else None):
        return ""
    key = Key(FOLDER.group, FOLDER.plural, folder or "")
    found = await context.objects.managed_at(repository.namespace, repository.name, (), [key]) if folder else ()
    if not found:
        raise BadRequest(
            f"folder {folder or 'general'!r} does not belong to repository {repository.name!r}: a managed dashboard moves only between "
            "the folders of its repository; send the present folder to leave it there"
        )
    return paths.parent(found[0].path + "/x")

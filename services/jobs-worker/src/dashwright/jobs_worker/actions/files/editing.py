"""An edit of a managed object: the change of the file of the object, and its effect on the stored objects."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from dashwright.common.errors import AlreadyExists, BadRequest, Conflict, NotFound
from dashwright.common.jobs import paths
from dashwright.common.json_documents import json_equal
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.models.provisioning import SyncTarget
from dashwright.common.models.repository_calls import EditedObject, EditRequest
from dashwright.common.yaml import read_yaml, write_yaml
from dashwright.jobs_worker.actions.files.changing import check_faults
from dashwright.jobs_worker.actions.files.planning import ChangeContext, ProposedCheckout, check_selection, plan_files, read_file
from dashwright.jobs_worker.actions.sync import PlannedSync
from dashwright.jobs_worker.domain.file_kinds import kind_of_plural
from dashwright.jobs_worker.domain.file_resources import document_of
from dashwright.jobs_worker.domain.files.content import updated_tree, write_content
from dashwright.jobs_worker.domain.files.differences import difference_of
from dashwright.jobs_worker.domain.objects import Difference, Edit, Entry, Key
from dashwright.jobs_worker.domain.yaml_documents import YamlDocument
from dashwright.jobs_worker.ports import Checkout

_ADVICE: Final = "sync the repository, then read the object again and repeat the change"


async def edits_of(context: ChangeContext, checkout: Checkout | None, request: EditRequest) -> list[Edit]:
    """Return the edits that write an object into its file; an empty list if the file has that content already.

    Raises Conflict if the file has changed since the last sync, AlreadyExists if another file is at the new path, BadRequest for a folder
    of another repository, and Invalid or TooLarge, like ``ResourceReader.read``, if the edited content cannot be stored.
    """
    try:
        file = await read_file(checkout, request.path)
    except NotFound as missing:
        # Not NotFound, from which clients would conclude that the object is deleted.
        raise Conflict(f"{request.path} is not in the repository any more: {_ADVICE}") from missing
    if file.checksum != request.checksum:
        raise Conflict(f"{request.path} has changed in the repository: {_ADVICE}")
    assert checkout is not None, "there is a file in it"
    if (document := await asyncio.to_thread(_document, context, request, file.body)) is not None:
        body = await asyncio.to_thread(_body_with_document, context, request, *document, await _new_path(context, request))
        return [] if body == file.body else [Edit(request.path, body, file.checksum)]
    if request.edited is None:
        return [Edit(request.path, None, file.checksum), *_keep_file(await checkout.entries(), request.path)]
    present_tree = await asyncio.to_thread(context.reader.tree, request.path, file.body)
    path = await _new_path(context, request)
    body = await asyncio.to_thread(_body, context, path, present_tree, request.edited)
    if path == request.path:
        return [] if json_equal(context.reader.tree(path, body), present_tree) else [Edit(path, body, file.checksum)]
    entries = await checkout.entries()
    if any(entry.path in (path, path + "/") for entry in entries):
        raise AlreadyExists(f"{path} already exists: the object cannot be moved there", details={"name": path})
    return [Edit(request.path, None, file.checksum), *_keep_file([*entries, Entry(path)], request.path), Edit(path, body, None)]


async def plan_edits(context: ChangeContext, checkout: Checkout | None, edits: list[Edit]) -> tuple[PlannedSync, Difference]:
    """Plan the edits. Raises BadRequest if the object could not be stored from its file."""
    check_selection(context, edits)
    # Other files are needed only to see whether a deletion leaves the directory empty.
    if checkout is not None and any(edit.body is None for edit in edits):
        entries = await checkout.entries()
    else:
        entries = [Entry(path) for edit in edits for path in (edit.path, *paths.directories(edit.path))]
    difference = difference_of(entries, edits, in_git=context.in_git)
    planned_sync = await plan_files(context, ProposedCheckout(checkout, edits, in_git=context.in_git), difference)
    # Other documents of the file may be invalid before and after the edit.
    check_faults(planned_sync, edits, allows_partial=True)
    return planned_sync, difference


def edit_commit_message(request: EditRequest, edits: Sequence[Edit]) -> str:
    """Return the commit message of an edit: the client's, or a generated one. The last edit is the object's new file."""
    if request.message:
        return request.message
    if request.edited is None:
        return f"Delete {request.path}" if edits[0].body is None else f"Delete {request.object_name} from {request.path}"
    path = edits[-1].path
    return f"Update {path}" if path == request.path else f"Move {request.path} to {path}"


def _keep_file(entries: Iterable[Entry], path: str) -> list[Edit]:
    """Return an edit that adds a ``.keep`` file if the file at ``path`` is the last one in its directory, else no edit.

    Without a file, the directory would disappear and its folder would be deleted, which the right to edit the file does not permit.
    """
    directory = paths.parent(path)
    is_last = all(entry.path in (path, directory) or not entry.path.startswith(directory) for entry in entries)
    return [Edit(directory + paths.KEEP_FILE, b"", None)] if directory and is_last else []


def _body(context: ChangeContext, path: str, present_tree: dict[str, object], edited: EditedObject) -> bytes:
    """Return the content of an edited object's file. It contains the name if the path would give the object another name."""
    max_file_bytes = context.tools.max_file_bytes
    body = write_content(path, updated_tree(present_tree, edited, with_name=False), max_file_bytes=max_file_bytes)
    if context.reader.read(path, body).key.name == edited.name:
        return body
    body = write_content(path, updated_tree(present_tree, edited, with_name=True), max_file_bytes=max_file_bytes)
    context.reader.read(path, body)
    return body


def _document(context: ChangeContext, request: EditRequest, body: bytes) -> tuple[str, YamlDocument] | None:
    """Return the text of the file and the object's document in it; None if the file has only one document."""
    return document_of(context.reader, request.path, body, _key(request))


def _body_with_document(context: ChangeContext, request: EditRequest, text: str, document: YamlDocument, new_path: str) -> bytes:
    """Return the content of a file of several documents after the edit of one of them. The others remain as they are."""
    if new_path != request.path:
        raise BadRequest(f"{request.path} has several documents, so the object cannot be moved: move its document in the repository")
    if request.edited is None:
        return document.removed(text).encode()
    present_tree = read_yaml(document.content(text))
    new_tree = updated_tree(present_tree, request.edited, with_name=True)
    new_text = text if json_equal(new_tree, present_tree) else document.replaced(text, write_yaml(new_tree))
    # Raises the error about the new content of the document, if it is invalid.
    document_of(context.reader, request.path, new_text.encode(), _key(request))
    return new_text.encode()


def _key(request: EditRequest) -> Key:
    return Key(kind_of_plural(request.resource).group, request.resource, request.object_name)


async def _new_path(context: ChangeContext, request: EditRequest) -> str:
    """Return the path of the file after the edit."""
    if request.edited is None:
        return request.path
    return await _directory_of_folder(context, request.edited.folder) + request.path.rpartition("/")[2]


async def _directory_of_folder(context: ChangeContext, folder: str | None) -> str:
    """Return the directory of a folder, with a slash at its end; empty for the root. Raises BadRequest for a folder of another manager."""
    repository = context.repository
    has_root_folder = repository.spec.sync.target is SyncTarget.FOLDER
    if folder == (repository.name if has_root_folder else None):
        return ""
    key = Key(FOLDER.group, FOLDER.plural, folder or "")
    managed_folders = await context.store.managed_at(repository.namespace, repository.name, (), [key]) if folder else ()
    if not managed_folders:
        raise BadRequest(
            f"folder {folder or 'general'!r} does not belong to repository {repository.name!r}: a managed dashboard moves only between "
            "the folders of its repository; send the present folder to leave it there"
        )
    return managed_folders[0].directory

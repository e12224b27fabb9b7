"""A change of a repository's files that a client requests: its edits, and their effect on the stored objects."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from dashwright.common.errors import AlreadyExists, BadRequest, DashwrightError, Invalid, MethodNotAllowed, NotFound
from dashwright.common.jobs import paths
from dashwright.common.jobs.names import folder_name, object_name
from dashwright.common.json_documents import check_depth
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.repository_calls import ChangeMethod, ChangeRequest, Touch
from dashwright.common.models.repository_views import ResourceAction
from dashwright.common.yaml import read_yaml, write_yaml
from dashwright.jobs_worker.actions.files.planning import (
    ChangeContext,
    ProposedCheckout,
    affects,
    check_selection,
    plan_files,
    read_file,
    resource_directories,
    touches_of_file,
    touches_of_plan,
    touches_of_repository,
    view_file,
)
from dashwright.jobs_worker.actions.sync import PlannedSync
from dashwright.jobs_worker.domain.edits import MAX_EDIT_BYTES, check_edit_count, check_total_size
from dashwright.jobs_worker.domain.file_forms import check_size
from dashwright.jobs_worker.domain.file_resources import read_resources
from dashwright.jobs_worker.domain.files.content import file_tree, read_content, write_content
from dashwright.jobs_worker.domain.files.differences import difference_of, files_below
from dashwright.jobs_worker.domain.files.rules import check_extension
from dashwright.jobs_worker.domain.files.touches import nearest_folder, touch
from dashwright.jobs_worker.domain.files.wrapper import FileView
from dashwright.jobs_worker.domain.folder_files import FolderFile, read_folder_file
from dashwright.jobs_worker.domain.objects import Difference, Edit, Entry, Key
from dashwright.jobs_worker.domain.yaml_documents import YamlDocument, split_documents
from dashwright.jobs_worker.ports import Checkout


@dataclass(frozen=True, slots=True)
class ChangeDecision:
    """A change that is planned but not committed."""

    edits: Sequence[Edit]
    difference: Difference
    planned_sync: PlannedSync
    view: FileView
    touches: list[Touch]
    #: Fingerprint of everything that the decision depends on.
    base: str
    #: The text of the file as it will be written; None if the request has no content.
    content: str | None = None


async def decide(
    context: ChangeContext, checkout: Checkout | None, request: ChangeRequest, ref: str, make_suffix: Callable[[], str]
) -> ChangeDecision:
    """Return the edits that a change makes, with their effect on stored objects.

    ``make_suffix`` returns the end of generated names. Raises AlreadyExists, NotFound, MethodNotAllowed, Invalid, BadRequest, TooLarge, and
    Forbidden if a quota is reached.
    """
    check_extension(request.path)
    if not request.path:
        raise BadRequest("the root of a repository cannot be created, moved or deleted")
    existing_files = _ExistingFiles(context, checkout, await checkout.entries() if checkout is not None else ())
    body = await asyncio.to_thread(existing_files.new_body, request, make_suffix)
    edits = await existing_files.edits(request, body)
    check_selection(context, edits)
    difference = difference_of(existing_files.entries, edits, in_git=context.in_git)
    proposed_checkout = ProposedCheckout(checkout, edits, in_git=context.in_git)
    planned_sync = await plan_files(context, proposed_checkout, difference)
    check_faults(planned_sync, edits)
    view, touches_of_path = await _view(context, planned_sync, proposed_checkout, checkout, request, ref)
    touches = _with_touches_of_deleted_files(
        context, planned_sync, await touches_of_plan(context, planned_sync), edits, request.path, touches_of_path
    )
    touches += touches_of_repository(
        context, planned_sync, ref, [edit.path for edit in edits], resource_directories(existing_files.entries)
    )
    base = fingerprint(ref, edits, touches)
    return ChangeDecision(edits, difference, planned_sync, view, touches, base, body.decode() if body is not None else None)


def check_faults(planned_sync: PlannedSync, edits: Sequence[Edit], *, allows_partial: bool = False) -> None:
    """Raise BadRequest if an edit writes a file that cannot be stored; with ``allows_partial`` only if none of its documents can be."""
    for fault in (*planned_sync.plan.faults, *planned_sync.plan.copies, *planned_sync.plan.folder_faults):
        if not (allows_partial and fault.is_partial) and any(edit.body is not None and affects(fault, edit.path) for edit in edits):
            raise BadRequest(f"{fault.path}: {fault.public_message or fault.message}")


def fingerprint(ref: str, edits: Sequence[Edit], touches: Sequence[Touch]) -> str:
    """Return a hash of the edits, the files they replace and their effect on objects.

    Changes to other files do not change the hash.
    """
    edit_hashes = [
        (edit.path, edit.replaced_checksum, None if edit.body is None else hashlib.sha256(edit.body).hexdigest()) for edit in edits
    ]
    touch_json = sorted(touch.to_json().decode() for touch in touches)
    return hashlib.sha256(orjson.dumps([ref, edit_hashes, touch_json])).hexdigest()


def commit_message(request: ChangeRequest) -> str:
    """Return the commit message of a change: the client's, or a generated one."""
    if request.message:
        return request.message
    if request.method is ChangeMethod.MOVE:
        return f"Move {request.original_path} to {request.path}"
    return f"{request.method.value.capitalize()} {request.path}"


class _ExistingFiles:
    """The files that are in the repository before a change."""

    def __init__(self, context: ChangeContext, checkout: Checkout | None, entries: Iterable[Entry]) -> None:
        self.entries = list(entries)
        self._context = context
        self._checkout = checkout
        self._entries_by_path: Mapping[str, Entry] = {entry.path: entry for entry in self.entries}

    def new_body(self, request: ChangeRequest, make_suffix: Callable[[], str]) -> bytes | None:
        """Return the content of the file to write; None if the change has no content.

        The content of a request with a ``base`` is not converted: it is the result of an earlier conversion.
        """
        if request.method is ChangeMethod.DELETE:
            return None
        if paths.is_directory(request.path):
            if request.content:
                raise BadRequest("data cannot be provided for a directory")
            return None
        if not request.content:
            if request.method is ChangeMethod.MOVE:
                return None
            raise BadRequest("the request has no content: send the content of the file")
        body = request.content.encode()
        check_size(len(body), self._context.tools.max_file_bytes)
        if not request.base:
            body = self._written_body(request.path, request.content, make_suffix)
        if paths.is_folder_file(request.path):
            new_name = read_folder_file(body, self._context.repository.namespace).name
            if request.method is ChangeMethod.UPDATE:
                self._check_unchanged_name(request.path, new_name)
        elif fault := read_resources(self._context.reader, request.path, body).fault:
            raise Invalid(fault)
        return body

    def _written_body(self, path: str, content: str, make_suffix: Callable[[], str]) -> bytes:
        """Return the submitted content as the file is written. YAML may have several documents."""
        namespace, max_file_bytes = self._context.repository.namespace, self._context.tools.max_file_bytes
        # The content may be JSON although the file is YAML.
        documents = split_documents(content) if not path.endswith(".json") and not content.lstrip().startswith("{") else ()
        if len(documents) < 2:
            tree = read_content(content)
            check_depth(tree)
            return write_content(path, file_tree(tree, namespace, make_suffix), max_file_bytes=max_file_bytes)
        return "---\n".join(write_yaml(file_tree(_tree_of(document, content), namespace, make_suffix)) for document in documents).encode()

    def _check_unchanged_name(self, path: str, new_name: str) -> None:
        """Raise BadRequest if the valid ``_folder.json`` at a path has another name, which would be that of another folder."""
        if self._checkout is None or path not in self._entries_by_path:
            return
        try:
            present_name = read_folder_file(self._checkout.open_reader()(path).body, self._context.repository.namespace).name
        except DashwrightError as fault:
            if fault.is_server_error:
                raise
            return
        if new_name != present_name:
            raise BadRequest(f"metadata.name must remain {present_name!r}: the uid of a folder cannot be changed by a request")

    async def edits(self, request: ChangeRequest, body: bytes | None) -> list[Edit]:
        """Return the edits that the change needs."""
        path, is_directory = request.path, paths.is_directory(request.path)
        match request.method:
            case ChangeMethod.CREATE:
                self._require_free(path)
                return [await self._new_directory(path) if is_directory else Edit(path, body, None)]
            case ChangeMethod.UPDATE:
                if is_directory:
                    raise MethodNotAllowed("a directory cannot be updated: update a file in it, or create, move or delete the directory")
                return [Edit(path, body, await self._checksum(path))]
            case ChangeMethod.DELETE:
                files = self._affected_files(path)
                check_edit_count(len(files))
                return [Edit(file, None, await self._checksum(file)) for file in files]
            case ChangeMethod.MOVE:
                return await self._move_edits(request.original_path, path, body)

    async def _new_directory(self, path: str) -> Edit:
        """Return the edit that creates a directory: by a ``_folder.json``, or by a ``.keep`` if syncs do not include ``_folder.json``."""
        context, file_path = self._context, path + paths.FOLDER_FILE
        if not context.selection.includes(file_path):
            return Edit(path + paths.KEEP_FILE, b"", None)
        repository = context.repository
        name = folder_name(repository.name, path)
        # The folder of an earlier directory at this path may have moved with that directory, and has kept its name.
        if await context.store.managers(repository.namespace, [Key(FOLDER.group, FOLDER.plural, name)]):
            commit = self._checkout.commit if self._checkout is not None else ""
            # The first name that a sync tries in this case (``folder_identity.folder_names``).
            name = folder_name(repository.name, path, incarnation=f"{commit}#1")
        return Edit(file_path, FolderFile(name, path.rstrip("/").rpartition("/")[2]).to_bytes(), None)

    async def _move_edits(self, old_path: str, new_path: str, body: bytes | None) -> list[Edit]:
        """Return the edits that move a file or directory. A moved file may get the new content ``body``."""
        check_extension(old_path)
        if paths.is_directory(old_path) != paths.is_directory(new_path):
            raise BadRequest("cannot move between file and directory types")
        files = self._affected_files(old_path)
        if paths.is_directory(new_path) and new_path.startswith(old_path):
            raise BadRequest("a directory cannot be moved into itself")
        self._require_free(new_path)
        # The move of each file is a deletion and a creation.
        check_edit_count(2 * len(files))
        edits, total_size = [], 0
        for path in files:
            target_path = new_path + path.removeprefix(old_path)
            content = body or await self._moved_body(path, target_path)
            total_size += len(content)
            check_total_size(total_size, MAX_EDIT_BYTES)
            edits += [Edit(path, None, await self._checksum(path)), Edit(target_path, content, None)]
        return edits

    async def _moved_body(self, path: str, target_path: str) -> bytes:
        """Return the bytes of a moved file. They are converted if the move changes the suffix to another format."""
        body = (await read_file(self._checkout, path)).body
        if not paths.is_resource(path) or path.endswith(".json") == target_path.endswith(".json"):
            return body
        return write_content(target_path, self._context.reader.tree(path, body), max_file_bytes=self._context.tools.max_file_bytes)

    def _affected_files(self, path: str) -> list[str]:
        """Return the path of the file, or the paths of all files below the directory.

        Raises NotFound for a missing file or directory, and BadRequest for the root and for a directory without files or with hidden
        directories.
        """
        if not paths.is_directory(path):
            if path not in self._entries_by_path:
                raise NotFound(f"file not found: {path}")
            return [path]
        if not path:
            raise BadRequest("the root of a repository cannot be created, moved or deleted")
        files = files_below(self.entries, path)
        if not any(entry.path.startswith(path) for entry in self.entries):
            raise NotFound(f"directory not found: {path}")
        non_empty_directories = {directory for file in self._entries_by_path for directory in paths.directories(file) if directory != file}
        directories = [entry.path for entry in self.entries if entry.path.startswith(path) and paths.is_directory(entry.path)]
        if any(directory not in non_empty_directories and paths.is_hidden(directory) for directory in directories):
            raise BadRequest(f"{path} contains hidden directories, which cannot be changed by a request: change them in the repository")
        if not files:
            raise BadRequest(f"{path} contains no file that can be changed")
        return sorted(files)

    def _require_free(self, path: str) -> None:
        """Raise AlreadyExists if a file or directory is at the path, or a file is in place of a directory above it."""
        parent_paths = (directory.rstrip("/") for directory in paths.directories(path))
        occupied_path = next((file for file in parent_paths if file in self._entries_by_path), "")
        # The error contains only the path of the request: the caller may not be allowed to see the other file.
        if path in self._entries_by_path or any(
            existing_path.startswith(path.rstrip("/") + "/") for existing_path in self._entries_by_path
        ):
            occupied_path = path
        if occupied_path:
            raise AlreadyExists(f"{occupied_path} already exists", details={"name": occupied_path})

    async def _checksum(self, path: str) -> str:
        """Return the checksum of a file. Raises NotFound for a missing file, and BadRequest for an unreadable one."""
        entry = self._entries_by_path.get(path)
        if entry is None:
            raise NotFound(f"file not found: {path}")
        if entry.fault:
            raise BadRequest(f"{path}: {entry.fault}")
        # The list of a local directory has only the checksums of resource files.
        return entry.checksum or (await read_file(self._checkout, path)).checksum


def _tree_of(document: YamlDocument, text: str) -> Any:
    """Return the tree of one of several documents. Raises Invalid with the position of the document."""
    try:
        tree = read_yaml(document.content(text))
        check_depth(tree)
    except Invalid as fault:
        raise Invalid(f"document {document.number} at line {document.line}: {fault.message}") from fault
    return tree


async def _view(
    context: ChangeContext,
    planned_sync: PlannedSync,
    proposed_checkout: ProposedCheckout,
    checkout: Checkout | None,
    request: ChangeRequest,
    ref: str,
) -> tuple[FileView, list[Touch]]:
    """Return the view of the path for the client, and the touches of its object."""
    path, is_deleted = request.path, request.method is ChangeMethod.DELETE
    if paths.is_directory(path):
        view, key = await _view_of_directory(context, planned_sync, path, ref, proposed_checkout.commit, is_deleted=is_deleted)
    elif is_deleted:
        assert checkout is not None, "there is a file to be removed"
        view, key = await view_file(context, planned_sync, checkout, path, ref, with_dry_run=False)
        view = replace(view, action=ResourceAction.DELETE, errors=[])
    else:
        view, key = await view_file(context, planned_sync, proposed_checkout, path, ref)
    verb = "delete" if is_deleted else "create" if view.existing is None else "update"
    return view, await touches_of_file(context, planned_sync, verb, key, path)


async def _view_of_directory(
    context: ChangeContext, planned_sync: PlannedSync, path: str, ref: str, commit: str, *, is_deleted: bool
) -> tuple[FileView, Key]:
    """Return the view of a directory for the client, and the key of its folder."""
    namespace, folders = context.repository.namespace, planned_sync.folders
    key = folders.key(path)
    existing = await context.store.get_json(namespace, key, FOLDER.version)
    if is_deleted:
        return FileView(path, ref, commit, existing=existing, action=ResourceAction.DELETE), key
    write = folders.write_for(path, is_new=existing is None)
    dry_run = await context.store.dry_run(namespace, write)
    action = ResourceAction.CREATE if existing is None else ResourceAction.UPDATE
    return FileView(path, ref, commit, write=write, existing=existing, dry_run=dry_run, action=action), key


def _with_touches_of_deleted_files(
    context: ChangeContext,
    planned_sync: PlannedSync,
    touches: Sequence[Touch],
    edits: Sequence[Edit],
    requested_path: str,
    touches_of_path: Sequence[Touch],
) -> list[Touch]:
    """Return ``touches``, with the missing touches of the requested path and of each deleted file added.

    Without the additional touches, a caller without rights could delete a file that has no stored object.
    """
    all_touches = list(touches)
    if not any((touch.resource, touch.name) == (touches_of_path[0].resource, touches_of_path[0].name) for touch in all_touches):
        all_touches += touches_of_path
    covered_paths = {item.path for item in planned_sync.plan.managed.values()} | {requested_path}
    for edit in edits:
        if edit.body is None and edit.path not in covered_paths:
            directory = paths.parent(edit.path)
            if paths.is_folder_file(edit.path):
                parent_folder = nearest_folder(planned_sync.plan, planned_sync.folders, paths.parent(directory))
                all_touches.append(touch("update", planned_sync.folders.key(directory), parent_folder))
                continue
            key = Key(DASHBOARD.group, DASHBOARD.plural, object_name(context.repository.name, edit.path))
            all_touches.append(touch("delete", key, nearest_folder(planned_sync.plan, planned_sync.folders, directory)))
    return all_touches

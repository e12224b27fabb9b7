"""A change that a client requests of a repository's files: the edits it needs and their effect on the stored objects."""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from dashwright.common.document import check_depth
from dashwright.common.errors import AlreadyExists, BadRequest, MethodNotAllowed, NotFound
from dashwright.common.jobs import paths
from dashwright.common.jobs.names import object_name
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.repository_calls import ChangeMethod, ChangeRequest, Touch
from dashwright.common.models.repository_views import ResourceAction
from dashwright.jobs_worker.actions.files.planning import (
    ChangeContext,
    ProposedCheckout,
    check_selection,
    concerns,
    plan_files,
    read_file,
    touches_of_file,
    touches_of_plan,
    touches_of_unknown,
    view_file,
    with_resources,
)
from dashwright.jobs_worker.actions.sync import PlannedSync
from dashwright.jobs_worker.domain.edits import MOST_BYTES, check_number, check_total
from dashwright.jobs_worker.domain.file_forms import check_size
from dashwright.jobs_worker.domain.files.content import file_tree, read_content, write_content
from dashwright.jobs_worker.domain.files.proposal import difference_of, files_below
from dashwright.jobs_worker.domain.files.rules import check_name
from dashwright.jobs_worker.domain.files.touches import nearest_folder, touch
from dashwright.jobs_worker.domain.files.wrapper import FileView
from dashwright.jobs_worker.domain.objects import Difference, Edit, Entry, Key
from dashwright.jobs_worker.ports import Checkout


@dataclass(frozen=True, slots=True)
class ChangeDecision:
    """A change that was decided; nothing of it is done yet."""

    edits: Sequence[Edit]
    difference: Difference
    planned: PlannedSync
    view: FileView
    touches: list[Touch]
    #: Fingerprint of everything that the decision depends on.
    base: str
    #: The file's text as it will be written; None if the change sends no file.
    content: str | None = None


async def decide(
    context: ChangeContext, checkout: Checkout | None, request: ChangeRequest, ref: str, suffix: Callable[[], str]
) -> ChangeDecision:
    """Return what a change does.

    ``suffix`` returns the end of generated names. Raises AlreadyExists, NotFound, MethodNotAllowed, Invalid, BadRequest, TooLarge, and
    Forbidden if a quota is reached.
    """
    check_name(request.path)
    if not request.path:
        raise BadRequest("the root of a repository cannot be created, moved or deleted")
    files = _ExistingFiles(context, checkout, await checkout.entries() if checkout is not None else ())
    body = await asyncio.to_thread(files.body_of, request, suffix)
    edits = await files.edits(request, body)
    check_selection(context, edits)
    difference = difference_of(files.entries, edits, in_git=context.in_git)
    proposed = ProposedCheckout(checkout, edits, in_git=context.in_git)
    planned = await plan_files(context, proposed, difference)
    check_faults(planned, edits)
    view, own = await _view(context, planned, proposed, checkout, request, ref)
    touches = _with_all(context, planned, await touches_of_plan(context, planned), edits, request.path, own)
    touches += touches_of_unknown(context, planned, ref, [edit.path for edit in edits], with_resources(files.entries))
    base = fingerprint(ref, edits, touches)
    return ChangeDecision(edits, difference, planned, view, touches, base, body.decode() if body is not None else None)


def check_faults(planned: PlannedSync, edits: Sequence[Edit]) -> None:
    """Raise BadRequest if a file that would be written could not be stored."""
    for fault in (*planned.plan.faults, *planned.plan.copies):
        if any(edit.body is not None and concerns(fault, edit.path) for edit in edits):
            message = fault.shown or fault.message
            raise BadRequest(message if fault.path in message else f"{fault.path}: {message}")


def fingerprint(ref: str, edits: Sequence[Edit], touches: Sequence[Touch]) -> str:
    """Return a hash of the edits, the files they replace and their effect on objects.

    Changes that others make to other files leave it as it is.
    """
    written = [(edit.path, edit.replaces, None if edit.body is None else hashlib.sha256(edit.body).hexdigest()) for edit in edits]
    listed = sorted(touch.to_json().decode() for touch in touches)
    return hashlib.sha256(orjson.dumps([ref, written, listed])).hexdigest()


def message_of(request: ChangeRequest) -> str:
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
        self._there: Mapping[str, Entry] = {entry.path: entry for entry in self.entries}

    def body_of(self, request: ChangeRequest, suffix: Callable[[], str]) -> bytes | None:
        """Return the file to write, in the form that can be read again; None if the change has no content.

        A request with a ``base`` sends the content as it was returned before, so it is not converted again: the base covers it.
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
        check_size(len(body), self._context.tools.largest_file)
        if not request.base:
            tree = read_content(request.content)
            check_depth(tree)
            kept = file_tree(tree, self._context.repository.namespace, suffix)
            body = write_content(request.path, kept, largest=self._context.tools.largest_file)
        self._context.reader.read(request.path, body)
        return body

    async def edits(self, request: ChangeRequest, body: bytes | None) -> list[Edit]:
        """Return the edits that the change needs."""
        path, is_directory = request.path, paths.is_directory(request.path)
        match request.method:
            case ChangeMethod.CREATE:
                self._require_free(path)
                return [Edit(path + paths.KEEP, b"", None) if is_directory else Edit(path, body, None)]
            case ChangeMethod.UPDATE:
                if is_directory:
                    raise MethodNotAllowed("a directory cannot be updated: update a file in it, or create, move or delete the directory")
                return [Edit(path, body, await self._checksum(path))]
            case ChangeMethod.DELETE:
                listed = self._listed(path)
                check_number(len(listed))
                return [Edit(file, None, await self._checksum(file)) for file in listed]
            case ChangeMethod.MOVE:
                return await self._moves(request.original_path, path, body)

    async def _moves(self, old: str, new: str, body: bytes | None) -> list[Edit]:
        check_name(old)
        if paths.is_directory(old) != paths.is_directory(new):
            raise BadRequest("cannot move between file and directory types")
        listed = self._listed(old)
        if paths.is_directory(new) and new.startswith(old):
            raise BadRequest("a directory cannot be moved into itself")
        self._require_free(new)
        check_number(2 * len(listed))
        edits, total = [], 0
        for path in listed:
            target = new + path.removeprefix(old)
            moved = body or await self._kept(path, target)
            total += len(moved)
            check_total(total, MOST_BYTES)
            edits += [Edit(path, None, await self._checksum(path)), Edit(target, moved, None)]
        return edits

    async def _kept(self, path: str, target: str) -> bytes:
        """Return the bytes of a moved file, converted if its new name asks for another format."""
        kept = (await read_file(self._checkout, path)).body
        if path.endswith(".json") == target.endswith(".json") or not paths.is_resource(path):
            return kept
        return write_content(target, self._context.reader.tree(path, kept), largest=self._context.tools.largest_file)

    def _listed(self, path: str) -> list[str]:
        """Return the file, or all files below the directory.

        Raises NotFound for a directory without files, BadRequest if hidden ones would be affected.
        """
        if not paths.is_directory(path):
            if path not in self._there:
                raise NotFound(f"file not found: {path}")
            return [path]
        if not path:
            raise BadRequest("the root of a repository cannot be created, moved or deleted")
        below = files_below(self.entries, path)
        if not any(entry.path.startswith(path) for entry in self.entries):
            raise NotFound(f"directory not found: {path}")
        full = {directory for file in self._there for directory in paths.directories(file) if directory != file}
        unseen = [entry.path for entry in self.entries if entry.path.startswith(path) and paths.is_directory(entry.path)]
        if any(directory not in full and paths.is_hidden(directory) for directory in unseen):
            raise BadRequest(f"{path} holds hidden directories, which cannot be changed here: change them in the repository")
        if not below:
            raise BadRequest(f"{path} holds no file that could be changed")
        return sorted(below)

    def _require_free(self, path: str) -> None:
        above = (directory.rstrip("/") for directory in paths.directories(path))
        taken = next((file for file in above if file in self._there), "")
        # Names only the path of the request: the caller may not be allowed to see the other file.
        if path in self._there or any(entry.startswith(path.rstrip("/") + "/") for entry in self._there):
            taken = path
        if taken:
            raise AlreadyExists(f"{taken} already exists", details={"name": taken})

    async def _checksum(self, path: str) -> str:
        entry = self._there.get(path)
        if entry is None:
            raise NotFound(f"file not found: {path}")
        if entry.fault:
            raise BadRequest(f"{path}: {entry.fault}")
        return entry.checksum or (await read_file(self._checkout, path)).checksum


async def _view(
    context: ChangeContext, planned: PlannedSync, proposed: ProposedCheckout, checkout: Checkout | None, request: ChangeRequest, ref: str
) -> tuple[FileView, list[Touch]]:
    """Return what the client sees of the path, and the touch of its object even if that is stored already."""
    path, is_deleted = request.path, request.method is ChangeMethod.DELETE
    if paths.is_directory(path):
        view, key = await _view_of_directory(context, planned, path, ref, proposed.commit, is_deleted=is_deleted)
    elif is_deleted:
        assert checkout is not None, "there is a file to be removed"
        view, key = await view_file(context, planned, checkout, path, ref, is_tried=False)
        view = replace(view, action=ResourceAction.DELETE, errors=[])
    else:
        view, key = await view_file(context, planned, proposed, path, ref)
    verb = "delete" if is_deleted else "create" if view.existing is None else "update"
    return view, await touches_of_file(context, planned, verb, key, path)


async def _view_of_directory(
    context: ChangeContext, planned: PlannedSync, path: str, ref: str, commit: str, *, is_deleted: bool
) -> tuple[FileView, Key]:
    """Return what the client sees of a directory, and the key of its folder."""
    namespace, folders = context.repository.namespace, planned.folders
    key = folders.key(path)
    existing = await context.objects.get_json(namespace, key, FOLDER.version)
    if is_deleted:
        return FileView(path, ref, commit, existing=existing, action=ResourceAction.DELETE), key
    write = folders.write(path, is_new=existing is None)
    dry_run = await context.objects.dry_run(namespace, write)
    action = ResourceAction.CREATE if existing is None else ResourceAction.UPDATE
    return FileView(path, ref, commit, write=write, existing=existing, dry_run=dry_run, action=action), key


def _with_all(
    context: ChangeContext, planned: PlannedSync, touches: Sequence[Touch], edits: Sequence[Edit], request: str, own: Sequence[Touch]
) -> list[Touch]:
    """Add a touch for every edited file that none stands for yet.

    Without it a file of which nothing is stored could be changed without any right.
    """
    found = list(touches)
    if not any((touch.resource, touch.name) == (own[0].resource, own[0].name) for touch in found):
        found += own
    covered = {item.path for item in planned.plan.ours.values()} | {request}
    for edit in edits:
        if edit.body is None and edit.path not in covered:
            key = Key(DASHBOARD.group, DASHBOARD.plural, object_name(context.repository.name, edit.path))
            found.append(touch("delete", key, nearest_folder(planned.plan, planned.folders, paths.parent(edit.path))))
    return found

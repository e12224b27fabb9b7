"""Exported objects as files: their paths and contents. A sync of the exported files restores the objects."""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.jobs import paths
from dashwright.common.jobs.selection import ALL_FILES, Selection, check_selected
from dashwright.common.json_documents import read_json
from dashwright.common.kinds.registry import DASHBOARD, LIBRARY_PANEL
from dashwright.jobs_worker.domain.edits import check_file_path
from dashwright.jobs_worker.domain.file_forms import decode_text, is_classic, is_resource, unwrap_dashboard
from dashwright.jobs_worker.domain.file_kinds import kind_of_plural
from dashwright.jobs_worker.domain.files.content import file_annotations, file_labels, file_spec, format_content
from dashwright.jobs_worker.domain.objects import GitIdentity, Key

_NON_WORD_CHARACTERS: Final = re.compile(r"[\W_]+")
"""Characters that are neither letters nor digits, of any script."""

_FORBIDDEN_CHARACTERS: Final = frozenset('/\\<>:"|?*%')
"""Characters that some systems forbid in file names, and ``%``, which encodes other characters."""

_MAX_TITLE_BYTES: Final = 120
"""Limit on the bytes of a title in a name. With a distinguishing suffix the name fits into the 255 bytes of file systems."""

_MAX_SUFFIX_CHARACTERS: Final = 100
"""Limit on the characters of an object's name that distinguishes a file name. The digest of a longer name is used instead."""


@dataclass(frozen=True, slots=True)
class ExportItem:
    """An object as it was when the export began, without its body."""

    key: Key
    uid: str
    generation: int
    title: str
    #: Name of the folder that contains the object, empty at the root.
    folder: str
    #: ``True`` for a managed folder. It is not exported, but exported objects may be in its directory. Other managed objects have no item.
    is_managed: bool = False
    #: Description of a folder.
    description: str | None = None

    def name_in_file(self, *, with_names: bool) -> str:
        """Return the name that the object's file contains, or an empty string if the path of the file is enough to identify the object."""
        # Dashboards refer to a library panel by its name, so its file always has the name.
        return self.key.name if with_names or self.key.resource == LIBRARY_PANEL.plural else ""


@dataclass(frozen=True, slots=True)
class HistoryVersion:
    """One stored generation of an object, with its author."""

    uid: str
    #: Plural name of the kind.
    resource: str
    generation: int
    #: API version of the body, without the group.
    stored_version: str
    #: The stored body as JSON.
    spec: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    author: GitIdentity
    created_at: datetime
    #: Message of the author, may be empty.
    message: str

    def content(self, name: str, *, max_file_bytes: int) -> bytes:
        """Return the content of the file, without an indent if the indented file exceeds ``max_file_bytes``.

        The file contains the ``name``, labels and annotations of the object, unless ``name`` is empty. Raises Invalid if the stored body
        is not valid JSON.
        """
        metadata: dict[str, Any] = {}
        if name:
            metadata = {"name": name}
            members = (("labels", file_labels(self.labels)), ("annotations", file_annotations(self.annotations)))
            metadata |= {key: value for key, value in members if value}
        kind = kind_of_plural(self.resource)
        # Grafana reads a kind without conversion in its oldest version only.
        oldest_version = kind.versions[-1]
        version = self.stored_version if kind.versioning else oldest_version
        tree: dict[str, Any] = {"apiVersion": kind.api_version(version), "kind": kind.kind}
        tree |= {"metadata": metadata} if metadata else {}
        return format_content({**tree, "spec": file_spec(kind.kind, read_json(self.spec))}, max_file_bytes=max_file_bytes)

    def commit_message(self) -> str:
        """Return the message of the version's commit."""
        return self.message or f"Generation: {self.generation}"


@dataclass(frozen=True, slots=True)
class Adoption:
    """An exported object that the repository adopts: it becomes the manager of the object, whose file is at ``path``."""

    key: Key
    uid: str
    generation: int
    folder: str
    #: As in the object's annotations: a directory has no slash at the end.
    path: str
    #: Checksum of the file, or of the ``_folder.json`` of a directory; empty for a directory without one.
    checksum: str = ""


class Directories:
    """The directories of folders, named by the titles of the folders.

    If two folders have the same parent and title, the directory of the older folder is named by the title alone. The directory of the
    newer folder is named by the title and the name of that folder. ``folders`` are all folders of an organization, the oldest first.
    ``prefix`` is the directory of the repository that contains all of them, without a slash at the end; empty for the root.
    """

    def __init__(self, folders: Sequence[ExportItem], prefix: str) -> None:
        self._paths = {"": f"{prefix}/" if prefix else ""}
        children: defaultdict[str, list[ExportItem]] = defaultdict(list)
        for folder in folders:
            children[folder.folder].append(folder)
        self._children = children
        pending_parents = [""]
        while pending_parents:
            parent = pending_parents.pop()
            used_names: set[str] = set()
            for folder in children.get(parent, ()):
                name = folder.key.name
                candidates = _distinct_names(_directory_name(folder.title) or _directory_name(name), name)
                directory_name = next(candidate for candidate in candidates if _claim_name(used_names, candidate))
                self._paths[name] = f"{self._paths[parent]}{directory_name}/"
                pending_parents.append(name)

    def path(self, folder: str) -> str | None:
        """Return the directory of a folder; None for an unknown folder."""
        return self._paths.get(folder)

    def depth(self, folder: str) -> int:
        """Return the number of directory levels in the path of a folder."""
        return self._paths[folder].count("/")

    def subtree(self, folder: str) -> frozenset[str]:
        """Return the names of a folder and of all folders below it; an empty name means the root."""
        folder_names, pending = set(), [folder]
        while pending:
            folder_names.add(pending[-1])
            pending += [item.key.name for item in self._children.get(pending.pop(), ())]
        return frozenset(folder_names)


def candidate_paths(item: ExportItem, directory: str) -> Iterator[str]:
    """Yield the paths that an object's file may have, the preferred one first."""
    stem = slug(item.title) or item.key.name[:_MAX_SUFFIX_CHARACTERS]
    return (f"{directory}{name}.json" for name in _distinct_names(stem, item.key.name))


def slug(title: str) -> str:
    """Return the words of a title in lowercase, joined by hyphens; empty if the title has neither letters nor digits of any script."""
    return _truncate_bytes(_NON_WORD_CHARACTERS.sub("-", unicodedata.normalize("NFKC", title).lower())).strip("-")


def path_fault(path: str, *, max_folder_depth: int, selection: Selection = ALL_FILES) -> str:
    """Return why a file cannot be written at a path or not be synced from it; an empty string if both are possible.

    ``max_folder_depth`` is the limit of directory levels. ``selection`` are the files that the repository syncs.
    """
    try:
        paths.check_path(path)
        paths.check_depth(path, max_folder_depth)
        check_file_path(path)
        check_selected(selection, path)
    except BadRequest as error:
        return error.message
    return ""


def may_replace(body: bytes, key: Key) -> bool:
    """Return whether an export may replace an existing file: the file names the object, or may be an earlier export of it without a name.

    Earlier exports without a name are resources without metadata. Other files without a name are a user's: the path names their object.
    """
    try:
        tree = read_json(decode_text(body))
    except Invalid:
        return False
    tree = unwrap_dashboard(tree) or tree
    if is_classic(tree):
        return key.resource == DASHBOARD.plural and bool(tree.get("uid") == key.name)
    if not is_resource(tree) or tree.get("kind") != kind_of_plural(key.resource).kind:
        return False
    metadata = tree.get("metadata") or {}
    return isinstance(metadata, dict) and (not metadata or metadata.get("name") == key.name)


def choose_path(
    item: ExportItem, directory: str, used_paths: set[str], is_free: Callable[[str], bool], fault_at: Callable[[str], str]
) -> str:
    """Return the path of an object's file and add it to ``used_paths``, in casefolded form. Raises BadRequest if no path is free.

    ``is_free`` returns whether no other object has a file at a path. ``fault_at`` returns why a path is unusable, or an empty string.
    """
    for path in candidate_paths(item, directory):
        if fault := fault_at(path):
            raise BadRequest(fault)
        if path.casefold() not in used_paths and is_free(path):
            used_paths.add(path.casefold())
            return path
    raise BadRequest("other files are at its path: move or rename them in the repository")


def _claim_name(used_names: set[str], name: str) -> bool:
    """Add a name to ``used_names`` and return True; return False if the name is used already.

    Names are compared without case, as many file systems do.
    """
    if name.casefold() in used_names:
        return False
    used_names.add(name.casefold())
    return True


def _distinct_names(stem: str, name: str) -> Iterator[str]:
    """Yield file names for an object, the shortest first. A longer one is less likely to be the file name of another object, too."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    yield stem
    if len(name) <= _MAX_SUFFIX_CHARACTERS:
        yield f"{stem}-{name}"
    yield f"{stem}-{digest[:16]}"
    yield f"{stem}-{digest}"


def _directory_name(title: str) -> str:
    """Return a title as a directory name. Forbidden characters become hyphens. Leading dots, which hide a directory, are removed."""
    composed_title = unicodedata.normalize("NFC", title)
    visible_title = "".join("-" if char in _FORBIDDEN_CHARACTERS else char for char in composed_title if char.isprintable())
    return _truncate_bytes(visible_title.lstrip(". ")).rstrip(". ")


def _truncate_bytes(string: str) -> str:
    return string.encode()[:_MAX_TITLE_BYTES].decode(errors="ignore")

"""Exported objects as files: their paths and contents. A sync of the exported files restores the objects."""

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dashwright.common.document import read_json
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.jobs import paths
from dashwright.common.jobs.selection import ALL_FILES, Selection, check_selected
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.jobs_worker.domain.edits import check_place
from dashwright.jobs_worker.domain.file_forms import decode_text, is_classic, is_resource, unwrap_dashboard
from dashwright.jobs_worker.domain.files.content import file_annotations, file_labels, file_spec, print_content
from dashwright.jobs_worker.domain.objects import GitIdentity, Key

_NO_WORD: Final = re.compile(r"[\W_]+")
_NOT_IN_NAMES: Final = frozenset('/\\<>:"|?*%')
"""Characters that not every system allows in file names, and the one that encodes others."""

_LONGEST_PART: Final = 120
"""Bytes of a title in a name: with a distinguishing suffix it fits into the 255 bytes of file systems."""

_LONGEST_SUFFIX: Final = 100


@dataclass(frozen=True, slots=True)
class ExportItem:
    """An object as it was when the export began, without its body."""

    key: Key
    uid: str
    generation: int
    title: str
    #: Empty at the root.
    folder: str
    #: Only some folders are managed; they are not exported.
    is_managed: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    """One generation of an object with its author."""

    uid: str
    generation: int
    version: str
    #: The stored body as JSON.
    spec: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    by: GitIdentity
    at: datetime
    message: str

    def content(self, name: str, *, largest: int) -> bytes:
        """Return the file, if possible of at most ``largest`` bytes. Raises Invalid.

        It contains the ``name``, labels and annotations of the object only if a name is given.
        """
        metadata: dict[str, Any] = {}
        if name:
            metadata = {"name": name}
            texts_by_member = (("labels", file_labels(self.labels)), ("annotations", file_annotations(self.annotations)))
            metadata |= {key: texts for key, texts in texts_by_member if texts}
        tree: dict[str, Any] = {"apiVersion": DASHBOARD.api_version(self.version), "kind": DASHBOARD.kind}
        tree |= {"metadata": metadata} if metadata else {}
        return print_content({**tree, "spec": file_spec(read_json(self.spec))}, largest=largest)

    def commit_message(self) -> str:
        """Return the message of the version's commit."""
        return self.message or f"Generation: {self.generation}"


@dataclass(frozen=True, slots=True)
class Handover:
    """An exported object with its present place in the repository."""

    key: Key
    uid: str
    generation: int
    folder: str
    #: As in its annotations: a directory has no slash at the end.
    path: str
    checksum: str = ""


class Directories:
    """The directories of folders: their titles from the top, as close to the title as a path allows.

    If two would be equal, the first gets the path and the others their name as a suffix. ``folders`` are all of an organization, oldest
    first.
    """

    def __init__(self, folders: Sequence[ExportItem], prefix: str) -> None:
        self._paths = {"": f"{prefix}/" if prefix else ""}
        below: defaultdict[str, list[ExportItem]] = defaultdict(list)
        for folder in folders:
            below[folder.folder].append(folder)
        self._below = below
        waiting = [""]
        while waiting:
            parent = waiting.pop()
            taken: set[str] = set()
            for folder in below.get(parent, ()):
                part = next(part for part in _apart(_part(folder.title) or _part(folder.key.name), folder.key.name) if _claim(taken, part))
                self._paths[folder.key.name] = f"{self._paths[parent]}{part}/"
                waiting.append(folder.key.name)

    def path(self, folder: str) -> str | None:
        """Return the directory of a folder; None for an unknown one."""
        return self._paths.get(folder)

    def depth(self, folder: str) -> int:
        """Return the number of folders above a folder."""
        return self._paths[folder].count("/")

    def within(self, folder: str) -> frozenset[str]:
        """Return a folder and all below it; everything for the root."""
        found, waiting = set(), [folder]
        while waiting:
            found.add(waiting[-1])
            waiting += [item.key.name for item in self._below.get(waiting.pop(), ())]
        return frozenset(found)


def file_names(item: ExportItem, directory: str) -> Iterator[str]:
    """Yield the paths that a dashboard's file may have, the best first."""
    stem = slug(item.title) or item.key.name[:_LONGEST_SUFFIX]
    return (f"{directory}{name}.json" for name in _apart(stem, item.key.name))


def slug(title: str) -> str:
    """Return lowercase letters and digits of any script, joined by hyphens; empty without such characters."""
    return _cut(_NO_WORD.sub("-", unicodedata.normalize("NFKC", title).lower())).strip("-")


def fault_of(path: str, *, deepest: int, selection: Selection = ALL_FILES) -> str:
    """Return why a file cannot be at a path or be synced from there; empty if it can.

    ``deepest`` is the limit of directory levels.
    """
    try:
        paths.check_path(path)
        paths.check_depth(path, deepest)
        check_place(path)
        check_selected(selection, path)
    except BadRequest as error:
        return error.message
    return ""


def may_replace(body: bytes, name: str) -> bool:
    """Return whether an existing file belongs to the object: it names the object, or may be an earlier export without a name.

    Earlier exports are resources without metadata. Any other file without a name was written by a user, and its path names its object.
    """
    try:
        tree = read_json(decode_text(body))
    except Invalid:
        return False
    tree = unwrap_dashboard(tree) or tree
    if is_classic(tree):
        return bool(tree.get("uid") == name)
    if not is_resource(tree) or tree.get("kind") != DASHBOARD.kind:
        return False
    metadata = tree.get("metadata") or {}
    return isinstance(metadata, dict) and (not metadata or metadata.get("name") == name)


def place(item: ExportItem, directory: str, taken: set[str], is_free: Callable[[str], bool], fault_at: Callable[[str], str]) -> str:
    """Return the path of a dashboard's file and mark it as taken. Raises BadRequest if no path is free.

    ``fault_at`` returns why a path is unusable.
    """
    for path in file_names(item, directory):
        if fault := fault_at(path):
            raise BadRequest(fault)
        if path.casefold() not in taken and is_free(path):
            taken.add(path.casefold())
            return path
    raise BadRequest("other files are at its path")


def _claim(taken: set[str], part: str) -> bool:
    """Take a name; return False if it is taken. Many file systems do not distinguish names by case."""
    if part.casefold() in taken:
        return False
    taken.add(part.casefold())
    return True


def _apart(stem: str, name: str) -> Iterator[str]:
    """Yield names, each less likely to collide than the one before."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    yield stem
    if len(name) <= _LONGEST_SUFFIX:
        yield f"{stem}-{name}"
    yield f"{stem}-{digest[:16]}"
    yield f"{stem}-{digest}"


def _part(title: str) -> str:
    """Return a title as a directory name: forbidden characters become hyphens, and nothing is hidden."""
    plain = unicodedata.normalize("NFC", title)
    kept = "".join("-" if char in _NOT_IN_NAMES else char for char in plain if char.isprintable())
    return _cut(kept.lstrip(". ")).rstrip(". ")


def _cut(text: str) -> str:
    return text.encode()[:_LONGEST_PART].decode(errors="ignore")

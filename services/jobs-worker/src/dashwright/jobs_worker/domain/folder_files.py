"""The files ``_folder.json``, each of which has the name and title of the folder of its directory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dashwright.common.errors import DashwrightError, Invalid, TooLarge
from dashwright.common.jobs import paths
from dashwright.common.json_documents import check_strings, format_json, read_shallow_json
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.jobs_worker.domain.file_forms import check_namespace, check_size, decode_text
from dashwright.jobs_worker.domain.objects import Entry, File

MAX_FOLDER_FILE_BYTES: Final = 64 * 1024
"""Limit on the bytes of one ``_folder.json``. The content is in memory during a sync, unlike that of dashboards."""

MAX_TOTAL_BYTES: Final = 32 * 1024 * 1024
"""Limit on the bytes of all ``_folder.json`` files of a repository together."""

_VERSIONS: Final = frozenset({"v1", "v1beta1", "v1alpha1", *FOLDER.versions})
"""API versions in which a folder may be written. They all have the same members."""

_MAX_TYPE_CHARACTERS: Final = 200
"""Limit on the characters of an invalid kind and version that an error quotes."""

_WRITTEN_VERSION: Final = "v1beta1"
"""API version of the files that Dashwright writes, which every Grafana that reads ``_folder.json`` knows."""


@dataclass(frozen=True, slots=True)
class FolderFile:
    """The content of a ``_folder.json``."""

    #: Name (uid) of the folder.
    name: str
    #: Empty if the folder has the name of the directory as its title.
    title: str = ""
    description: str | None = None
    #: Checksum of the file.
    checksum: str = ""

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        spec = {"title": self.title} | ({} if self.description is None else {"description": self.description})
        return format_json(
            {"apiVersion": FOLDER.api_version(_WRITTEN_VERSION), "kind": FOLDER.kind, "metadata": {"name": self.name}, "spec": spec}
        )


@dataclass(slots=True)
class FolderFiles:
    """The ``_folder.json`` files of the examined directories."""

    #: The valid files by directory.
    files: dict[str, FolderFile] = field(default_factory=dict)
    #: The reasons why the other files are invalid, by directory.
    faults: dict[str, str] = field(default_factory=dict)


def read_folder_files(entries: Sequence[Entry], read_file: Callable[[str], File], namespace: str, *, max_folder_depth: int) -> FolderFiles:
    """Return the content of the ``_folder.json`` files among the entries, and the faults of invalid ones.

    Files in directories that cannot become folders because of their path are left out. Raises the server errors of ``read_file``.
    """
    result, total_bytes = FolderFiles(), 0
    for entry in sorted(entries, key=lambda entry: entry.path):
        directory = paths.parent(entry.path)
        if not paths.is_folder_file(entry.path) or not paths.is_valid(entry.path):
            continue
        try:
            if entry.fault:
                raise Invalid(entry.fault)
            paths.check_depth(entry.path, max_folder_depth)
            file = read_file(entry.path)
            # A larger file is refused and not kept, so it must not use up the limit on all files.
            total_bytes += min(len(file.body), MAX_FOLDER_FILE_BYTES)
            if total_bytes > MAX_TOTAL_BYTES:
                raise TooLarge(f"the files of this name have more than {MAX_TOTAL_BYTES} bytes together: make them smaller")
            result.files[directory] = read_folder_file(file.body, namespace, checksum=file.checksum)
        except DashwrightError as fault:
            if fault.is_server_error:
                raise
            result.faults[directory] = fault.message
    return result


def read_folder_file(body: bytes, namespace: str | None, *, checksum: str = "") -> FolderFile:
    """Return the content of a ``_folder.json``. With None as ``namespace``, the file may be of any namespace.

    Raises Invalid, TooLarge or BadRequest (for the name or title) with a message that says what to change in the file.
    """
    check_size(len(body), MAX_FOLDER_FILE_BYTES)
    tree = read_shallow_json(decode_text(body))
    if not isinstance(tree, dict):
        raise Invalid("not a folder: it must be an object with apiVersion, kind, metadata and spec")
    group, _, version = str(tree.get("apiVersion")).partition("/")
    if group != FOLDER.group or tree.get("kind") != FOLDER.kind or version not in _VERSIONS:
        actual_type = f"{tree.get('kind')} of {tree.get('apiVersion')}"[:_MAX_TYPE_CHARACTERS]
        raise Invalid(f"not a folder: {actual_type} instead of {FOLDER.kind} of {FOLDER.api_version(_WRITTEN_VERSION)}")
    metadata, spec = _mapping(tree, "metadata"), _mapping(tree, "spec")
    namespace_of_file = _string(metadata, "namespace", "metadata.namespace")
    if namespace:
        check_namespace(namespace_of_file, namespace)
    name = _string(metadata, "name", "metadata.name")
    if not name:
        raise Invalid("metadata.name is missing: it must be the uid of the folder")
    title = _string(spec, "title", "spec.title") or ""
    description = _string(spec, "description", "spec.description")
    check_strings([title, description or ""])
    # The admission demands a title. A folder without a title in its file is titled like its directory, which needs no admission.
    draft = Draft(name, namespace or "", {"title": title.strip() or name}, {}, {}, version=FOLDER.version)
    if FOLDER.admit:
        FOLDER.admit(draft, AdmissionSettings())
    return FolderFile(name, title if title.strip() else "", description, checksum)


def _mapping(tree: Mapping[str, Any], field_name: str) -> Mapping[str, Any]:
    """Return an object member, empty if it is missing or null. Raises Invalid for any other value."""
    value = tree.get(field_name)
    if value is not None and not isinstance(value, dict):
        raise Invalid(f"{field_name} must be an object")
    return value or {}


def _string(tree: Mapping[str, Any], field_name: str, displayed_name: str) -> str | None:
    """Return a string member, None if it is missing or null. Raises Invalid, with ``displayed_name``, for any other value."""
    value = tree.get(field_name)
    if value is not None and not isinstance(value, str):
        raise Invalid(f"{displayed_name} must be a string in quotes")
    return value

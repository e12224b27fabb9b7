"""Reader of the directory with files that declare repositories."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dashwright.api.repositories.provisioning import regular_files
from dashwright.api.repositories.provisioning.declaration import Declaration, declared_objects, read_declaration
from dashwright.common.errors import Invalid
from dashwright.common.json_documents import read_shallow_json
from dashwright.common.yaml import read_json_documents

_YAML_SUFFIXES: Final = (".yaml", ".yml")
_JSON_SUFFIX: Final = ".json"
_MAX_FILE_BYTES: Final = 5 * 1024 * 1024
#: Maximum number of files and directories. The limit ends the search if, for example, the root directory is configured by mistake.
_MAX_ENTRIES: Final = 10_000


@dataclass(frozen=True, slots=True)
class ProvisioningFault:
    """A fault of a file, or of a repository that a file declares."""

    #: The path of the file, relative to the directory of files; empty for the directory itself.
    file: str
    message: str
    namespace: str = ""
    #: The name of the repository. Empty for a fault of a file, whose declarations are then not all known.
    repository: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredState:
    """Declarations of all files, and the faults of files."""

    #: One for each repository, with its secrets.
    declarations: Sequence[Declaration]
    #: Namespaces and names of all declared repositories, including those with faults.
    keys: frozenset[tuple[str, str]]
    faults: Sequence[ProvisioningFault]

    @property
    def is_complete(self) -> bool:
        """True if all files could be read, so that a repository that is missing here is not declared."""
        # A fault without a repository is that of a file.
        return all(fault.repository for fault in self.faults)


def read_declared_state(root: Path, environment: Mapping[str, str]) -> DeclaredState:
    """Return the declarations in the files of a directory, in the order of their paths. Faults of files are returned, too."""
    faults: list[ProvisioningFault] = []
    declarations: dict[tuple[str, str], Declaration] = {}
    expanded: list[Declaration] = []
    for declaration in _read_declarations(root, faults):
        if declaration.key in declarations:
            message = f"the file '{declarations[declaration.key].file}' declares this repository, too: remove one of the declarations"
            faults.append(ProvisioningFault(declaration.file, message, *declaration.key))
            continue
        declarations[declaration.key] = declaration
        try:
            expanded.append(declaration.expanded(environment))
        except Invalid as error:
            faults.append(ProvisioningFault(declaration.file, error.message, *declaration.key))
    return DeclaredState(expanded, frozenset(declarations), faults)


def _read_declarations(root: Path, faults: list[ProvisioningFault]) -> Iterator[Declaration]:
    """Yield the declarations of all files. Append the faults of files to ``faults``."""
    try:
        files = _find_files(root)
    except (OSError, Invalid) as error:
        reason = error.message if isinstance(error, Invalid) else f"{error.strerror}: create it, or let the gateway read it"
        faults.append(ProvisioningFault("", f"the directory '{root}' of DASHWRIGHT_PROVISIONING_DIR cannot be read: {reason}"))
        return
    for file in files:
        try:
            documents = _read_documents(root / file)
        except Invalid as error:
            faults.append(ProvisioningFault(file, error.message))
            continue
        for number, document in enumerate(documents, 1):
            position = f"document {number}: " if len(documents) > 1 else ""
            yield from _declarations_in(document, file, position, faults)


def _declarations_in(document: Any, file: str, position: str, faults: list[ProvisioningFault]) -> Iterator[Declaration]:
    """Yield the declarations in a document, which may be a list. Append its faults to ``faults``: the position and the message."""
    if document is None:
        return
    try:
        declared = declared_objects(document)
    except Invalid as error:
        faults.append(ProvisioningFault(file, position + error.message))
        return
    for number, item in enumerate(declared, 1):
        try:
            yield read_declaration(file, item)
        except Invalid as error:
            item_position = f"{position}item {number}: " if len(declared) > 1 else position
            faults.append(ProvisioningFault(file, item_position + error.message))


def _find_files(root: Path) -> Sequence[str]:
    """Return the relative paths of the files, sorted. Hidden files and directories are left out, and directories that are symbolic links.

    Raises OSError for an unreadable directory, because its files would be missing, and Invalid for too many entries.
    """
    file_paths: list[str] = []
    entries = 0
    for directory, directory_names, file_names in os.walk(root, onerror=_raise):
        entries += len(directory_names) + len(file_names)
        if entries > _MAX_ENTRIES:
            raise Invalid(f"it has more than {_MAX_ENTRIES} files and directories: use a directory with these files only")
        # Kubernetes keeps the files of a volume in hidden directories, to which visible symbolic links lead.
        directory_names[:] = [name for name in directory_names if not name.startswith(".")]
        visible_names = [name for name in file_names if not name.startswith(".") and name.endswith((*_YAML_SUFFIXES, _JSON_SUFFIX))]
        file_paths += [str(Path(directory, name).relative_to(root)) for name in visible_names]
    # A name that is not UTF-8 is replaced by a name that no file has, so that reading it is a fault.
    return sorted(path.encode(errors="replace").decode() for path in file_paths)


def _raise(error: OSError) -> None:
    """Raise an error of a directory, which ``os.walk`` would ignore."""
    raise error


def _read_documents(path: Path) -> Sequence[Any]:
    """Return the documents of a file as JSON data. Raises Invalid for a file that is unreadable, too large, or neither YAML nor JSON."""
    text = regular_files.read_text(path, max_bytes=_MAX_FILE_BYTES)
    return [read_shallow_json(text)] if path.suffix == _JSON_SUFFIX else read_json_documents(text)

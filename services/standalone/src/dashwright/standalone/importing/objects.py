"""Conversion of rows of folders, dashboards, versions and library panels to resource objects, without I/O."""

import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from dashwright.common.errors import Invalid
from dashwright.common.json_documents import check_depth, check_string, read_json, write_json
from dashwright.common.kinds.annotations import FOLDER_KEY
from dashwright.common.kinds.dashboard import MAX_MESSAGE_LENGTH
from dashwright.common.kinds.kind import Extract, Kind
from dashwright.common.kinds.naming import DASHBOARD_NAME_LENGTH
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, LIBRARY_PANEL
from dashwright.common.stores.resources import Write
from dashwright.standalone.importing.fields import UNKNOWN_TIME, Row, integer, string, timestamp

#: The author of objects and versions whose author is unknown.
IMPORTED_BY: Final = "import:grafana"

#: The version that a dashboard with panels, or a library panel, is stored as.
CLASSIC_VERSION: Final = "v0alpha1"
#: The version that a dashboard with elements and a layout is stored as.
_LAYOUT_VERSION: Final = "v2alpha1"
#: Members of a classic dashboard that are not stored, because the server sets them in responses.
_SERVER_SET_FIELDS: Final = frozenset({"id", "uid", "version"})
_NAME_PATTERN: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}")
# Kinds of library elements. The kind is unknown if the table has no such column.
_PANEL_ELEMENT: Final = 1
_UNKNOWN_ELEMENT: Final = 0


@dataclass(frozen=True, slots=True)
class ImportedBody:
    """A spec as JSON text, and the values that its kind extracts from it."""

    spec: str
    stored_version: str
    extract: Extract


@dataclass(frozen=True, slots=True)
class VersionNote:
    """The comment and origin of a dashboard version."""

    message: str | None = None
    parent: int | None = None
    restored_from: int | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One generation of a dashboard."""

    generation: int
    body: ImportedBody
    created: datetime
    created_by: str
    note: VersionNote


@dataclass(frozen=True, slots=True)
class ImportedObject:
    """A resource object to write."""

    kind: Kind
    org_id: int
    name: str
    #: The numeric id by which older clients address the object.
    numeric_id: int
    #: The id of the object's row in Grafana's database.
    source_id: int
    #: The name of the object's folder, empty at the root.
    folder: str
    body: ImportedBody
    generation: int
    created: datetime
    created_by: str
    updated: datetime | None
    updated_by: str | None
    #: The key of the object in the report and in the record of the import.
    key: str = ""

    @property
    def uid(self) -> uuid.UUID:
        """The uid. It is derived from the name, so that a repeated import finds the object."""
        return uuid.uuid5(uuid.NAMESPACE_OID, f"grafana/{self.org_id}/{self.kind.plural}/{self.name}")

    @property
    def write(self) -> Write:
        """The arguments with which the store writes the object."""
        annotations = {FOLDER_KEY: self.folder} if self.folder else {}
        body = self.body
        return Write(self.kind, self.name, body.spec, body.stored_version, extract=body.extract, annotations=annotations)


@dataclass(slots=True)
class Folders:
    """The names and numeric ids of folders. Old dashboards refer to their folder by its numeric id."""

    name_by_id: dict[int, str] = field(default_factory=dict)
    #: The numeric ids by organization and uid.
    id_by_uid: dict[tuple[int, str], int] = field(default_factory=dict)

    def folder_of(self, row: Row) -> str:
        """Return the name of the folder that contains a row, or "" for the root."""
        return _name(string(row, "folder_uid"), 0) or self.name_by_id.get(integer(row, "folder_id"), "")


def name_of(row: Row) -> str:
    """Return the uid of a row if it is a valid name, else a name that is derived from its id."""
    return _name(string(row, "uid"), integer(row, "id"))


def _name(uid: str, row_id: int) -> str:
    """Return the uid if it is a valid name, else a name derived from the id; empty if the id is 0."""
    if _NAME_PATTERN.fullmatch(uid) and uid != "general":  # Grafana's name of the root.
        return uid
    return f"row-{row_id}"[:DASHBOARD_NAME_LENGTH] if row_id else ""


def folder(row: Row, folders: Folders) -> ImportedObject:
    """Convert a row of the folder table. Raises Invalid if it has no title."""
    name, org_id = name_of(row), integer(row, "org_id")
    spec = {"title": _title(row), **({"description": string(row, "description")} if string(row, "description") else {})}
    folder_id = folders.id_by_uid.get((org_id, string(row, "uid")), integer(row, "id"))
    parent = _name(string(row, "parent_uid"), 0)
    return _imported_object(FOLDER, row, name, folder_id, parent, _body(FOLDER, spec, FOLDER.version), 1)


def folder_from_dashboard_row(row: Row) -> ImportedObject:
    """Convert a folder that is stored as a row of the dashboard table, as in older Grafana databases."""
    spec = {"title": _title(row)}
    return _imported_object(
        FOLDER, row, name_of(row), integer(row, "id"), "", _body(FOLDER, spec, FOLDER.version), max(integer(row, "version"), 1)
    )


def dashboard(row: Row, folders: Folders) -> ImportedObject:
    """Convert a dashboard. Raises Invalid if its body is not a JSON object."""
    body = dashboard_body(string(row, "data"), string(row, "title"))
    return _imported_object(DASHBOARD, row, name_of(row), integer(row, "id"), folders.folder_of(row), body, max(integer(row, "version"), 1))


def dashboard_body(json_text: str, title: str) -> ImportedBody:
    """Return the body of a dashboard or of one of its versions. ``title`` is used if the body has no title."""
    tree = _read_tree(json_text)
    is_layout = DASHBOARD.extract(tree).layout
    spec = {key: value for key, value in tree.items() if is_layout or key not in _SERVER_SET_FIELDS}
    if not isinstance(spec.get("title"), str) or not spec["title"].strip():
        spec["title"] = title or "Untitled"
    return _body(DASHBOARD, spec, _LAYOUT_VERSION if is_layout else CLASSIC_VERSION)


def version(row: Row, title: str) -> Version:
    """Convert a row of the dashboard_version table. Raises Invalid if its body is not a JSON object."""
    return Version(
        integer(row, "version"),
        dashboard_body(string(row, "data"), title),
        timestamp(row, "created") or UNKNOWN_TIME,
        _author(integer(row, "created_by")),
        version_note(row),
    )


def version_note(row: Row) -> VersionNote:
    """Return the comment and origin of a version."""
    message = string(row, "message")[:MAX_MESSAGE_LENGTH] or None
    return VersionNote(message, integer(row, "parent_version") or None, integer(row, "restored_from") or None)


def is_panel(row: Row) -> bool:
    """Return whether a library element is a panel, not a variable."""
    return integer(row, "kind") in (_UNKNOWN_ELEMENT, _PANEL_ELEMENT)


def library_panel(row: Row, folders: Folders) -> ImportedObject:
    """Convert a library panel. Its name and type are those of the row. Raises Invalid if its model is not a JSON object."""
    model = _read_tree(string(row, "model"))
    description = string(row, "description")
    spec = model if model.get("description") or not description else {**model, "description": description}
    body = _body(LIBRARY_PANEL, spec, CLASSIC_VERSION)
    row_extract = Extract(title=string(row, "name"), subtype=string(row, "type"))
    body = ImportedBody(body.spec, body.stored_version, row_extract if row_extract.title else body.extract)
    return _imported_object(
        LIBRARY_PANEL, row, name_of(row), integer(row, "id"), folders.folder_of(row), body, max(integer(row, "version"), 1)
    )


def _imported_object(
    kind: Kind, row: Row, name: str, numeric_id: int, folder_name: str, body: ImportedBody, generation: int
) -> ImportedObject:
    """Return the object of a row. Its last change counts only if it is later than its creation."""
    org_id, created = integer(row, "org_id"), timestamp(row, "created") or UNKNOWN_TIME
    updated = timestamp(row, "updated")
    was_updated = updated is not None and updated > created
    return ImportedObject(
        kind,
        org_id,
        name,
        numeric_id,
        integer(row, "id"),
        folder_name,
        body,
        generation,
        created,
        _author(integer(row, "created_by")),
        updated if was_updated else None,
        _author(integer(row, "updated_by")) if was_updated else None,
        f"{org_id}/{name}",
    )


def _author(user_id: int) -> str:
    """Return the author by the id in Grafana, which is positive only if a user is the author."""
    return f"user:{user_id}" if user_id > 0 else IMPORTED_BY


def _title(row: Row) -> str:
    """Return the title of a row. Raises Invalid if it is blank."""
    title = string(row, "title")
    if not title.strip():
        raise Invalid("it has no title")
    return title


def _read_tree(json_text: str) -> dict[str, Any]:
    """Return a JSON object. Raises Invalid if the text is not one, or if it is nested too deeply."""
    tree = read_json(json_text)
    if not isinstance(tree, dict):
        raise Invalid("its body is not a JSON object")
    check_depth(tree)
    return tree


def _body(kind: Kind, spec: dict[str, Any], version: str) -> ImportedBody:
    """Return the body with a spec as JSON text and its extracted values. Raises Invalid for a title that cannot be stored."""
    extract = kind.extract(spec)
    check_string(extract.title)
    return ImportedBody(write_json(spec).decode(), version, extract)

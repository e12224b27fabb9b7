"""Conversion of rows of folders, dashboards, versions and library panels to resource objects. Pure."""

import re
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from dashwright.common.document import check_depth, check_text, read_json, write_json
from dashwright.common.errors import Invalid
from dashwright.common.kinds.annotations import FOLDER_KEY
from dashwright.common.kinds.dashboard import LONGEST_MESSAGE
from dashwright.common.kinds.kind import Extract, Kind
from dashwright.common.kinds.naming import DASHBOARD_NAME_LENGTH
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, LIBRARY_PANEL
from dashwright.common.stores.resources import Write
from dashwright.standalone.importing.fields import Row, moment, text, whole

#: The author of changes whose author is unknown.
IMPORTED_BY: Final = "import:grafana"

CLASSIC_VERSION: Final = "v0alpha1"
_LAYOUT_VERSION: Final = "v2alpha1"
_SERVER_SET_FIELDS: Final = frozenset({"id", "uid", "version"})
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_PANEL: Final = 1
_UNKNOWN_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


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
    """An object to write."""

    kind: Kind
    org_id: int
    name: str
    #: The numeric id by which older clients address the object.
    number: int
    #: Its id in Grafana's database.
    row: int
    folder: str
    body: ImportedBody
    generation: int
    created: datetime
    created_by: str
    updated: datetime | None
    updated_by: str | None
    #: Its key in the report of the import.
    key: str = ""

    @property
    def uid(self) -> uuid.UUID:
        """The uid, which is derived from the name, so that a repeated import finds the object."""
        return uuid.uuid5(uuid.NAMESPACE_OID, f"grafana/{self.org_id}/{self.kind.plural}/{self.name}")

    @property
    def write(self) -> Write:
        """The arguments with which the store writes the object."""
        annotations = {FOLDER_KEY: self.folder} if self.folder else {}
        body = self.body
        return Write(self.kind, self.name, body.spec, body.stored_version, extract=body.extract, annotations=annotations)


@dataclass(slots=True)
class Folders:
    """Names of folders by the numeric id that old dashboards use, and numeric ids by organization and uid."""

    name_by_id: dict[int, str] = field(default_factory=dict)
    id_by_uid: dict[tuple[int, str], int] = field(default_factory=dict)

    def of(self, row: Row) -> str:
        """Return the name of the folder that contains a row, or "" for the root."""
        return _name(text(row, "folder_uid"), 0) or self.name_by_id.get(whole(row, "folder_id"), "")


def name_of(row: Row) -> str:
    """Return the row's uid if it is a valid name, else a name derived from its id."""
    return _name(text(row, "uid"), whole(row, "id"))


def _name(uid: str, number: int) -> str:
    if _NAME.fullmatch(uid) and uid != "general":
        return uid
    return f"row-{number}"[:DASHBOARD_NAME_LENGTH] if number else ""


def folder(row: Row, folders: Folders) -> ImportedObject:
    """Convert a row of the folder table. Raises Invalid for one without a title."""
    name, org_id = name_of(row), whole(row, "org_id")
    spec = {"title": _title(row), **({"description": text(row, "description")} if text(row, "description") else {})}
    number = folders.id_by_uid.get((org_id, text(row, "uid")), whole(row, "id"))
    parent = _name(text(row, "parent_uid"), 0)
    return _object(FOLDER, row, name, number, parent, _body(FOLDER, spec, FOLDER.version), 1)


def folder_from_dashboard_row(row: Row) -> ImportedObject:
    """Convert a folder that is stored as a row of the dashboard table, as in older Grafana databases."""
    spec = {"title": _title(row)}
    return _object(FOLDER, row, name_of(row), whole(row, "id"), "", _body(FOLDER, spec, FOLDER.version), max(whole(row, "version"), 1))


def dashboard(row: Row, folders: Folders) -> ImportedObject:
    """Convert a dashboard. Raises Invalid if its body is not a JSON object."""
    body = dashboard_body(text(row, "data"), text(row, "title"))
    return _object(DASHBOARD, row, name_of(row), whole(row, "id"), folders.of(row), body, max(whole(row, "version"), 1))


def dashboard_body(content: str, title: str) -> ImportedBody:
    """Return the body of a dashboard or of one of its versions."""
    tree = _tree(content)
    is_layout = DASHBOARD.extract(tree).layout
    spec = {key: value for key, value in tree.items() if is_layout or key not in _SERVER_SET_FIELDS}
    if not isinstance(spec.get("title"), str) or not spec["title"].strip():
        spec["title"] = title or "Untitled"
    return _body(DASHBOARD, spec, _LAYOUT_VERSION if is_layout else CLASSIC_VERSION)


def version(row: Row, title: str) -> Version:
    """Convert a version. Raises Invalid if its body is not a JSON object."""
    return Version(
        whole(row, "version"),
        dashboard_body(text(row, "data"), title),
        moment(row, "created") or _UNKNOWN_TIME,
        _author(whole(row, "created_by")),
        version_note(row),
    )


def version_note(row: Row) -> VersionNote:
    """Return the comment and origin of a version."""
    message = text(row, "message")[:LONGEST_MESSAGE] or None
    return VersionNote(message, whole(row, "parent_version") or None, whole(row, "restored_from") or None)


def is_panel(row: Row) -> bool:
    """Return whether a library element is a panel; others are variables."""
    return whole(row, "kind") in (0, _PANEL)


def library_panel(row: Row, folders: Folders) -> ImportedObject:
    """Convert a library panel. Name and type come from its row, not its model. Raises Invalid for an invalid model."""
    model = _tree(text(row, "model"))
    description = text(row, "description")
    spec = model if model.get("description") or not description else {**model, "description": description}
    body = _body(LIBRARY_PANEL, spec, CLASSIC_VERSION)
    known = Extract(title=text(row, "name"), subtype=text(row, "type"))
    body = ImportedBody(body.spec, body.stored_version, known if known.title else body.extract)
    return _object(LIBRARY_PANEL, row, name_of(row), whole(row, "id"), folders.of(row), body, max(whole(row, "version"), 1))


def _object(kind: Kind, row: Row, name: str, number: int, parent: str, body: ImportedBody, generation: int) -> ImportedObject:
    org_id, created = whole(row, "org_id"), moment(row, "created") or _UNKNOWN_TIME
    updated = moment(row, "updated")
    return ImportedObject(
        kind,
        org_id,
        name,
        number,
        whole(row, "id"),
        parent,
        body,
        generation,
        created,
        _author(whole(row, "created_by")),
        updated if updated and updated > created else None,
        _author(whole(row, "updated_by")) if updated and updated > created else None,
        f"{org_id}/{name}",
    )


def _author(number: int) -> str:
    return f"user:{number}" if number > 0 else IMPORTED_BY


def _title(row: Row) -> str:
    title = text(row, "title")
    if not title.strip():
        raise Invalid("it has no title")
    return title


def _tree(content: str) -> dict[str, Any]:
    tree = read_json(content)
    if not isinstance(tree, dict):
        raise Invalid("its body is not a JSON object")
    check_depth(tree)
    return tree


def _body(kind: Kind, spec: dict[str, Any], version: str) -> ImportedBody:
    extract = kind.extract(spec)
    check_text(extract.title)
    return ImportedBody(write_json(spec).decode(), version, extract)

"""Description of a kind of resource, and the conversion between its stored bodies and the specs of its versions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ValidationError

from dashwright.common.errors import Cause, Invalid
from dashwright.common.identity import Role
from dashwright.common.json_documents import canonical_json, json_equal, read_json, write_json
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.causes import causes_of, sentence

#: Status of an object all of whose parts are in its stored spec.
_EMPTY_STATUS: Final = "{}"

#: Maximum size of a duplicate item in an error message.
_MAX_EXCERPT_BYTES: Final = 200

#: Function that checks a draft, and may change it and add causes.
Admission = Callable[[Draft, AdmissionSettings], None]


class Storage(Enum):
    """Table that stores the objects of a kind."""

    RESOURCES = "resources"  #: Objects with generations, a history and a trash.
    JOBS = "jobs"  #: Jobs: created once, changed only by their worker.
    DEAD_LETTERS = "dead_letters"  #: Dead letters: created by the gateway from the queue, changed only by a replay.
    RECORDS = "records"  #: Users, teams and preferences: changed by the classic API, and only read by the resource API.


class Extract(NamedTuple):
    """Values of an object that are also stored in columns, so that they are known without its body."""

    title: str = ""
    layout: bool = False  #: True if a dashboard consists of elements and a layout.
    tags: Sequence[str] = ()
    subtype: str = ""  #: Type within the kind, such as the type of a panel.
    refs: Sequence[str] = ()  #: Names of the library panels that the object shows.


def extract_title(spec: Mapping[str, Any]) -> Extract:
    """Return an extract with the title of a spec."""
    title = spec.get("title")
    return Extract(title if isinstance(title, str) else "")


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a kind in the table format of the API."""

    name: str
    path: tuple[str, ...]  #: Path from the object to the value.
    type: str = "string"
    format: str = ""
    description: str = ""
    #: Store column with the same value (``name``, ``title``, ``subtype``, ``created``), read without the body.
    source: str = ""


@dataclass(frozen=True, slots=True)
class SubResource:
    """Subresource below an object."""

    name: str
    kind: str  #: Kind of the response.
    action: str  #: Permission that a request needs.
    verbs: tuple[str, ...] = ("get",)
    model: type[BaseModel] | None = None  #: Model of the response, if it is not of a registered kind.
    options: type[BaseModel] | None = None  #: Model of the request options.


@dataclass(frozen=True, slots=True)
class Body:
    """Stored body together with the columns stored next to it. ``spec`` and ``status`` are JSON strings."""

    name: str
    namespace: str
    title: str
    subtype: str
    stored_version: str
    layout: bool  #: True if a dashboard consists of elements and a layout.
    spec: str
    status: str | None


class RenderedBody(NamedTuple):
    """Spec, status and names of secrets in the form that a version of a kind shows, as JSON strings."""

    spec: str
    status: str | None
    secure: str | None = None


#: Function that returns a stored body in the form that a version of its kind shows.
Render = Callable[["Kind", Body, str], RenderedBody]


@dataclass(frozen=True, slots=True)
class Versioning:
    """The rules of a kind whose versions have different forms. An object is stored in the version in which it was last written."""

    #: Returns the version to store a spec in, made from the version in which it was sent.
    stored_version: Callable[[str, Extract], str]
    #: Returns the status to store with a spec that replaces the old body, made from that body, the version in which the spec was sent
    #: and its extract. The status has what that version cannot express.
    preserve: Callable[[Body, str, Extract], str]
    #: Returns the spec of a body in a version. Raises Invalid if that version cannot express it.
    convert: Callable[[Body, str], str]


# Compared and hashed by identity: its mappings have no hash.
@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Description of one kind: its names, versions, verbs, models, rules and permissions."""

    group: str
    versions: tuple[str, ...]  #: API versions, the preferred one first.
    kind: str
    plural: str
    singular: str
    verbs: frozenset[str]
    actions: dict[str, str]  #: Permission that each verb of the resource API needs.
    description: str = ""
    storage: Storage = Storage.RESOURCES
    spec: type[BaseModel] | None = None  #: Model of the spec; None: any JSON object.
    #: Model of the status, if the kind has one. A new object gets its defaults.
    status: type[BaseModel] | None = None
    #: Model of the member that accepts secrets and shows their names.
    secure: type[BaseModel] | None = None
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    admit: Admission | None = None
    dns_name: bool = False  #: True if names follow the rules of Kubernetes instead of those of dashboards.
    #: Function that returns the extract of an admitted spec.
    extract: Callable[[Mapping[str, Any]], Extract] = extract_title
    categories: tuple[str, ...] = ("grafana",)
    in_folder: bool = False  #: True if objects can be in folders, whose access rules apply to them.
    is_tree: bool = False  #: True if the objects are folders themselves.
    history: bool = False  #: True if older generations and deleted objects can be restored.
    #: Prefix of scopes and actions: ``dashboards`` for ``dashboards:read`` on ``dashboards:uid:N``.
    area: str = ""
    #: Lowest role that may perform each action on all objects of the organization. Actions without a role need a grant.
    roles: Mapping[str, Role] = field(default_factory=dict)
    #: True if objects can have access rules. The actions ``{area}.permissions:read`` and ``:write`` require the role Admin.
    has_access_rules: bool = False
    subresources: tuple[SubResource, ...] = ()
    render: Render | None = None  #: None: every version shows the stored form.
    versioning: Versioning | None = None  #: None: all versions have the same form.
    rendered_spec: type[BaseModel] | None = None  #: Model of the rendered spec, if it differs from ``spec``.
    #: Model of the rendered status, if it differs from ``status``.
    rendered_status: type[BaseModel] | None = None
    #: Function that returns the body to store, made from the old body (None for a new object) and the spec of the request.
    merge: Callable[[dict[str, Any] | None, dict[str, Any]], dict[str, Any]] | None = None
    #: Paths of lists that are sets: duplicate items are invalid, and each item has field owners of its own.
    set_lists: tuple[tuple[str, ...], ...] = ()
    hidden_members: tuple[tuple[str, ...], ...] = ()  #: Paths of members of the stored object that no version shows.
    #: Actions and scopes that a creation requires in addition to the kind's create action.
    extra_create_permissions: tuple[tuple[str, str], ...] = ()
    finalizers: tuple[str, ...] = ()  #: Finalizers of a new object if the request has none.
    server_finalizers: frozenset[str] = frozenset()  #: Finalizers that the server runs itself, immediately.

    @property
    def create_permissions(self) -> tuple[tuple[str, str], ...]:
        """Actions and scopes that a creation requires."""
        return ((self.actions["create"], "*"), *self.extra_create_permissions)

    @property
    def version(self) -> str:
        """The preferred version."""
        return self.versions[0]

    @property
    def key(self) -> str:
        """The name of the kind in messages of Kubernetes, such as ``dashboards.dashboard.grafana.app``."""
        return f"{self.plural}.{self.group}"

    def details(self, name: str) -> dict[str, str]:
        """Return the Kubernetes status details that name an object of this kind."""
        return {"name": name, "group": self.group, "kind": self.plural}

    def invalid(self, name: str, causes: Sequence[Cause]) -> Invalid:
        """Return the error that Kubernetes clients print: ``Kind.group "name" is invalid: cause``, several causes in brackets."""
        return Invalid(
            f'{self.kind}.{self.group} "{name}" is invalid: {sentence(causes)}',
            causes=causes,
            details={"name": name, "group": self.group, "kind": self.kind},
        )

    def api_version(self, version: str | None = None) -> str:
        """Return ``group/version``, by default with the preferred version."""
        return f"{self.group}/{version or self.version}"

    def rendered(self, body: Body, version: str) -> RenderedBody:
        """Return a stored body in the form that a version of the kind shows."""
        return RenderedBody(body.spec, body.status) if self.render is None else self.render(self, body, version)

    def body_of(self, old: Body | None, version: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Return the body to store for a spec that was sent in a version. ``old`` is the stored body, or None for a new object.

        If the spec equals the rendered form of the old body, the old body is returned: a client that writes back the spec that it
        read changes nothing.
        """
        if old is not None and self.render is not None:
            rendered = self.render(self, old, version).spec
            # A version that shows the stored form returns the same string, which needs no comparison.
            if rendered is not old.spec and json_equal(read_json(rendered), spec):
                old_body: dict[str, Any] = read_json(old.spec)
                return old_body
        if self.merge is not None:
            return self.merge(None if old is None else read_json(old.spec), spec)
        return spec

    def validation_errors(self, spec: dict[str, Any]) -> list[Cause]:
        """Return the validation errors of a spec: wrong types, and duplicate items in lists that must be sets."""
        try:
            if self.rendered_spec is not None:
                self.rendered_spec.model_validate(spec)
        except ValidationError as error:
            return [Cause(f"spec.{cause.field}", cause.reason, cause.message) for cause in causes_of(error) or ()]
        return [fault for path in self.set_lists for fault in _duplicates({"spec": spec}, path)]

    def stored_version(self, version: str, extract: Extract) -> str:
        """Return the version in which to store a body that was sent in ``version``."""
        return version if self.versioning is None else self.versioning.stored_version(version, extract)

    def preserved_status(self, old: Body, version: str, extract: Extract) -> str | None:
        """Return the status to store with a body that was sent in ``version`` and replaces ``old``; None if the status is kept."""
        return None if self.versioning is None else self.versioning.preserve(old, version, extract)

    def initial_status(self) -> str | None:
        """Return the status to store with a body that replaces all that was stored before; None if the status is kept."""
        return None if self.versioning is None else _EMPTY_STATUS


def _duplicates(tree: Any, path: tuple[str, ...]) -> Iterator[Cause]:
    """Yield a cause for each item of the list at a path that equals an earlier item."""
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    earlier_values: set[bytes] = set()
    for index, item in enumerate(tree if isinstance(tree, list) else ()):
        value = canonical_json(item)
        if value in earlier_values:
            excerpt = write_json(item)[:_MAX_EXCERPT_BYTES].decode(errors="replace")
            yield Cause(f"{'.'.join(path)}[{index}]", "FieldValueDuplicate", f"Duplicate value: {excerpt}")
        earlier_values.add(value)

"""Description of a kind of resource."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from pydantic import BaseModel

from dashwright.common.errors import Cause, Invalid
from dashwright.common.identity import Role
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.causes import sentence

Admission = Callable[[Draft, AdmissionSettings], None]


class Storage(Enum):
    """Table that stores the objects of a kind."""

    RESOURCES = "resources"  #: Objects with generations, a history and a trash.
    JOBS = "jobs"  #: Jobs: created once, changed only by their worker.


class Extract(NamedTuple):
    """Facts about an object that are stored in columns, to be known without its body."""

    title: str = ""
    layout: bool = False  #: Whether a dashboard consists of elements and a layout.
    tags: Sequence[str] = ()
    subtype: str = ""  #: Type within the kind, such as the type of a panel.
    refs: Sequence[str] = ()  #: Names of the library panels that the object shows.


def extract_title(spec: Mapping[str, Any]) -> Extract:
    """Return an extract with the title of a spec."""
    title = spec.get("title")
    return Extract(title if isinstance(title, str) else "")


@dataclass(frozen=True, slots=True)
class Column:
    """Column of the printed table of a kind."""

    name: str
    path: tuple[str, ...]  #: Path from the object to the value.
    type: str = "string"
    format: str = ""
    description: str = ""
    #: Store column with the same value (``name``, ``title``, ``subtype``, ``created``), read without the body.
    source: str = ""


@dataclass(frozen=True, slots=True)
class SubResource:
    """Subresource that is served below an object."""

    name: str
    kind: str  #: Kind of the response.
    action: str  #: Permission that a request needs.
    verbs: tuple[str, ...] = ("get",)
    model: type[BaseModel] | None = None  #: Model of the response, if it is not of a registered kind.
    options: type[BaseModel] | None = None  #: Model of the request options.


@dataclass(frozen=True, slots=True)
class Body:
    """Stored body together with the columns stored next to it. ``spec`` and ``status`` are JSON text."""

    name: str
    title: str
    subtype: str
    stored_version: str
    layout: bool
    spec: str
    status: str | None


class RenderedBody(NamedTuple):
    """Spec, status and names of secrets as a version of a kind shows them, as JSON text."""

    spec: str
    status: str | None
    secure: str | None = None


Render = Callable[["Kind", Body, str], RenderedBody]


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
    #: The model of the member that takes secrets and shows their names.
    secure: type[BaseModel] | None = None
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    admit: Admission | None = None
    dns_name: bool = False  #: Whether names follow the rules of Kubernetes instead of those of dashboards.
    #: Read the extract from an admitted spec.
    extract: Callable[[Mapping[str, Any]], Extract] = extract_title
    categories: tuple[str, ...] = ("grafana",)
    in_folder: bool = False  #: Whether objects are in folders, which decide access to them.
    is_tree: bool = False  #: Whether the objects are the folders themselves.
    history: bool = False  #: Whether older generations and deleted objects can be restored.
    #: Prefix of scopes and actions: ``dashboards`` for ``dashboards:read`` on ``dashboards:uid:N``.
    area: str = ""
    #: The least role that is allowed each action, on all objects of the organization. Actions without a role need a grant.
    roles: Mapping[str, Role] = field(default_factory=dict)
    #: Objects may have access rules of their own; ``{area}.permissions:read`` and ``:write`` are for Admins.
    has_access_rules: bool = False
    subresources: tuple[SubResource, ...] = ()
    render: Render | None = None  #: Show a stored body in a version; None: as it is stored.
    shown_spec: type[BaseModel] | None = None  #: Model of the rendered spec, if it differs from ``spec``.
    #: Model of the rendered status, if it differs from ``status``.
    shown_status: type[BaseModel] | None = None
    #: Make the body to store from the old body (None at a creation) and the spec that was sent.
    absorb: Callable[[dict[str, Any] | None, dict[str, Any]], dict[str, Any]] | None = None
    set_lists: tuple[tuple[str, ...], ...] = ()  #: Paths of lists whose items form a set.
    #: Actions, with their scopes, that a creation needs in addition to the kind's own.
    create_needs: tuple[tuple[str, str], ...] = ()
    finalizers: tuple[str, ...] = ()  #: Finalizers of a new object that names none.
    own_finalizers: frozenset[str] = frozenset()  #: Finalizers that the server runs itself.

    @property
    def creating(self) -> tuple[tuple[str, str], ...]:
        """Actions, with their scopes, that a creation needs."""
        return ((self.actions["create"], "*"), *self.create_needs)

    @property
    def version(self) -> str:
        """Preferred version."""
        return self.versions[0]

    @property
    def key(self) -> str:
        """Name in Kubernetes messages: ``dashboards.dashboard.grafana.app``."""
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

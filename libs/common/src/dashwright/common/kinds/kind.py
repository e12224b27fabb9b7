"""What there is to say about a kind of resource."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from pydantic import BaseModel

from dashwright.common.identity import Role
from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.settings import AdmissionSettings

Admission = Callable[[Draft, AdmissionSettings], None]


class Storage(Enum):
    """Which table holds the objects of a kind."""

    RESOURCES = "resources"
    JOBS = "jobs"


class Extract(NamedTuple):
    """What is known of an object without its body.

    ``layout``: it is a dashboard of elements and a layout. ``subtype``: the type of what comes in types, as a panel does. ``refs``: the
    names of the library panels it shows.
    """

    title: str = ""
    layout: bool = False
    tags: Sequence[str] = ()
    subtype: str = ""
    refs: Sequence[str] = ()


def extract_title(spec: Mapping[str, Any]) -> Extract:
    title = spec.get("title")
    return Extract(title if isinstance(title, str) else "")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the kind's printed table; ``path`` leads from the object to the value.

    ``source`` names the column of the store that has the value (``name``, ``title``, ``subtype``, ``created``): it is told without the
    body.
    """

    name: str
    path: tuple[str, ...]
    type: str = "string"
    format: str = ""
    description: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class SubResource:
    """What is served below an object.

    ``kind`` is the kind of its answer, ``action`` the permission that it needs, ``model`` the answer's shape where that is no kind's.
    ``options`` is the shape of what a request may ask for.
    """

    name: str
    kind: str
    action: str
    verbs: tuple[str, ...] = ("get",)
    model: type[BaseModel] | None = None
    options: type[BaseModel] | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """A stored body, and what the store says of it beside. ``spec`` and ``status`` are JSON text."""

    name: str
    title: str
    subtype: str
    stored_version: str
    layout: bool
    spec: str
    status: str | None


class RenderedBody(NamedTuple):
    """A spec, a status and the names of secrets as one version of a kind shows them, as JSON text."""

    spec: str
    status: str | None
    secure: str | None = None


Render = Callable[["Kind", Body, str], RenderedBody]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind: its names, versions (the preferred one first), verbs, model, rules and permissions.

    ``spec`` is the model of the spec; None where the spec is any JSON object. ``actions`` maps a verb of the resource API to the
    permission it needs. ``status`` is the model of the status, where the kind has one; a new object gets its defaults.
    ``dns_name``: names follow Kubernetes' rules rather than those of dashboards. ``extract`` reads an admitted spec.

    ``in_folder``: objects lie in folders, and access to them follows from the folder. ``is_tree``: they are the folders. ``history``:
    older generations and what was deleted can be had again. ``area`` is what stands before the names in scopes and actions
    (``dashboards``: ``dashboards:read`` on ``dashboards:uid:N``). ``create_needs`` are actions, and the scopes they are needed on, that
    making an object takes besides its own. ``render`` shows a stored body in a version, None as it is stored; ``shown_spec`` and
    ``shown_status`` are the models of what it makes, where they are not those of what is stored.
    ``absorb`` makes a body to store of the old one (None at a creation) and the spec that was sent. ``set_lists`` are paths of lists
    whose items are a set. ``finalizers`` are those of a new object that names none, ``own_finalizers`` those that the server does
    itself.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str
    singular: str
    verbs: frozenset[str]
    actions: dict[str, str]
    description: str = ""
    storage: Storage = Storage.RESOURCES
    spec: type[BaseModel] | None = None
    status: type[BaseModel] | None = None
    #: The model of the member that takes secrets and shows their names.
    secure: type[BaseModel] | None = None
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    admit: Admission | None = None
    dns_name: bool = False
    extract: Callable[[Mapping[str, Any]], Extract] = extract_title
    categories: tuple[str, ...] = ("grafana",)
    in_folder: bool = False
    is_tree: bool = False
    history: bool = False
    area: str = ""
    #: The least role that is allowed each action, on all objects of the organization. Actions without a role need a grant.
    roles: Mapping[str, Role] = field(default_factory=dict)
    #: Objects may have access rules of their own; ``{area}.permissions:read`` and ``:write`` are for Admins.
    has_access_rules: bool = False
    subresources: tuple[SubResource, ...] = ()
    render: Render | None = None
    shown_spec: type[BaseModel] | None = None
    shown_status: type[BaseModel] | None = None
    absorb: Callable[[dict[str, Any] | None, dict[str, Any]], dict[str, Any]] | None = None
    set_lists: tuple[tuple[str, ...], ...] = ()
    create_needs: tuple[tuple[str, str], ...] = ()
    finalizers: tuple[str, ...] = ()
    own_finalizers: frozenset[str] = frozenset()

    @property
    def creating(self) -> tuple[tuple[str, str], ...]:
        """Every action, and the scope it is needed on, that making an object takes."""
        return ((self.actions["create"], "*"), *self.create_needs)

    @property
    def version(self) -> str:
        return self.versions[0]

    @property
    def key(self) -> str:
        """How Kubernetes messages name the resource: ``dashboards.dashboard.grafana.app``."""
        return f"{self.plural}.{self.group}"

    def api_version(self, version: str | None = None) -> str:
        return f"{self.group}/{version or self.version}"

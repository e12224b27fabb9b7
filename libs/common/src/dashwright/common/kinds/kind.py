"""What there is to say about a kind of resource."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from pydantic import BaseModel

from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.settings import AdmissionSettings

Admission = Callable[[Draft, AdmissionSettings], None]


class Shelf(Enum):
    """Which table holds the objects of a kind."""

    RESOURCES = "resources"
    JOBS = "jobs"


class Extract(NamedTuple):
    """What is known of an object without its body. ``layout``: it is a dashboard of elements and a layout."""

    title: str = ""
    layout: bool = False
    tags: Sequence[str] = ()


def extract_title(spec: Mapping[str, Any]) -> Extract:
    title = spec.get("title")
    return Extract(title if isinstance(title, str) else "")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the kind's printed table; ``path`` leads from the object to the value."""

    name: str
    path: tuple[str, ...]
    type: str = "string"
    format: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One kind: its names, versions (the preferred one first), verbs, model, rules and permissions.

    ``spec`` is the model of the spec; None where the spec is any JSON object. ``actions`` maps a verb of the resource API to the
    permission it needs. ``status`` is the model of the status, where the kind has one; a new object gets its defaults.
    ``dns_name``: names follow Kubernetes' rules rather than those of dashboards. ``extract`` reads an admitted spec.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    plural: str
    singular: str
    verbs: frozenset[str]
    actions: dict[str, str]
    shelf: Shelf = Shelf.RESOURCES
    spec: type[BaseModel] | None = None
    status: type[BaseModel] | None = None
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    admit: Admission | None = None
    dns_name: bool = False
    extract: Callable[[Mapping[str, Any]], Extract] = extract_title

    @property
    def version(self) -> str:
        return self.versions[0]

    @property
    def key(self) -> str:
        """How Kubernetes messages name the resource: ``dashboards.dashboard.grafana.app``."""
        return f"{self.plural}.{self.group}"

    def api_version(self, version: str | None = None) -> str:
        return f"{self.group}/{version or self.version}"

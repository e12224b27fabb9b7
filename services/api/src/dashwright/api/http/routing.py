"""The route table as frozen data: the handler of each route, its permission, and its description."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from dashwright.api.http.call import Call, parse_integer
from dashwright.api.http.errors import ErrorShape, error_shape_of
from dashwright.api.http.response import JSON, Response
from dashwright.common.errors import BadRequest, DashwrightError

Handler: TypeAlias = Callable[[Call], Awaitable[Response]]

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
MEBIBYTE: Final = 1024 * 1024
CURRENT_ORG: Final = "current_org"


class Access(Enum):
    """The access to a route that needs no permission."""

    PUBLIC = "public"  #: Without credentials.
    SIGNED_IN = "signed-in"  #: With any valid credentials.


PUBLIC: Final = Access.PUBLIC
SIGNED_IN: Final = Access.SIGNED_IN


class OrganizationView(Enum):
    """The view of the caller that a permission is checked in."""

    CURRENT = "current"  #: As a member of the request's current organization.
    GLOBAL = "global"  #: Without an organization.


@dataclass(frozen=True, slots=True)
class OrganizationInPath:
    """The view of the caller in the organization that a path parameter names."""

    parameter: str
    fault: str  #: Text of the 400 for a value that is not an integer.
    message_id: str | None = None

    def organization_id(self, parameters: Mapping[str, str]) -> int:
        """Return the id of the organization. Raises BadRequest for a value that is not an integer."""
        number = parse_integer(parameters[self.parameter])
        if number is None:
            raise BadRequest(self.fault, message_id=self.message_id)
        return number


@dataclass(frozen=True, slots=True)
class Permission:
    """The permission that a route needs."""

    action: str
    #: Scope of the action: ``*``, or a template over the path parameters as they were sent (``dashboards:uid:{uid}``).
    #: ``{current_org}`` is the caller's organization.
    scope: str = "*"
    organization: OrganizationView | OrganizationInPath = OrganizationView.CURRENT
    any_scope: bool = False  #: The action on any scope suffices; the handler restricts what it returns or changes.
    by_object: bool = False  #: An access rule that permits the action on some folder or object suffices, too.

    def scope_for(self, parameters: Mapping[str, str], current_org: int) -> str:
        """Return the scope for the parameters of one request."""
        return self.scope.format_map({**parameters, CURRENT_ORG: current_org}) if "{" in self.scope else self.scope

    def check(self, names: Iterable[str]) -> None:
        """Raise DashwrightError if the scope or the organization refers to a path parameter that is not in ``names``."""
        parameters = dict.fromkeys(names, "")
        try:
            self.scope_for(parameters, 1)
        except (KeyError, ValueError, IndexError) as error:
            raise DashwrightError(f"scope {self.scope!r} names no path parameter") from error
        if isinstance(self.organization, OrganizationInPath) and self.organization.parameter not in parameters:
            raise DashwrightError(f"organization {self.organization.parameter!r} names no path parameter")


@dataclass(frozen=True, slots=True)
class Content:
    """A documented body."""

    schema: Any = None  #: A type that pydantic describes, or a JSON Schema; None: anything.
    types: tuple[str, ...] = (JSON,)  #: Media types.
    optional: bool = False  #: A request may omit the body.


BINARY: Final[Mapping[str, str]] = MappingProxyType({"type": "string", "format": "binary"})
"""The schema of a body that is not JSON."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The description of a route in the OpenAPI document.

    A body is a type (JSON of that type), a Content, or a tuple of Content if its schema depends on the media type.
    """

    id: str
    summary: str
    tag: str = ""
    request: Any = None  #: The body of the request.
    responses: Mapping[int, Any] = field(default_factory=dict)  #: The body by status; None for a response without body.
    query: Mapping[str, str] = field(default_factory=dict)  #: Purpose of each query parameter.
    #: Types of parameters of path and query that are not texts, such as ``int``; ``list[str]`` for one that may be repeated.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Statuses from 400 on, apart from those that follow from the route: 400, 429 and internal failures for all, 401 and 403 with a
    #: permission, 413 and 415 with a body.
    errors: tuple[int, ...] = ()
    description: str = ""
    deprecated: bool = False
    security: tuple[str, ...] = ("basicAuth", "bearerAuth")


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a path template: a word, a parameter (``{name}``) or the remainder of the path (``{name:rest}``)."""

    name: str
    is_parameter: bool = False
    is_rest: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """A method on a path template."""

    method: str
    path: str
    handler: Handler
    needs: Access | Permission
    operation: Operation | None = None
    shape: ErrorShape | None = None  #: None: the shape of the path.
    body_limit: int = MEBIBYTE  #: Bytes of the body, compressed and decompressed.
    failure: str | None = None  #: Text that the specification prescribes for internal failures; they are then all status 500.
    is_routine: bool = False  #: Machines request it every few seconds; successes are not logged.
    audit: str | None = None  #: Audit event of a change by this route.
    takes_weak_passwords: bool = False  #: Callers whose password must be changed may use it.

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise DashwrightError(f"route {self.path}: method {self.method!r} is not one of {', '.join(sorted(METHODS))}")
        if not isinstance(self.needs, Access | Permission):
            raise DashwrightError(f"route {self.method} {self.path} names no permission: give a Permission, SIGNED_IN or PUBLIC")
        names = {segment.name for segment in parse(self.path) if segment.is_parameter}
        if isinstance(self.needs, Permission):
            try:
                self.needs.check(names)
            except DashwrightError as error:
                raise DashwrightError(f"route {self.method} {self.path}: {error.message}") from error

    @property
    def error_shape(self) -> ErrorShape:
        """The error shape of the route, by default that of its path."""
        return self.shape or error_shape_of(self.path)


@lru_cache(1024)
def parse(template: str) -> tuple[Segment, ...]:
    """Return the segments of a path template. Raises DashwrightError for an invalid one."""
    if not template.startswith("/"):
        raise DashwrightError(f"path template {template!r} must start with a slash")
    parts = [] if template == "/" else template[1:].split("/")
    segments = tuple(_segment(part, template) for part in parts)
    names = [segment.name for segment in segments if segment.is_parameter]
    if len(set(names)) != len(names):
        raise DashwrightError(f"path template {template!r} names a parameter twice")
    if any(segment.is_rest for segment in segments[:-1]):
        raise DashwrightError(f"path template {template!r}: the remainder must come last")
    return segments


def _segment(part: str, template: str) -> Segment:
    if part.startswith("{") and part.endswith("}"):
        name, _, kind = part[1:-1].partition(":")
        if name.isidentifier() and kind in ("", "rest"):
            return Segment(name, is_parameter=True, is_rest=kind == "rest")
    elif part and "{" not in part and "}" not in part:
        return Segment(part)
    raise DashwrightError(f"path template {template!r}: segment {part!r} is not a word, {{name}} or {{name:rest}}")

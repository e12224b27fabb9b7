"""The route table as frozen data: what a handler answers, what it needs, and what the API's description says of it."""

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
    """Needs that are no permission: nothing at all, or only a valid credential."""

    PUBLIC = "public"
    SIGNED_IN = "signed-in"


PUBLIC: Final = Access.PUBLIC
SIGNED_IN: Final = Access.SIGNED_IN


class OrganizationView(Enum):
    """As whom a caller is looked at: in the current organization of the request, or globally, as a member of none."""

    CURRENT = "current"
    GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class OrganizationInPath:
    """The organization that a parameter of the path names. ``fault`` is the text of the 400 where that is no integer."""

    parameter: str
    fault: str
    message_id: str | None = None

    def organization_id(self, parameters: Mapping[str, str]) -> int:
        """Raises BadRequest."""
        number = parse_integer(parameters[self.parameter])
        if number is None:
            raise BadRequest(self.fault, message_id=self.message_id)
        return number


@dataclass(frozen=True, slots=True)
class Permission:
    """An action, and the scope it is needed on: ``*``, or a template over the path's parameters as they were sent.

    In a template (``dashboards:uid:{uid}``) ``{current_org}`` is the caller's organization. ``organization`` is the organization whose view
    of the caller counts. ``any_scope``: the action on anything will do, and the handler narrows down what it shows or changes.
    ``by_object``: so will a rule of access that allows it on some folder or what lies in one.
    """

    action: str
    scope: str = "*"
    organization: OrganizationView | OrganizationInPath = OrganizationView.CURRENT
    any_scope: bool = False
    by_object: bool = False

    def scope_for(self, parameters: Mapping[str, str], current_org: int) -> str:
        return self.scope.format_map({**parameters, CURRENT_ORG: current_org}) if "{" in self.scope else self.scope

    def check(self, names: Iterable[str]) -> None:
        """Raises DashwrightError where the scope or the organization asks for a parameter that the path, having ``names``, lacks."""
        parameters = dict.fromkeys(names, "")
        try:
            self.scope_for(parameters, 1)
        except (KeyError, ValueError, IndexError) as error:
            raise DashwrightError(f"scope {self.scope!r} names no path parameter") from error
        if isinstance(self.organization, OrganizationInPath) and self.organization.parameter not in parameters:
            raise DashwrightError(f"organization {self.organization.parameter!r} names no path parameter")


@dataclass(frozen=True, slots=True)
class Content:
    """A documented body: a type that pydantic describes or a JSON Schema (None: anything), and its media types.

    ``optional``: a request may come without it.
    """

    schema: Any = None
    types: tuple[str, ...] = (JSON,)
    optional: bool = False


BINARY: Final[Mapping[str, str]] = MappingProxyType({"type": "string", "format": "binary"})
"""The schema of a body that is not JSON."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What the OpenAPI document says of a route.

    ``request`` and ``responses`` hold Content, several of them where the media types differ in their schema, or a type for JSON of that
    type; ``responses`` maps each status to that, or to None for an answer without body. ``query`` says what each parameter of the query
    is for, ``parameters`` the type of those parameters of path and query that are no text (``int``, ``bool``, ``list[str]`` for one
    that may be repeated). ``errors`` are the statuses from 400 on that do not follow from the route itself: of a guarded route 401 and
    403, of one with a body 413 and 415, and 400, 429 and those of failures always do.
    """

    id: str
    summary: str
    tag: str = ""
    request: Any = None
    responses: Mapping[int, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    errors: tuple[int, ...] = ()
    description: str = ""
    deprecated: bool = False
    security: tuple[str, ...] = ("basicAuth", "bearerAuth")


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a path template: a word, a parameter (``{name}``) or the remainder of the path (``{name:rest}``)."""

    name: str
    is_parameter: bool = False
    is_rest: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path template.

    ``shape`` is the error shape, by default that of the path. ``body_limit`` is in bytes, packed and unpacked. ``failure``, where
    given, is the text the interface prescribes for every failure of ours: all errors of status 500 and above then answer 500 with it.
    ``is_routine``: asked every few seconds by machines, and not worth a line in the log while all is well. ``audit`` names the event
    that a change by this route is on record as. ``takes_weak_passwords``: a caller whose password must be changed first may use the route.
    """

    method: str
    path: str
    handler: Handler
    needs: Access | Permission
    operation: Operation | None = None
    shape: ErrorShape | None = None
    body_limit: int = MEBIBYTE
    failure: str | None = None
    is_routine: bool = False
    audit: str | None = None
    takes_weak_passwords: bool = False

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
        return self.shape or error_shape_of(self.path)


@lru_cache(1024)
def parse(template: str) -> tuple[Segment, ...]:
    """The segments of a path template. Raises DashwrightError for one that is not readable."""
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

"""The route table as immutable data: the handler of each route, its permission, and its description."""

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
UNLIMITED_BYTES: Final = 2**63 - 1
"""Body limit of a route that handles a body chunk by chunk, and never keeps all of it in memory."""
CURRENT_ORG: Final = "current_org"
"""Placeholder in scopes for the id of the caller's organization."""


class Access(Enum):
    """The callers who may use a route that requires no permission."""

    PUBLIC = "public"  #: All clients, without credentials.
    SIGNED_IN = "signed-in"  #: Callers with any valid credentials.


# Short names for route tables.
PUBLIC: Final = Access.PUBLIC
SIGNED_IN: Final = Access.SIGNED_IN


class OrganizationScope(Enum):
    """The organization in which a permission is checked."""

    CURRENT = "current"  #: The request's current organization.
    GLOBAL = "global"  #: No organization: only permissions for the whole server apply.


@dataclass(frozen=True, slots=True)
class OrganizationInPath:
    """The organization that a path parameter names, in which a permission is checked."""

    parameter: str
    error_message: str  #: Message of the response 400 for a value that is not an integer.
    message_id: str | None = None

    def organization_id(self, parameters: Mapping[str, str]) -> int:
        """Return the id of the organization. Raises BadRequest for a value that is not an integer."""
        org_id = parse_integer(parameters[self.parameter])
        if org_id is None:
            raise BadRequest(self.error_message, message_id=self.message_id)
        return org_id


@dataclass(frozen=True, slots=True)
class Permission:
    """The permission that a route requires."""

    action: str
    #: Scope of the action: ``*``, or a template such as ``dashboards:uid:{uid}``. It is formatted with the path parameters, and with
    #: ``{current_org}``, the id of the caller's organization.
    scope: str = "*"
    organization: OrganizationScope | OrganizationInPath = OrganizationScope.CURRENT
    any_scope_suffices: bool = False  #: Permission on any scope is enough, because the handler checks the scope itself.
    object_rules_suffice: bool = False  #: An access rule that permits the action on any folder or object is enough, too.

    def scope_for(self, parameters: Mapping[str, str], current_org: int) -> str:
        """Return the scope for the parameters of one request."""
        return self.scope.format_map({**parameters, CURRENT_ORG: current_org}) if "{" in self.scope else self.scope

    def check_parameters(self, names: Iterable[str]) -> None:
        """Raise DashwrightError if the scope or the organization refers to a path parameter that is not in ``names``."""
        # Empty values suffice: only the names in the template of the scope are checked.
        parameters = dict.fromkeys(names, "")
        try:
            self.scope_for(parameters, 1)
        except (KeyError, ValueError, IndexError) as error:
            raise DashwrightError(f"scope {self.scope!r} names no path parameter") from error
        if isinstance(self.organization, OrganizationInPath) and self.organization.parameter not in parameters:
            raise DashwrightError(f"organization {self.organization.parameter!r} names no path parameter")


@dataclass(frozen=True, slots=True)
class Content:
    """The description of a body in the OpenAPI document."""

    schema: Any = None  #: A type for pydantic, or a JSON Schema; None for any value.
    media_types: tuple[str, ...] = (JSON,)
    is_optional: bool = False  #: A request may omit the body.


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
    #: Types of path and query parameters that are not strings, such as ``int``; ``list[str]`` for one that may be repeated.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Error statuses in addition to the usual ones: 400, 429 and internal errors of every route, 401 and 403 with a permission, 413
    #: and 415 with a body.
    errors: tuple[int, ...] = ()
    description: str = ""
    deprecated: bool = False
    security: tuple[str, ...] = ("basicAuth", "bearerAuth")


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a path template: a word, a parameter (``{name}``) or the remainder of the path (``{name:rest}``)."""

    name: str  #: The word, or the name of the parameter or remainder.
    is_parameter: bool = False  #: True for a parameter and for the remainder.
    is_remainder: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """A method on a path template."""

    method: str
    path: str
    handler: Handler
    required_access: Access | Permission
    operation: Operation | None = None
    error_shape_override: ErrorShape | None = None  #: None: the error shape of the path.
    body_limit: int = MEBIBYTE  #: Limit in bytes on the body, both compressed and decompressed.
    failure_message: str | None = None  #: Message that Grafana returns for every internal error of this route, with status 500.
    is_routine: bool = False  #: Programs request it every few seconds, so successes are logged at level debug only.
    audit: str | None = None  #: Name of the audit event of a change by this route.
    accepts_weak_passwords: bool = False  #: Callers whose password must be changed may use this route.

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise DashwrightError(f"route {self.path}: method {self.method!r} is not one of {', '.join(sorted(METHODS))}")
        if not isinstance(self.required_access, Access | Permission):
            raise DashwrightError(f"route {self.method} {self.path} names no permission: give a Permission, SIGNED_IN or PUBLIC")
        names = {segment.name for segment in parse_template(self.path) if segment.is_parameter}
        if isinstance(self.required_access, Permission):
            try:
                self.required_access.check_parameters(names)
            except DashwrightError as error:
                raise DashwrightError(f"route {self.method} {self.path}: {error.message}") from error

    @property
    def error_shape(self) -> ErrorShape:
        """The error shape of the route, by default that of its path."""
        return self.error_shape_override or error_shape_of(self.path)


@lru_cache(1024)
def parse_template(template: str) -> tuple[Segment, ...]:
    """Return the segments of a path template. Raises DashwrightError for an invalid one."""
    if not template.startswith("/"):
        raise DashwrightError(f"path template {template!r} must start with a slash")
    texts = [] if template == "/" else template[1:].split("/")
    segments = tuple(_parse_segment(text, template) for text in texts)
    names = [segment.name for segment in segments if segment.is_parameter]
    if len(set(names)) != len(names):
        raise DashwrightError(f"path template {template!r} names a parameter twice")
    if any(segment.is_remainder for segment in segments[:-1]):
        raise DashwrightError(f"path template {template!r}: the remainder must come last")
    return segments


def _parse_segment(text: str, template: str) -> Segment:
    """Return one segment of a path template. Raises DashwrightError, which quotes the template, for an invalid one."""
    if text.startswith("{") and text.endswith("}"):
        name, _, suffix = text[1:-1].partition(":")
        if name.isidentifier() and suffix in ("", "rest"):
            return Segment(name, is_parameter=True, is_remainder=suffix == "rest")
    elif text and "{" not in text and "}" not in text:
        return Segment(text)
    raise DashwrightError(f"path template {template!r}: segment {text!r} is not a word, {{name}} or {{name:rest}}")

"""Dispatch of a method and path to a route, by a tree over path segments that is walked once per request."""

from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import unquote

from dashwright.api.http.errors import ErrorShape, error_shape_of
from dashwright.api.http.routing import Route, parse_template
from dashwright.common.errors import BadRequest, DashwrightError, MethodNotAllowed, NotFound

_RESOURCES_ADVICE: Final = "/apis lists the groups and versions that are served, and /apis/{group}/{version} the resources of a version"


class Match(NamedTuple):
    """The route of a request, its error shape, and the decoded parameters of its path."""

    route: Route
    error_shape: ErrorShape
    parameters: dict[str, str]


class _Endpoint:
    """A route, with the names of its path parameters and its error shape computed in advance."""

    __slots__ = ("error_shape", "parameter_names", "route")

    def __init__(self, route: Route, parameter_names: tuple[str, ...]) -> None:
        self.route = route
        self.error_shape = route.error_shape
        self.parameter_names = parameter_names


class _Node:
    """A position in the tree, after some segments of a path."""

    __slots__ = ("children", "endpoints", "parameter_child", "remainder_endpoints")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}  #: Next nodes by word.
        self.parameter_child: _Node | None = None  #: The next node for a parameter, which matches any segment.
        self.endpoints: dict[str, _Endpoint] = {}  #: Routes of paths that end here, by method.
        self.remainder_endpoints: dict[str, _Endpoint] = {}  #: Routes that take the remainder of the path, by method.


class Dispatcher:
    """The dispatcher of a route table.

    At each segment a word is preferred to a parameter, and a parameter to the remainder of the path. If the preferred one leads to no
    route with the method, the next one is tried. A parameter is never empty. A trailing slash is ignored, except in a remainder.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def find(self, method: str, path: str) -> Match:
        """Return the route for ``path``, the percent-encoded path of the request line without query.

        The route for GET also serves HEAD, unless HEAD has a route. Raises NotFound, MethodNotAllowed (with the allowed methods in
        ``details["allow"]``) or BadRequest (a path that is not UTF-8 text).
        """
        segments, has_trailing_slash = _split_path(path)
        allowed_methods: set[str] = set()
        parameter_values: list[str] = []
        endpoint = _search(self._root, segments, 0, method, parameter_values, allowed_methods, has_trailing_slash)
        if endpoint is not None:
            return Match(endpoint.route, endpoint.error_shape, dict(zip(endpoint.parameter_names, parameter_values, strict=True)))
        if allowed_methods:
            if "GET" in allowed_methods:
                allowed_methods.add("HEAD")
            allow = ", ".join(sorted(allowed_methods))
            raise MethodNotAllowed(f"Method {method} is not allowed here; use {allow}", details={"allow": allow})
        raise NotFound(f"Not found; {_RESOURCES_ADVICE}" if error_shape_of(path) is ErrorShape.STATUS else "Not found")

    def _add(self, route: Route) -> None:
        """Add a route to the tree. Raises DashwrightError for a second route with its method and path."""
        node = self._root
        segments = parse_template(route.path)
        for segment in segments:
            if segment.is_remainder:
                break
            if segment.is_parameter:
                node.parameter_child = node.parameter_child or _Node()
                node = node.parameter_child
            else:
                child = node.children.get(segment.name)
                if child is None:
                    child = node.children[segment.name] = _Node()
                node = child
        endpoints = node.remainder_endpoints if segments and segments[-1].is_remainder else node.endpoints
        if route.method in endpoints:
            raise DashwrightError(f"two routes for {route.method} {route.path}")
        endpoints[route.method] = _Endpoint(route, tuple(segment.name for segment in segments if segment.is_parameter))


def _search(
    node: _Node,
    segments: list[str],
    depth: int,
    method: str,
    parameter_values: list[str],
    allowed_methods: set[str],
    has_trailing_slash: bool,
) -> _Endpoint | None:
    """Return the endpoint for the segments from ``depth`` on, or None.

    Adds the values of its path parameters to ``parameter_values``. Adds the methods of routes that match the path, but not the method,
    to ``allowed_methods``. The search is depth first, in the order of preference. Each node is visited at most once.
    """
    if depth == len(segments):
        return _endpoint_for(node.endpoints, method, allowed_methods)
    segment = segments[depth]
    child = node.children.get(segment)
    if child is not None:
        endpoint = _search(child, segments, depth + 1, method, parameter_values, allowed_methods, has_trailing_slash)
        if endpoint is not None:
            return endpoint
    is_empty_segment = not segment
    if is_empty_segment:  # Neither a parameter nor a remainder may begin with a slash.
        return None
    if node.parameter_child is not None:
        parameter_values.append(segment)
        endpoint = _search(node.parameter_child, segments, depth + 1, method, parameter_values, allowed_methods, has_trailing_slash)
        if endpoint is not None:
            return endpoint
        parameter_values.pop()
    endpoint = _endpoint_for(node.remainder_endpoints, method, allowed_methods)
    if endpoint is not None:
        parameter_values.append("/".join(segments[depth:]) + ("/" if has_trailing_slash else ""))
    return endpoint


def _endpoint_for(endpoints: dict[str, _Endpoint], method: str, allowed_methods: set[str]) -> _Endpoint | None:
    """Return the endpoint for a method. Without one, return None, and add the methods of ``endpoints`` to ``allowed_methods``."""
    endpoint = endpoints.get(method)
    if endpoint is None and method == "HEAD":
        endpoint = endpoints.get("GET")
    if endpoint is None:
        allowed_methods.update(endpoints)
    return endpoint


def _split_path(path: str) -> tuple[list[str], bool]:
    """Return the decoded segments of a path, and whether it ended with a slash."""
    segments = path[1:].split("/")
    has_trailing_slash = segments[-1] == ""
    if has_trailing_slash:
        segments.pop()
    if "%" in path or "\0" in path or not path.isascii():
        # Decoding comes after the split, so that an encoded slash (%2F) is part of a segment.
        try:
            segments = [unquote(segment, errors="strict") for segment in segments]
            "".join(segments).encode()  # Fails for the surrogates by which aiohttp represents bytes that are not UTF-8.
        except UnicodeError as error:
            raise BadRequest("The path is not UTF-8 text; encode its bytes as UTF-8 and then with percent signs") from error
        if any("\0" in segment for segment in segments):
            raise BadRequest("The path contains a NUL character, which no name may contain")
    return segments, has_trailing_slash

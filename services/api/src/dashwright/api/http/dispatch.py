"""Dispatch of a method and path to a route, by a tree over path segments that is walked once per request."""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from dashwright.api.http.errors import ErrorShape
from dashwright.api.http.routing import Route, parse
from dashwright.common.errors import BadRequest, DashwrightError, MethodNotAllowed, NotFound


class Match(NamedTuple):
    """The route of a request, its error shape, and the decoded parameters of its path."""

    route: Route
    shape: ErrorShape
    parameters: dict[str, str]


class _Endpoint:
    """A route, with the names of its path parameters and its error shape computed in advance."""

    __slots__ = ("names", "route", "shape")

    def __init__(self, route: Route, names: tuple[str, ...]) -> None:
        self.route = route
        self.shape = route.error_shape
        self.names = names


class _Node:
    """A position in the tree, after some segments of a path."""

    __slots__ = ("here", "parameter", "rest", "words")

    def __init__(self) -> None:
        self.words: dict[str, _Node] = {}  #: Next nodes by segment.
        self.parameter: _Node | None = None  #: The next node for any segment.
        self.here: dict[str, _Endpoint] = {}  #: Routes of paths that end here, by method.
        self.rest: dict[str, _Endpoint] = {}  #: Routes that take the remainder of the path, by method.


class Dispatcher:
    """The dispatcher of a route table.

    At each segment a word is preferred to a parameter, and a parameter to the remainder. If the preferred one leads to no route with
    the method, the next one is tried. A parameter is never empty. A remainder keeps its trailing slash, which is ignored elsewhere.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def find(self, method: str, path: str) -> Match:
        """Return the route for ``path``, which is that of the request line, without query.

        The route for GET also serves HEAD, unless HEAD has a route. Raises NotFound, MethodNotAllowed (with the allowed methods in
        ``details["allow"]``) or BadRequest (a path that is not UTF-8 text).
        """
        segments, slash = _split(path)
        allowed: set[str] = set()
        values: list[str] = []
        endpoint = _search(self._root, segments, 0, method, values, allowed, slash)
        if endpoint is not None:
            return Match(endpoint.route, endpoint.shape, dict(zip(endpoint.names, values, strict=True)))
        if allowed:
            if "GET" in allowed:
                allowed.add("HEAD")
            listed = ", ".join(sorted(allowed))
            raise MethodNotAllowed(f"Method {method} is not allowed here; use {listed}", details={"allow": listed})
        raise NotFound("Not found")

    def _add(self, route: Route) -> None:
        node = self._root
        segments = parse(route.path)
        for segment in segments:
            if segment.is_rest:
                break
            if segment.is_parameter:
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.words.setdefault(segment.name, _Node())
        endpoints = node.rest if segments and segments[-1].is_rest else node.here
        if route.method in endpoints:
            raise DashwrightError(f"two routes for {route.method} {route.path}")
        endpoints[route.method] = _Endpoint(route, tuple(segment.name for segment in segments if segment.is_parameter))


def _search(
    node: _Node, segments: list[str], depth: int, method: str, values: list[str], allowed: set[str], slash: bool
) -> _Endpoint | None:
    """Search depth first, in the order of preference. Each node is visited at most once, so the size of the tree bounds the work."""
    if depth == len(segments):
        return _choose(node.here, method, allowed)
    segment = segments[depth]
    word = node.words.get(segment)
    if word is not None:
        endpoint = _search(word, segments, depth + 1, method, values, allowed, slash)
        if endpoint is not None:
            return endpoint
    if not segment:
        return None
    if node.parameter is not None:
        values.append(segment)
        endpoint = _search(node.parameter, segments, depth + 1, method, values, allowed, slash)
        if endpoint is not None:
            return endpoint
        values.pop()
    endpoint = _choose(node.rest, method, allowed)
    if endpoint is not None:
        values.append("/".join(segments[depth:]) + ("/" if slash else ""))
    return endpoint


def _choose(endpoints: dict[str, _Endpoint], method: str, allowed: set[str]) -> _Endpoint | None:
    endpoint = endpoints.get(method)
    if endpoint is None and method == "HEAD":
        endpoint = endpoints.get("GET")
    if endpoint is None:
        allowed.update(endpoints)
    return endpoint


def _split(path: str) -> tuple[list[str], bool]:
    """Return the decoded segments of a path, and whether it ended with a slash."""
    segments = path[1:].split("/")
    slash = segments[-1] == ""
    if slash:
        segments.pop()
    if "%" in path or "\0" in path or not path.isascii():
        # Decoding comes after the split, so that an encoded slash (%2F) is part of a segment.
        try:
            segments = [unquote(segment, errors="strict") for segment in segments]
            "".join(segments).encode()
        except UnicodeError as error:
            raise BadRequest("The path is not UTF-8 text; encode its bytes as UTF-8 and then with percent signs") from error
        if any("\0" in segment for segment in segments):
            raise BadRequest("The path contains a NUL character, which no name may contain")
    return segments, slash

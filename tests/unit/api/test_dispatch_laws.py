"""Properties of dispatch, compared with a matcher that tries every route, for random tables and paths."""

from collections.abc import Sequence
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.http.call import Call
from dashwright.api.http.dispatch import Dispatcher
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Route, Segment, parse_template
from dashwright.common.errors import BadRequest, MethodNotAllowed, NotFound

#: Method and path of a route, and the parameters of the request.
DispatchResult = tuple[str, dict[str, str]]


async def handler(_: Call) -> Response:
    """Return an empty response."""
    return Response()


def match_template(template: Sequence[Segment], segments: Sequence[str], slash: bool) -> dict[str, str] | None:
    """Return the parameters of a path that matches a template, or None if it does not match. ``slash`` is a slash at the path's end."""
    values: dict[str, str] = {}
    for index, segment in enumerate(template):
        if index >= len(segments) or (segment.is_parameter and not segments[index]):
            return None
        if segment.is_remainder:
            return values | {segment.name: "/".join(segments[index:]) + ("/" if slash else "")}
        if segment.is_parameter:
            values[segment.name] = segments[index]
        elif segment.name != segments[index]:
            return None
    return values if len(template) == len(segments) else None


def naive_result(routes: Sequence[Route], method: str, segments: Sequence[str], slash: bool) -> DispatchResult | set[str]:
    """Return the route with its parameters, by a match with every route.

    If no route has the method, return the allowed methods: an empty set if the path is unknown.
    """

    def rank(route: Route) -> tuple[int, ...]:
        """Return the precedence of each segment: 0 for a word, 1 for a parameter, 2 for a remainder."""
        return tuple(segment.is_parameter + segment.is_remainder for segment in parse_template(route.path))

    matching = [(route, values) for route in routes if (values := match_template(parse_template(route.path), segments, slash)) is not None]
    matching.sort(key=lambda candidate: rank(candidate[0]))
    # Of the templates that match the same path, each has a rank of its own.
    by_template: dict[tuple[int, ...], dict[str, tuple[Route, dict[str, str]]]] = {}
    for route, values in matching:
        by_template.setdefault(rank(route), {})[route.method] = (route, values)
    for methods in by_template.values():
        candidate = methods.get(method) or (methods.get("GET") if method == "HEAD" else None)
        if candidate:
            return candidate[0].method + " " + candidate[0].path, candidate[1]
    return {route.method for route, _ in matching}


words = st.sampled_from(["a", "b", "c"])
segments_of_templates = st.lists(st.one_of(words, st.just("{}")), max_size=4)


@st.composite
def tables(draw: st.DrawFn) -> list[Route]:
    """Return up to eight routes of different methods or templates. About a third of them end with a remainder."""
    routes: dict[tuple[str, tuple[str, ...]], Route] = {}
    for _ in range(draw(st.integers(1, 8))):
        parts = draw(segments_of_templates)
        if draw(st.sampled_from([False, False, True])):
            parts = [*parts, "{:rest}"]
        method = draw(st.sampled_from(["GET", "POST", "HEAD", "DELETE"]))
        # Parameters are named by their position: ``{p0}``, and ``{p2:rest}`` for a remainder.
        path = "/" + "/".join(part.replace("{", "{p" + str(index)) for index, part in enumerate(parts))
        routes[method, tuple(parts)] = Route(method, path, handler, PUBLIC)
    return list(routes.values())


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)
paths = st.lists(st.one_of(words, words, texts), max_size=5)


@given(tables(), st.sampled_from(["GET", "POST", "HEAD", "PUT"]), paths, st.booleans())
def test_dispatch_equals_trying_every_route(routes: list[Route], method: str, segments: list[str], slash: bool) -> None:
    """Words precede parameters, and parameters precede a remainder. A template without the method is skipped.

    The error 405 lists the methods of all templates that match the path.
    """
    # Empty segments at the end would be further trailing slashes.
    while segments and segments[-1] == "":
        segments = segments[:-1]
    # The slash of the path ``/`` is not a trailing one.
    slash = slash and bool(segments)
    path = "/" + "/".join(quote(segment, safe="") for segment in segments) + ("/" if slash else "")
    expected = naive_result(routes, method, segments, slash)
    dispatched = dispatch_result(Dispatcher(routes), method, path)
    # A route of GET also handles HEAD.
    if isinstance(expected, set) and "GET" in expected:
        expected.add("HEAD")
    assert dispatched == expected


def dispatch_result(dispatcher: Dispatcher, method: str, path: str) -> DispatchResult | set[str]:
    """Return the result of the dispatcher, in the form of ``naive_result``."""
    try:
        match = dispatcher.find(method, path)
    except NotFound:
        return set()
    except MethodNotAllowed as error:
        return set(error.details["allow"].split(", "))
    return match.route.method + " " + match.route.path, match.parameters


@given(tables(), st.binary(max_size=40))
def test_any_bytes_in_a_path_are_routed_or_refused(routes: list[Route], raw: bytes) -> None:
    """No malformed path causes an internal failure, and parameters contain neither NUL nor surrogates."""
    # A question mark or a number sign would end the path.
    path = "/" + raw.decode("utf-8", "surrogateescape").replace("?", "").replace("#", "")
    try:
        match = Dispatcher(routes).find("GET", path)
    except (NotFound, MethodNotAllowed, BadRequest):
        return
    for value in match.parameters.values():
        assert "\0" not in value
        # Encoding fails for surrogates.
        value.encode()


def test_an_encoded_slash_divides_nothing() -> None:
    """Parameters are decoded once, after the path is split, so an encoded slash divides nothing."""
    match = Dispatcher([Route("GET", "/a/{x}/b", handler, PUBLIC)]).find("GET", "/a/1%2F2%252F/b")
    assert match.parameters == {"x": "1/2%2F"}


def test_a_trailing_slash_is_ignored_but_kept_in_a_remainder() -> None:
    """A trailing slash never changes the route, and a remainder keeps it, because it marks a folder."""
    dispatcher = Dispatcher([Route("GET", "/files", handler, PUBLIC), Route("GET", "/files/{path:rest}", handler, PUBLIC)])
    assert dispatcher.find("GET", "/files/").route.path == "/files"
    assert dispatcher.find("GET", "/files/a/b%20c/").parameters == {"path": "a/b c/"}


@pytest.mark.parametrize("path", ["/a/%ff", "/a/%00", "/a/\udcff"])
def test_a_path_that_is_not_text_is_a_bad_request(path: str) -> None:
    """A path with invalid UTF-8, NUL or a surrogate is refused before a store receives it as a name."""
    with pytest.raises(BadRequest):
        Dispatcher([Route("GET", "/a/{x}", handler, PUBLIC)]).find("GET", path)

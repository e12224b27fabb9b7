"""Properties of a route table, checked before the gateway serves."""

from typing import Any

import pytest

from dashwright.api.http.call import Call
from dashwright.api.http.dispatch import Dispatcher
from dashwright.api.http.errors import ErrorShape, error_shape_of
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Permission, Route
from dashwright.common.errors import DashwrightError


async def handler(_: Call) -> Response:
    """Return an empty response."""
    return Response()


@pytest.mark.parametrize("needs", [None, "dashboards:read", ()])
def test_a_route_without_a_permission_is_refused(needs: Any) -> None:
    """A route without a permission, or with a value that is not a permission, is refused: no route becomes public by omission."""
    with pytest.raises(DashwrightError, match="names no permission"):
        Route("GET", "/api/x", handler, needs)


@pytest.mark.parametrize("path", ["api", "/a//b", "/{a:rest}/b", "/{}", "/{a:int}", "/{a}/{a}", "/a{b}", "/a/"])
def test_an_unreadable_template_is_refused(path: str) -> None:
    """A template is refused unless it consists of words, parameters with distinct names, and at most one remainder at the end."""
    with pytest.raises(DashwrightError, match="path template"):
        Route("GET", path, handler, PUBLIC)


@pytest.mark.parametrize("scope", ["dashboards:uid:{id}", "{", "{}"])
def test_a_scope_may_name_only_parameters_of_the_path(scope: str) -> None:
    """A scope with an unknown parameter is reported at the start, not to the first caller."""
    with pytest.raises(DashwrightError, match="names no path parameter"):
        Route("GET", "/api/dashboards/{uid}", handler, Permission("dashboards:read", scope))


def test_an_unknown_method_is_refused() -> None:
    """A method that is not written as in HTTP, such as ``get``, is refused."""
    with pytest.raises(DashwrightError, match="is not one of"):
        Route("get", "/api/x", handler, PUBLIC)


def test_two_routes_for_the_same_requests_are_refused() -> None:
    """Two routes may not have the same method and template, regardless of the names of parameters."""
    with pytest.raises(DashwrightError, match="two routes"):
        Dispatcher([Route("GET", "/a/{x}", handler, PUBLIC), Route("GET", "/a/{y}", handler, SIGNED_IN)])


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/apis", ErrorShape.STATUS),
        ("/apis/a/v1", ErrorShape.STATUS),
        ("/openapi/v3/apis/a/v1", ErrorShape.STATUS),
        ("/version", ErrorShape.STATUS),
        ("/api/apis", ErrorShape.CLASSIC),
        ("/apisx", ErrorShape.CLASSIC),
        ("/openapi.json", ErrorShape.CLASSIC),
        ("/", ErrorShape.CLASSIC),
    ],
)
def test_the_error_shape_follows_the_path(path: str, shape: ErrorShape) -> None:
    """Errors below the paths of Kubernetes clients are a Status, and other errors have the classic format. A route may override this."""
    assert error_shape_of(path) is shape
    assert Route("GET", path, handler, PUBLIC).error_shape is shape
    assert Route("GET", path, handler, PUBLIC, error_shape_override=ErrorShape.STATUS).error_shape is ErrorShape.STATUS

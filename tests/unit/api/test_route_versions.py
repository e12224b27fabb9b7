"""Routes of a kind in its versions: equal in everything but the version, which the response names."""

from typing import Any

import pytest
from tests.unit.api.gateway_routes import routes

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Operation, Route
from dashwright.api.repositories.routes.repository_path import REPOSITORY_PATH
from dashwright.api.repositories.routes.versions import in_each_version
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import KINDS, REPOSITORY

from .conftest import Serve

# The end of a response: a file of the repository, which contains an object of the same group.
CONTENT = b',"file":{"kind":"Job","apiVersion":"provisioning.grafana.app/v0alpha1"}}'


@pytest.mark.parametrize(
    ("kind", "name"),
    [*((kind, kind.plural) for kind in KINDS), (REPOSITORY, "settings"), (REPOSITORY, "stats")],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_all_versions_of_a_kind_have_the_same_routes(kind: Kind, name: str) -> None:
    """Each version has the methods, permissions, limits and audit events of the preferred one."""

    def routes_of_version(version: str) -> dict[tuple[str, str], Any]:
        """Return the settings of the routes whose first part below the namespace has the name, by method and relative path."""
        root = f"/apis/{kind.api_version(version)}/"
        return {
            (route.method, route.path.removeprefix(root)): (route.required_access, route.body_limit, route.audit, route.error_shape)
            for route in routes()
            if route.path.startswith(root) and name in route.path.removeprefix(f"{root}namespaces/{{namespace}}/").split("/")[0]
        }

    assert routes_of_version(kind.version)
    for version in kind.versions:
        assert routes_of_version(version) == routes_of_version(kind.version)


@pytest.mark.parametrize(
    ("body", "names_version"),
    [
        (b'{"kind":"FileList","apiVersion":"provisioning.grafana.app/v0alpha1"' + CONTENT, True),
        (b'{"kind":"Dashboard","apiVersion":"dashboard.grafana.app/v0alpha1"' + CONTENT, False),
        (b'{"items":[]' + CONTENT, False),
        (b"\x89PNG" + CONTENT, False),
    ],
)
async def test_only_the_start_of_a_response_names_the_version(serve: Serve, body: bytes, names_version: bool) -> None:
    """A response that starts with an object of the group names the version of its path. The file in it is unchanged."""

    async def respond(_: Call) -> Response:
        return Response(200, body)

    operation = Operation("getFile", "a file")
    gateway = await serve(in_each_version([Route("GET", f"{REPOSITORY_PATH}/x", respond, PUBLIC, operation)]))
    for version in REPOSITORY.versions:
        async with gateway.client.get(f"/apis/{REPOSITORY.api_version(version)}/namespaces/default/repositories/r/x") as response:
            received = await response.read()
        if names_version:
            # Only the first version is replaced: the second one is part of the file.
            assert received == body.replace(b"v0alpha1", version.encode(), 1)
        else:
            assert received == body


def test_operations_of_other_versions_have_ids_of_their_own() -> None:
    """Operations of the preferred version keep the ids that clients use. Ids of operations of other versions end with the version."""
    route = Route("GET", REPOSITORY_PATH, lambda _: pytest.fail("not called"), PUBLIC, Operation("getFile", "a file"))
    ids = [versioned.operation.id for versioned in in_each_version([route]) if versioned.operation is not None]
    assert ids == ["getFile", "getFileV1", "getFileV1beta1"]

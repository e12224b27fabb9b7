"""OpenAPI documents over HTTP. An index lists all documents, and clients may cache a document by its address."""

from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV30SpecValidator
from tests.contract.api.conftest import ADMIN, Api

ACCEPT = {"Accept": "application/json"}


async def test_the_index_lists_every_document(api: Api) -> None:
    """Each version of a group has a document. At the address with the document's hash, it may be cached permanently.

    At an address with an old hash, the document must be revalidated.
    """
    status, index = await api("GET", "/openapi/v3", auth=None)
    assert status == 200
    assert list(index["paths"]) == [
        *(f"apis/dashboard.grafana.app/{version}" for version in ("v2alpha1", "v2", "v2beta1", "v1", "v1beta1", "v1alpha1", "v0alpha1")),
        *(f"apis/folder.grafana.app/{version}" for version in ("v0alpha1", "v1", "v1beta1", "v1alpha1")),
        *(f"apis/provisioning.grafana.app/{version}" for version in ("v0alpha1", "v1", "v1beta1")),
        "apis/expressions.dashwright.io/v0alpha1",
        "apis/jobs.dashwright.io/v0alpha1",
        "apis/playlist.grafana.app/v1",
        "apis/playlist.grafana.app/v0alpha1",
        "apis/iam.grafana.app/v0alpha1",
        "apis/preferences.grafana.app/v1alpha1",
    ]
    for path, result in index["paths"].items():
        address = result["serverRelativeURL"]
        assert address.startswith(f"/openapi/v3/{path}?hash=")
        async with api.session.get(address, headers=ACCEPT) as response:
            assert "immutable" in response.headers["Cache-Control"]
            tag = response.headers["ETag"]
            document: Any = await response.json()
            assert list(OpenAPIV30SpecValidator(document).iter_errors()) == []
        async with api.session.get(f"/openapi/v3/{path}?hash=old", headers={"If-None-Match": tag}) as response:
            assert (response.status, response.headers["Cache-Control"]) == (304, "no-cache")


async def test_a_document_is_compressed_on_request(api: Api) -> None:
    """A compressed document has the same tag, and ``Vary`` names the headers on which the response depends."""
    for path, vary in (("/openapi/v3/apis/dashboard.grafana.app/v2alpha1", "Accept-Encoding"), ("/apis", "Accept, Accept-Encoding")):
        documents = {}
        for coding in ("identity", "gzip"):
            headers = {"Accept-Encoding": coding, "Authorization": ADMIN}
            async with api.session.get(path, headers=headers) as response:
                assert response.headers["Vary"] == vary
                assert response.headers.get("Content-Encoding", "identity") == coding
                documents[coding] = response.headers["ETag"], await response.json()
        assert documents["identity"] == documents["gzip"]


async def test_kubectl_finds_field_validation_and_dry_runs(api: Api) -> None:
    """The operations of dashboards declare field validation and dry runs, and the schema of their spec accepts unknown fields.

    The targets of a library panel are declared as a set.
    """
    _, document = await api("GET", "/openapi/v3/apis/dashboard.grafana.app/v2alpha1", auth=None)
    collection = "/apis/dashboard.grafana.app/v2alpha1/namespaces/{namespace}/dashboards"
    for path, method in ((collection, "post"), (collection + "/{name}", "patch")):
        operation = document["paths"][path][method]
        assert operation["x-kubernetes-group-version-kind"]["kind"] == "Dashboard"
        assert {"dryRun", "fieldValidation", "fieldManager"} <= {parameter["name"] for parameter in operation["parameters"]}
    schema = document["components"]["schemas"]["Dashboard"]
    assert schema["properties"]["spec"]["x-kubernetes-preserve-unknown-fields"] is True
    assert document["components"]["schemas"]["LibraryPanelSpec"]["properties"]["targets"]["x-kubernetes-list-type"] == "set"


@pytest.mark.parametrize("path", ["/openapi/v3/apis/apps/v1", "/openapi/v3/api/v1", "/openapi/v3/apis/folder.grafana.app/v9"])
async def test_an_unknown_document_is_404(api: Api, path: str) -> None:
    """An unknown document is 404 as a Status."""
    status, body = await api("GET", path)
    assert (status, body["kind"]) == (404, "Status")


async def test_other_encodings_are_not_acceptable(api: Api) -> None:
    """A client that accepts only protobuf receives 406 instead of a document that it cannot read."""
    protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    for path in ("/openapi/v3", "/openapi/v3/apis/folder.grafana.app/v0alpha1"):
        assert (await api("GET", path, headers={"Accept": protobuf}))[0] == 406
        assert (await api("GET", path, headers={"Accept": f"{protobuf},*/*;q=0.1"}))[0] == 200


async def test_every_operation_of_a_group_is_in_its_document(api: Api) -> None:
    """A document has exactly the operations that have a route."""
    _, index = await api("GET", "/openapi/v3")
    roots = tuple(f"/{path}/" for path in index["paths"])
    # A route ends in ``{path:rest}`` where its description has ``{path}``.
    served = {(route.method, route.path.replace(":rest}", "}")) for route in api.routes if route.path.startswith(roots)}
    described: set[tuple[str, str]] = set()
    for path in index["paths"]:
        _, document = await api("GET", f"/openapi/v3/{path}")
        described |= {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == served


@pytest.mark.parametrize(("path", "target"), [("/swagger", "/docs"), ("/swagger.json", "/openapi/v2"), ("/api/swagger-ui", "/docs")])
async def test_well_known_addresses_redirect_to_the_description(api: Api, path: str, target: str) -> None:
    """Well-known addresses redirect to the description, without credentials."""
    async with api.session.get(path, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (302, target)
    async with api.session.get(path) as response:
        assert response.status == 200

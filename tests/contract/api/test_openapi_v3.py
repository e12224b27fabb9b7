"""OpenAPI documents over HTTP: the index has each of them, and clients may cache a document by its address."""

from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV30SpecValidator
from tests.contract.api.conftest import ADMIN, Api

ACCEPT = {"Accept": "application/json"}


async def test_the_index_leads_to_every_document(api: Api) -> None:
    """One for each version of each group, at an address with its tag; the tag may be relied upon, the address without it not."""
    status, index = await api("GET", "/openapi/v3", auth=None)
    assert status == 200
    assert list(index["paths"]) == [
        "apis/dashboard.grafana.app/v2alpha1",
        "apis/dashboard.grafana.app/v1beta1",
        "apis/dashboard.grafana.app/v0alpha1",
        "apis/folder.grafana.app/v0alpha1",
        "apis/provisioning.grafana.app/v0alpha1",
        "apis/expressions.dashwright.io/v0alpha1",
    ]
    for path, told in index["paths"].items():
        address = told["serverRelativeURL"]
        assert address.startswith(f"/openapi/v3/{path}?hash=")
        async with api.session.get(address, headers=ACCEPT) as answer:
            assert "immutable" in answer.headers["Cache-Control"]
            tag = answer.headers["ETag"]
            document: Any = await answer.json()
            assert list(OpenAPIV30SpecValidator(document).iter_errors()) == []
        async with api.session.get(f"/openapi/v3/{path}?hash=old", headers={"If-None-Match": tag}) as answer:
            assert (answer.status, answer.headers["Cache-Control"]) == (304, "no-cache")


async def test_a_document_is_compressed_for_who_takes_that(api: Api) -> None:
    """The tag is the same, since it is that of the text; a stored answer depends on both headers."""
    for path, vary in (("/openapi/v3/apis/dashboard.grafana.app/v2alpha1", "Accept-Encoding"), ("/apis", "Accept, Accept-Encoding")):
        found = {}
        for coding in ("identity", "gzip"):
            headers = {"Accept-Encoding": coding, "Authorization": ADMIN}
            async with api.session.get(path, headers=headers) as answer:
                assert answer.headers["Vary"] == vary
                assert answer.headers.get("Content-Encoding", "identity") == coding
                found[coding] = answer.headers["ETag"], await answer.json()
        assert found["identity"] == found["gzip"]


async def test_what_kubectl_checks_before_it_sends(api: Api) -> None:
    """A dashboard's operations say that the server validates fields and knows dry runs; its spec may hold anything."""
    _, document = await api("GET", "/openapi/v3/apis/dashboard.grafana.app/v2alpha1", auth=None)
    collection = "/apis/dashboard.grafana.app/v2alpha1/namespaces/{namespace}/dashboards"
    for path, method in ((collection, "post"), (collection + "/{name}", "patch")):
        operation = document["paths"][path][method]
        assert operation["x-kubernetes-group-version-kind"]["kind"] == "Dashboard"
        assert {"dryRun", "fieldValidation", "fieldManager"} <= {parameter["name"] for parameter in operation["parameters"]}
    shape = document["components"]["schemas"]["Dashboard"]
    assert shape["properties"]["spec"]["x-kubernetes-preserve-unknown-fields"] is True
    assert document["components"]["schemas"]["LibraryPanelSpec"]["properties"]["targets"]["x-kubernetes-list-type"] == "set"


@pytest.mark.parametrize("path", ["/openapi/v3/apis/apps/v1", "/openapi/v3/api/v1", "/openapi/v3/apis/folder.grafana.app/v1"])
async def test_there_is_no_document_of_what_is_not_served(api: Api, path: str) -> None:
    """404 as a Status."""
    status, told = await api("GET", path)
    assert (status, told["kind"]) == (404, "Status")


async def test_other_encodings_are_not_acceptable(api: Api) -> None:
    """A client that accepts protobuf only gets an error instead of an unreadable document."""
    protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    for path in ("/openapi/v3", "/openapi/v3/apis/folder.grafana.app/v0alpha1"):
        assert (await api("GET", path, headers={"Accept": protobuf}))[0] == 406
        assert (await api("GET", path, headers={"Accept": f"{protobuf},*/*;q=0.1"}))[0] == 200


async def test_every_operation_of_a_group_is_in_its_document(api: Api) -> None:
    """Neither more nor less than what has a route."""
    _, index = await api("GET", "/openapi/v3")
    roots = tuple(f"/{path}/" for path in index["paths"])
    served = {(route.method, route.path.replace(":rest}", "}")) for route in api.routes if route.path.startswith(roots)}
    described: set[tuple[str, str]] = set()
    for path in index["paths"]:
        _, document = await api("GET", f"/openapi/v3/{path}")
        described |= {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == served


@pytest.mark.parametrize(("path", "place"), [("/swagger", "/docs"), ("/swagger.json", "/openapi/v2"), ("/api/swagger-ui", "/docs")])
async def test_known_addresses_lead_to_the_description(api: Api, path: str, place: str) -> None:
    """Without credentials, as the description itself."""
    async with api.session.get(path, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (302, place)
    async with api.session.get(path) as answer:
        assert answer.status == 200

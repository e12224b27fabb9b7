"""The OpenAPI document of a route table: valid, complete, and correct about permissions."""

import base64
import hashlib
import re
from typing import Annotated, Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from pydantic import BaseModel, Field, PlainSerializer
from tests.unit.api.gateway_routes import routes

from dashwright.api.http import docs_page
from dashwright.api.http.call import Call
from dashwright.api.http.openapi import openapi_document
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Content, Operation, Permission, Route
from dashwright.api.routes.description import described_api
from dashwright.common.models.api_model import ApiModel

pytestmark = pytest.mark.exhaustive


class Thing(BaseModel):
    """A body with a required and an optional member."""

    name: str
    size: int | None = None


async def handler(_: Call) -> Response:
    """Return an empty response. The handlers of described routes are never called."""
    return Response()


def describe_route(route: Route) -> Any:
    """Return the description of a route, from a document of that route alone."""
    (methods,) = openapi_document([route], version="1")["paths"].values()
    return methods[route.method.lower()]


#: Reads of single objects of alerting, which always respond with 404, because alerting is not supported.
NEVER_FOUND = {"getAlertingProvisioning", "getAlertingRuler", "getAlertingAlertmanager"}


def test_the_document_of_everything_that_is_served_is_valid() -> None:
    """The document is valid OpenAPI 3.1 and describes each route once.

    Each operation may succeed, except operations of removed (410) or missing features (501), and those of ``NEVER_FOUND``.
    """
    complete = openapi_document(routes(), version="1.2.3")
    assert list(OpenAPIV31SpecValidator(complete).iter_errors()) == []
    assert {method.upper() for methods in complete["paths"].values() for method in methods} <= {"GET", "POST", "PUT", "PATCH", "DELETE"}
    assert sum(len(methods) for methods in complete["paths"].values()) == len(routes())
    for methods in complete["paths"].values():
        for operation in methods.values():
            if operation["operationId"] not in NEVER_FOUND:
                is_expected = [status < "400" or status in ("410", "501") for status in operation["responses"]]
                assert any(is_expected), operation["operationId"]


def test_the_pages_are_complete_and_small() -> None:
    """The overview has the path of every operation and at least ten examples for curl. No page exceeds 200 kB, and no link is broken."""
    complete = described_api(routes(), version="1.2.3")
    index = docs_page.index_page(complete)
    assert all(f"<code>{path}</code>" in index.decode() for path in complete["paths"])
    pages = {slug: docs_page.group_page(complete, name) for slug, name in docs_page.groups_of(complete).items()}
    assert max(map(len, (index, *pages.values()))) < 200_000
    for linked_page, target in re.findall(r'href="docs/([^"#]+)#([^"]+)"', index.decode()):
        assert f'id="{target}"' in pages[linked_page].decode()
    for slug, page in pages.items():
        targets = set(re.findall(r'id="([^"]+)"', page.decode()))
        assert set(re.findall(r'href="#([^"]+)"', page.decode())) <= targets, slug
    assert index.count(b"curl ") >= 10


def test_errors_follow_from_the_route() -> None:
    """Errors that follow from the permission, the method or the failure message of a route are described without a declaration.

    Their schema is that of the API to which the path belongs.
    """
    permission = Permission("things:read")
    operation = Operation("x", "X", responses={200: list[Thing]}, errors=(404,))
    responses = describe_route(Route("GET", "/api/things", handler, permission, operation))["responses"]
    assert sorted(responses) == ["200", "400", "401", "403", "404", "429", "500", "503", "504"]
    assert sorted(describe_route(Route("GET", "/api/things", handler, PUBLIC, operation))["responses"]) == [
        "200",
        "400",
        "404",
        "500",
        "503",
        "504",
    ]
    changed = describe_route(Route("PUT", "/api/things", handler, SIGNED_IN, operation, failure_message="Failed"))["responses"]
    assert sorted(changed) == ["200", "400", "401", "404", "413", "415", "429", "500"]
    assert responses["404"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}
    status = describe_route(Route("GET", "/apis/things", handler, permission, operation))["responses"]["404"]
    assert status["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Status"}


def test_a_route_describes_its_permission() -> None:
    """Public operations need no credentials, and others accept Basic or Bearer. An operation may accept Basic only."""
    assert describe_route(Route("GET", "/api/x", handler, PUBLIC, Operation("x", "X")))["security"] == []
    guarded = describe_route(Route("GET", "/api/x", handler, Permission("x:read", "x:id:1"), Operation("x", "X", deprecated=True)))
    assert guarded["security"] == [{"basicAuth": []}, {"bearerAuth": []}]
    assert guarded["deprecated"] is True
    assert guarded["description"] == "Needs the permission x:read on x:id:1."
    basic = Operation("x", "X", security=("basicAuth",))
    assert describe_route(Route("GET", "/api/x", handler, SIGNED_IN, basic))["security"] == [{"basicAuth": []}]


def test_parameters_have_their_types() -> None:
    """Path parameters are those of the template, and parameters are strings unless the operation gives another type."""
    operation = Operation("x", "X", query={"all": "all of them"}, parameters={"id": int, "all": bool})
    assert describe_route(Route("GET", "/api/x/{id}/{name:rest}", handler, PUBLIC, operation))["parameters"] == [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "format": "int64"}},
        {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "all", "in": "query", "description": "all of them", "schema": {"type": "boolean"}},
    ]
    assert list(openapi_document([Route("GET", "/api/x/{name:rest}", handler, PUBLIC, operation)], version="1")["paths"]) == [
        "/api/x/{name}"
    ]


def test_bodies_are_described_by_their_models() -> None:
    """Each model is a component. A body without a model has its media type and any content; None means that a request has no body."""
    operation = Operation("x", "X", request=Thing, responses={200: list[Thing], 201: Content(None, ("text/csv",)), 204: None})
    complete = openapi_document([Route("POST", "/api/x", handler, PUBLIC, operation)], version="1")
    post = complete["paths"]["/api/x"]["post"]
    assert post["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Thing"}
    assert post["responses"]["200"]["content"]["application/json"]["schema"]["items"] == {"$ref": "#/components/schemas/Thing"}
    assert post["responses"]["201"]["content"] == {"text/csv": {"schema": {}}}
    assert "content" not in post["responses"]["204"]
    assert complete["components"]["schemas"]["Thing"]["required"] == ["name"]


class Reading(ApiModel):
    """A model whose serializer writes an empty unit as null."""

    value: int | None = None
    unit: Annotated[str, PlainSerializer(lambda unit: unit or None, str | None)] = ""


def test_null_is_described_where_it_is_written() -> None:
    """A member that is omitted when it is missing is not nullable, and a member that a serializer writes as null is nullable."""
    operation = Operation("x", "X", responses={200: Reading})
    complete = openapi_document([Route("GET", "/api/x", handler, PUBLIC, operation)], version="1")
    properties = complete["components"]["schemas"]["Reading"]["properties"]
    assert properties["value"] == {"type": "integer", "format": "int64"}
    assert {"type": "null"} in properties["unit"]["anyOf"]
    assert Reading().to_json() == b'{"unit":null}'


class Switch(ApiModel):
    """Model of a request, and as part of ``Lamp`` of a response."""

    is_on: bool = False


class Lamp(ApiModel):
    """Model of a response only."""

    is_broken: bool = False
    colors: list[str] = Field(default_factory=list)
    switch: Switch = Field(default_factory=Switch)
    name: str | None = None


def test_members_with_defaults_are_required_in_responses_only() -> None:
    """A response always contains members with defaults, so they are required there. A request may omit them."""
    operation = Operation("x", "X", request=Switch, responses={200: Lamp})
    schemas = openapi_document([Route("POST", "/api/x", handler, PUBLIC, operation)], version="1")["components"]["schemas"]
    assert schemas["Lamp"]["required"] == ["isBroken", "colors", "switch"]
    assert "required" not in schemas["Switch"]
    assert set(Lamp().model_dump(by_alias=True, exclude_none=True)) == set(schemas["Lamp"]["required"])
    # Internal marks, by which requests and responses are distinguished, are removed.
    assert "x-" not in str(schemas["Lamp"])


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "a & b", '"quoted" text'])
def test_the_pages_show_texts_as_they_are(text: str) -> None:
    """No text of an operation becomes markup. The overview has one script, which its policy permits, and no page loads anything."""
    operation = Operation("x", text, tag=text, description=text, query={"q": text})
    complete = openapi_document([Route("GET", "/api/x", handler, PUBLIC, operation)], version="1")
    index, group = docs_page.index_page(complete).decode(), docs_page.group_page(complete, text).decode()
    (script,) = re.findall(r"<script>(.*?)</script>", index, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in docs_page.INDEX_HEADERS["Content-Security-Policy"]
    assert index.count("<script") == 1
    for page in (index, group):
        assert text not in page.replace(script, "")
        assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
        assert "src=" not in page
    assert "<script" not in group

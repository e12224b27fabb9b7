"""OpenAPI documents for Kubernetes clients: details with an invented kind, and validity for all kinds."""

from typing import Any, cast

import orjson
import pytest
from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator
from pydantic import ConfigDict, Field
from tests.unit.api.gateway_routes import nodes, routes

from dashwright.api.http.openapi import openapi_document
from dashwright.api.http.openapi_conversion import openapi_30, swagger_20
from dashwright.api.resources import discovery, openapi_documents
from dashwright.api.resources.services import Services
from dashwright.api.routes import resources as resource_routes
from dashwright.api.routes.description import described_api
from dashwright.common.kinds.kind import Kind, Storage, SubResource
from dashwright.common.kinds.registry import DASHBOARD, KINDS
from dashwright.common.models.api_model import ApiModel, Integer32
from dashwright.common.models.meta import ObjectMeta
from dashwright.common.models.provisioning import Action

pytestmark = pytest.mark.exhaustive

GROUPS_AND_VERSIONS = [(group, version) for group in discovery.groups_of(KINDS) for version in discovery.versions_of(KINDS, group)]
GROUP, VERSION = "things.example.org", "v1"
COLLECTION = f"/apis/{GROUP}/{VERSION}/namespaces/{{namespace}}/gadgets"
ITEM = f"{COLLECTION}/{{name}}"


class Part(ApiModel):
    """A part of a gadget."""

    model_config = ConfigDict(extra="allow")

    weight: float = 1.5


# Without a docstring, which would be a description in the schema. It has one member of each type with a schema of its own.
class GadgetSpec(ApiModel):
    size: Integer32 = Field(description="In inches")
    count: int | None = None
    action: Action | None = None
    first: Part | None = Field(default=None, description="The one to begin with")
    parts: list[Part] = Field(default_factory=list)
    notes: dict[str, Any] | None = None
    labels: dict[str, str] | None = None


class PartList(ApiModel):
    """The response of a subresource."""

    kind: str
    api_version: str
    metadata: dict[str, Any]
    items: list[Part]


# Any model serves as status, and one permission for all verbs.
GADGET = Kind(
    group=GROUP,
    versions=(VERSION,),
    kind="Gadget",
    plural="gadgets",
    singular="gadget",
    verbs=frozenset({"list", "watch", "get", "create", "update", "patch", "delete", "deletecollection"}),
    actions=dict.fromkeys(("list", "get", "create", "update", "patch", "delete", "deletecollection", "status"), "gadgets:read"),
    description="A thing",
    spec=GadgetSpec,
    status=ObjectMeta,
    subresources=(
        SubResource("parts", "PartList", "gadgets:read", model=PartList),
        SubResource("odd", "Oddity", "gadgets:read"),
        SubResource("wind", "Gadget", "gadgets:write", verbs=("create",)),
    ),
    set_lists=(("spec", "parts"),),
)
PRESERVES_UNKNOWN = "x-kubernetes-preserve-unknown-fields"


def document_of(*kinds: Kind) -> Any:
    """Return the document of the given kinds, for which all routes of the resource API exist."""
    described = openapi_30(openapi_document(resource_routes.routes(cast("Services", None), kinds), version="1.2.3"))
    return orjson.loads(orjson.dumps(openapi_documents.document(described, kinds, GROUP, VERSION)))


@pytest.fixture(scope="module")
def described() -> Any:
    """Return the description of all routes of a gateway in OpenAPI 3.0."""
    return openapi_30(described_api(routes(), version="1.2.3"))


@pytest.mark.parametrize(("group", "version"), GROUPS_AND_VERSIONS, ids="/".join)
def test_every_document_is_openapi_3_0(described: Any, group: str, version: str) -> None:
    """The document of each group and version is valid, without keywords of later versions, which Kubernetes' parsers reject.

    An object with a reference has no other member.
    """
    complete = orjson.loads(orjson.dumps(openapi_documents.document(described, KINDS, group, version)))
    assert list(OpenAPIV30SpecValidator(complete).iter_errors()) == []
    assert complete["openapi"] == "3.0.0"
    for _, node in nodes(complete):
        assert not {"const", "$defs", "prefixItems", "examples"} & set(node)
        assert not isinstance(node.get("type"), list)
        assert node.get("type") != "null"
        assert "$ref" not in node or len(node) == 1
        # In OpenAPI 3.0 exclusive bounds are booleans, and in later versions numbers.
        for word in ("exclusiveMinimum", "exclusiveMaximum"):
            assert type(node.get(word)) is not int


def test_the_schema_of_a_kind_has_envelope_spec_and_status() -> None:
    """A schema has envelope, spec and status, is named after the kind, and has Kubernetes' extension with group, version and kind."""
    schemas = document_of(GADGET)["components"]["schemas"]
    gadget = schemas["Gadget"]
    assert gadget["description"] == "A thing"
    assert gadget["x-kubernetes-group-version-kind"] == [{"group": GROUP, "version": VERSION, "kind": "Gadget"}]
    assert all(shape["description"] for shape in gadget["properties"].values())
    assert {name: shape.get("allOf", shape.get("type")) for name, shape in gadget["properties"].items()} == {
        "apiVersion": "string",
        "kind": "string",
        "metadata": [{"$ref": "#/components/schemas/ObjectMeta"}],
        "spec": [{"$ref": "#/components/schemas/GadgetSpec"}],
        "status": [{"$ref": "#/components/schemas/ObjectMeta"}],
    }
    assert schemas["GadgetList"]["x-kubernetes-group-version-kind"] == [{"group": GROUP, "version": VERSION, "kind": "GadgetList"}]
    assert schemas["GadgetList"]["properties"]["items"]["items"] == {"$ref": "#/components/schemas/Gadget"}
    assert schemas["GadgetList"]["properties"]["metadata"]["allOf"] == [{"$ref": "#/components/schemas/ListMeta"}]


def test_models_become_schemas() -> None:
    """Numbers have formats, optional members are not nullable, and open objects have Kubernetes' extension."""
    schemas = document_of(GADGET)["components"]["schemas"]
    assert schemas["GadgetSpec"] == {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "format": "int32", "description": "In inches"},
            "count": {"type": "integer", "format": "int64"},
            "action": {"$ref": "#/components/schemas/Action"},
            "first": {"allOf": [{"$ref": "#/components/schemas/Part"}], "description": "The one to begin with"},
            "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}},
            "notes": {"type": "object", PRESERVES_UNKNOWN: True},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    assert schemas["Part"] == {
        "type": "object",
        "description": "A part of a gadget.",
        "properties": {"weight": {"type": "number", "format": "double", "default": 1.5}},
        PRESERVES_UNKNOWN: True,
    }
    assert schemas["Action"]["enum"] == ["export", "pr", "sync"]
    assert schemas["ObjectMeta"]["properties"]["finalizers"]["x-kubernetes-list-type"] == "set"
    assert schemas["ObjectMeta"]["properties"]["ownerReferences"]["x-kubernetes-list-map-keys"] == ["uid"]


def test_a_kind_without_a_model_is_open() -> None:
    """The spec of a kind without a model is any object."""
    kind_without_model = Kind(
        group=GROUP,
        versions=(VERSION,),
        kind="Plain",
        plural="plains",
        singular="plain",
        verbs=frozenset({"get"}),
        actions={"get": "plains:read", "list": "plains:read"},
    )
    shape = document_of(kind_without_model)["components"]["schemas"]["Plain"]
    assert shape["properties"]["spec"] == {"type": "object", PRESERVES_UNKNOWN: True, "description": "Any JSON object"}
    assert "status" not in shape["properties"]


def test_subresources_have_extensions(described: Any) -> None:
    """Operations of subresources have the extension with the kind of their response. Paths without such a kind are included, too."""
    complete = openapi_documents.document(described, KINDS, "provisioning.grafana.app", "v0alpha1")
    root = "/apis/provisioning.grafana.app/v0alpha1/namespaces/{namespace}"
    paths, schemas = complete["paths"], complete["components"]["schemas"]
    group_and_version = {"group": "provisioning.grafana.app", "version": "v0alpha1"}
    assert paths[f"{root}/repositories/{{name}}/refs"]["get"]["x-kubernetes-group-version-kind"] == {**group_and_version, "kind": "RefList"}
    assert paths[f"{root}/repositories/{{name}}/status"]["put"]["x-kubernetes-group-version-kind"] == {
        **group_and_version,
        "kind": "Repository",
    }
    assert schemas["RefList"]["x-kubernetes-group-version-kind"] == [{**group_and_version, "kind": "RefList"}]
    subpaths = ("files/{path}", "history/{path}", "jobs", "jobs/{uid}", "render/{id}", "webhook")
    assert {f"{root}/repositories/{{name}}/{path}" for path in subpaths} | {f"{root}/settings", f"{root}/stats"} <= set(paths)
    assert {"ResourceWrapper", "ResourceObjects", "ResourceType", "LintIssue", "WebhookResponse", "RepositoryViewList"} <= set(schemas)


def test_kubectl_can_explain_every_property(described: Any) -> None:
    """Each property at any depth has a description."""
    for group, version in GROUPS_AND_VERSIONS:
        for name, schema in openapi_documents.document(described, KINDS, group, version)["components"]["schemas"].items():
            for path, node in nodes(schema, name):
                # A node without a type may be a set of properties, of which one is named ``properties``.
                if "type" in node:
                    for member, part in node.get("properties", {}).items():
                        assert part.get("description"), f"{path}/{member}"


def test_the_complete_description_is_also_swagger_2_0(described: Any) -> None:
    """The document in Swagger 2.0 is valid and has every path. The schema of a kind names all versions of the kind."""
    complete = orjson.loads(orjson.dumps(swagger_20(openapi_documents.complete_document(described, KINDS))))
    assert list(OpenAPIV2SpecValidator(complete).iter_errors()) == []
    assert set(complete["paths"]) == set(described["paths"])
    kind_extensions = complete["definitions"]["Dashboard"]["x-kubernetes-group-version-kind"]
    assert {extension["version"] for extension in kind_extensions} == set(DASHBOARD.versions)
    frames = complete["paths"]["/api/ds/query"]["post"]
    assert frames["parameters"][-1]["schema"] == {"$ref": "#/definitions/QueryRequest"}
    assert frames["responses"]["200"]["schema"] == {"$ref": "#/definitions/QueryResults"}


def test_operations_name_their_actions() -> None:
    """Each operation has the action and the query parameters that Kubernetes' clients expect."""
    paths = document_of(GADGET)["paths"]
    expected = {
        (COLLECTION, "get"): ("list", {"limit", "continue", "watch", "labelSelector", "sendInitialEvents", "allowWatchBookmarks"}),
        (COLLECTION, "post"): ("post", {"dryRun", "fieldManager", "fieldValidation"}),
        (COLLECTION, "delete"): ("deletecollection", {"labelSelector", "fieldSelector", "dryRun", "propagationPolicy"}),
        (ITEM, "get"): ("get", set()),
        (ITEM, "put"): ("put", {"dryRun", "fieldManager", "fieldValidation"}),
        (ITEM, "patch"): ("patch", {"dryRun", "fieldManager", "fieldValidation", "force"}),
        (ITEM, "delete"): ("delete", {"dryRun", "gracePeriodSeconds", "propagationPolicy"}),
    }
    for (path, method), (action, query) in expected.items():
        operation = paths[path][method]
        assert operation["x-kubernetes-action"] == action
        assert operation["x-kubernetes-group-version-kind"] == {"group": GROUP, "version": VERSION, "kind": "Gadget"}
        assert query <= {parameter["name"] for parameter in operation.get("parameters", ())}
    assert [parameter["name"] for parameter in paths[ITEM]["get"]["parameters"] if parameter["in"] == "path"] == ["namespace", "name"]
    list_of_all_namespaces = paths[f"/apis/{GROUP}/{VERSION}/gadgets"]["get"]
    assert list_of_all_namespaces["x-kubernetes-action"] == "list"
    assert list_of_all_namespaces["operationId"] == "listGadgetOfAllNamespacesV1"
    assert set(paths[COLLECTION]["get"]["responses"]["200"]["content"]) == {
        "application/json",
        "application/yaml",
        "application/json;stream=watch",
    }


def test_strategic_merge_is_hidden_from_kubectl() -> None:
    """Strategic merge is not described, so that kubectl sends merge patches instead of directives that merge lists."""
    patch = document_of(GADGET)["paths"][ITEM]["patch"]
    assert set(patch["requestBody"]["content"]) == {
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    }


def test_a_job_is_accepted() -> None:
    """The creation of an object that is stored as a job is described with 202 instead of 201."""
    job = Kind(
        group=GROUP,
        versions=(VERSION,),
        kind="Chore",
        plural="chores",
        singular="chore",
        verbs=frozenset({"create"}),
        actions={"create": "chores:create"},
        storage=Storage.JOBS,
    )
    (path,) = document_of(job)["paths"].values()
    assert "202" in path["post"]["responses"]
    assert "201" not in path["post"]["responses"]


def test_a_member_that_is_inferred_is_not_required(described: Any) -> None:
    """The action of a job is optional, because its options imply the action. Clients that validate by the document may omit it."""
    schemas = openapi_documents.document(described, KINDS, "provisioning.grafana.app", "v0alpha1")["components"]["schemas"]
    assert schemas["JobSpec"]["required"] == ["repository"]
    assert "action" in schemas["JobSpec"]["properties"]

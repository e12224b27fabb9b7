"""The documents that Kubernetes clients read: what is told of a kind that nobody has heard of, and that all of them are OpenAPI 3.0."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from openapi_spec_validator import OpenAPIV30SpecValidator
from pydantic import ConfigDict, Field

from dashwright.api.resources import discovery
from dashwright.api.resources.openapi import documents
from dashwright.common.kinds.kind import Kind, Shelf, SubResource
from dashwright.common.kinds.registry import KINDS
from dashwright.common.models.meta import ObjectMeta
from dashwright.common.models.provisioning import Action, Integer32
from dashwright.common.models.shape import Shape

SERVED = [(group, version) for group in discovery.groups_of(KINDS) for version in discovery.versions_of(KINDS, group)]
GROUP, VERSION = "things.example.org", "v1"
COLLECTION = f"/apis/{GROUP}/{VERSION}/namespaces/{{namespace}}/gadgets"
ITEM = f"{COLLECTION}/{{name}}"


class Part(Shape):
    """What gadgets are made of."""

    model_config = ConfigDict(extra="allow")

    weight: float = 1.5


class GadgetSpec(Shape):
    size: Integer32 = Field(description="In inches")
    count: int | None = None
    action: Action | None = None
    first: Part | None = Field(default=None, description="The one to begin with")
    parts: list[Part] = Field(default_factory=list)
    notes: dict[str, Any] | None = None
    labels: dict[str, str] | None = None


class PartList(Shape):
    kind: str
    api_version: str
    metadata: dict[str, Any]
    items: list[Part]


GADGET = Kind(
    group=GROUP,
    versions=(VERSION,),
    kind="Gadget",
    plural="gadgets",
    singular="gadget",
    verbs=frozenset({"list", "watch", "get", "create", "update", "patch", "delete", "deletecollection"}),
    actions={"get": "gadgets:read"},
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
OPEN = "x-kubernetes-preserve-unknown-fields"


def document_of(*kinds: Kind) -> Any:
    return orjson.loads(orjson.dumps(documents.document(kinds, GROUP, VERSION, product="1.2.3")))


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(item)


@pytest.mark.parametrize(("group", "version"), SERVED, ids="/".join)
def test_every_document_is_openapi_3_0(group: str, version: str) -> None:
    """The words of later versions, which Kubernetes' readers stumble over, do not occur; no reference stands beside anything."""
    document = orjson.loads(orjson.dumps(documents.document(KINDS, group, version, product="1.2.3")))
    assert list(OpenAPIV30SpecValidator(document).iter_errors()) == []
    assert document["openapi"] == "3.0.0"
    for node in nodes(document):
        assert not {"const", "$defs", "prefixItems", "examples"} & set(node)
        assert not isinstance(node.get("type"), list)
        assert node.get("type") != "null"
        assert "$ref" not in node or len(node) == 1
        assert not any(isinstance(node.get(word, False), int) and not isinstance(node.get(word, False), bool) for word in BOUNDS)


BOUNDS = ("exclusiveMinimum", "exclusiveMaximum")


def test_the_shape_of_a_kind() -> None:
    """Envelope, spec and status, under the name of the kind, with group, version and kind as Kubernetes writes them."""
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
    assert schemas["GadgetList"]["properties"]["items"] == {"type": "array", "items": {"$ref": "#/components/schemas/Gadget"}}
    assert schemas["GadgetList"]["properties"]["metadata"]["allOf"] == [{"$ref": "#/components/schemas/ListMeta"}]


def test_models_become_schemas() -> None:
    """Numbers have formats, what may be missing is not null, what is open is said in Kubernetes' word, and sets are marked."""
    schemas = document_of(GADGET)["components"]["schemas"]
    assert schemas["GadgetSpec"] == {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "format": "int32", "description": "In inches"},
            "count": {"type": "integer", "format": "int64"},
            "action": {"$ref": "#/components/schemas/Action"},
            "first": {"allOf": [{"$ref": "#/components/schemas/Part"}], "description": "The one to begin with"},
            "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}, "x-kubernetes-list-type": "set"},
            "notes": {"type": "object", OPEN: True},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
    assert schemas["Part"] == {
        "type": "object",
        "description": "What gadgets are made of.",
        "properties": {"weight": {"type": "number", "format": "double", "default": 1.5}},
        OPEN: True,
    }
    assert schemas["Action"]["enum"] == ["export", "pr", "sync"]
    assert schemas["ObjectMeta"]["properties"]["finalizers"]["x-kubernetes-list-type"] == "set"
    assert schemas["ObjectMeta"]["properties"]["ownerReferences"]["x-kubernetes-list-map-keys"] == ["uid"]


def test_a_kind_without_a_model_is_open() -> None:
    """Its spec is any object."""
    plain = Kind(GROUP, (VERSION,), "Plain", "plains", "plain", frozenset({"get"}), {"get": "plains:read"})
    shape = document_of(plain)["components"]["schemas"]["Plain"]
    assert shape["properties"]["spec"] == {"type": "object", OPEN: True, "description": "Any JSON object"}
    assert "status" not in shape["properties"]


def test_what_is_served_below_has_its_own_shape() -> None:
    """That of its model, with the envelope all objects have; open where it has none; and the object's own where it is of that kind."""
    document = document_of(GADGET)
    schemas, paths = document["components"]["schemas"], document["paths"]
    assert schemas["PartList"]["x-kubernetes-group-version-kind"] == [{"group": GROUP, "version": VERSION, "kind": "PartList"}]
    assert schemas["PartList"]["properties"]["metadata"]["allOf"] == [{"$ref": "#/components/schemas/ListMeta"}]
    assert schemas["PartList"]["properties"]["items"]["items"] == {"$ref": "#/components/schemas/Part"}
    assert schemas["Oddity"][OPEN] is True
    assert set(paths[f"{ITEM}/parts"]) == {"get", "parameters"}
    assert set(paths[f"{ITEM}/wind"]) == {"post", "parameters"}
    assert set(paths[f"{ITEM}/status"]) == {"get", "put", "patch", "parameters"}
    assert paths[f"{ITEM}/parts"]["get"]["x-kubernetes-group-version-kind"]["kind"] == "PartList"


def test_operations_name_their_actions() -> None:
    """Each verb at its path, in the words and with the parameters that Kubernetes' clients look for."""
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
    assert [parameter["name"] for parameter in paths[ITEM]["parameters"]] == ["namespace", "name"]
    everywhere = paths[f"/apis/{GROUP}/{VERSION}/gadgets"]["get"]
    assert (everywhere["x-kubernetes-action"], everywhere["operationId"]) == ("list", "listGadgetForAllNamespaces")
    assert set(paths[COLLECTION]["get"]["responses"]["200"]["content"]) == {
        "application/json",
        "application/yaml",
        "application/json;stream=watch",
    }


def test_kubectl_is_not_told_of_strategic_merge() -> None:
    """It would send directives for the merging of lists then; without, its apply sends a merge patch."""
    patch = document_of(GADGET)["paths"][ITEM]["patch"]
    assert set(patch["requestBody"]["content"]) == {
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    }


def test_a_job_is_accepted() -> None:
    """What lies on the shelf of jobs is answered before it is done."""
    job = Kind(GROUP, (VERSION,), "Chore", "chores", "chore", frozenset({"create"}), {"create": "c"}, shelf=Shelf.JOBS)
    (path,) = document_of(job)["paths"].values()
    assert set(path["post"]["responses"]) == {"202", "401"}

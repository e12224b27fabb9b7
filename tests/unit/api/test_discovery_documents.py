"""Discovery documents of invented kinds: a declared kind is listed without further code."""

from dataclasses import replace

from dashwright.api.resources import discovery
from dashwright.common.kinds.kind import Kind, SubResource
from dashwright.common.models.folder import FolderSpec

GADGET = Kind(
    group="things.example.org",
    versions=("v2", "v1"),
    kind="Gadget",
    plural="gadgets",
    singular="gadget",
    verbs=frozenset({"list", "get", "update"}),
    actions={"get": "gadgets:read", "list": "gadgets:read", "update": "gadgets:write"},
    status=FolderSpec,
    short_names=("gd", "gdg"),
    categories=("toys",),
    subresources=(SubResource("parts", "PartList", "gadgets:read"), SubResource("wind", "Gadget", "gadgets:write", verbs=("create",))),
)
WIDGET = Kind(
    group="things.example.org",
    versions=("v2",),
    kind="Widget",
    plural="widgets",
    singular="widget",
    verbs=frozenset({"get"}),
    actions={"get": "widgets:read"},
    categories=(),
)
KIND_OF_OTHER_GROUP = Kind(
    group="a.example.org", versions=("v1",), kind="A", plural="as", singular="a", verbs=frozenset({"get"}), actions={"get": "as:read"}
)
KINDS = (GADGET, KIND_OF_OTHER_GROUP, WIDGET)
GROUP = "things.example.org"


def test_a_group_has_the_versions_of_its_kinds() -> None:
    """The versions of a group are in the order of the registry, and the preferred one is the first."""
    versions = [{"groupVersion": f"{GROUP}/v2", "version": "v2"}, {"groupVersion": f"{GROUP}/v1", "version": "v1"}]
    group = {"name": GROUP, "versions": versions, "preferredVersion": versions[0]}
    assert discovery.api_group(KINDS, GROUP) == {"kind": "APIGroup", "apiVersion": "v1", **group}
    listed = discovery.api_group_list(KINDS)
    assert listed["kind"] == "APIGroupList"
    assert listed["apiVersion"] == "v1"
    assert listed["groups"][0] == group
    assert [listed_group["name"] for listed_group in listed["groups"]] == [GROUP, "a.example.org"]


def test_a_version_has_the_resources_that_are_served_in_it() -> None:
    """A version has the resources and subresources of its kinds. Kinds without the version are not included."""
    status = {"name": "gadgets/status", "singularName": "", "namespaced": True, "kind": "Gadget", "verbs": ["get", "patch", "update"]}
    expected = [
        {
            "name": "gadgets",
            "singularName": "gadget",
            "namespaced": True,
            "kind": "Gadget",
            "verbs": ["get", "list", "update"],
            "shortNames": ["gd", "gdg"],
            "categories": ["toys"],
        },
        status,
        {"name": "gadgets/parts", "singularName": "", "namespaced": True, "kind": "PartList", "verbs": ["get"]},
        {"name": "gadgets/wind", "singularName": "", "namespaced": True, "kind": "Gadget", "verbs": ["create"]},
    ]
    assert discovery.api_resource_list(KINDS, GROUP, "v1") == {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/v1",
        "resources": expected,
    }
    # Without the verb to update, the status can only be read.
    read_only_gadget = replace(GADGET, verbs=frozenset({"get"}))
    assert discovery.api_resource_list([read_only_gadget], GROUP, "v1")["resources"][1] == {**status, "verbs": ["get"]}
    last_resource_of_v2 = discovery.api_resource_list(KINDS, GROUP, "v2")["resources"][-1]
    assert last_resource_of_v2["name"] == "widgets"


def test_the_aggregated_document_has_groups_versions_and_resources() -> None:
    """The document has groups, their versions, and the resources and subresources of a version with their response kinds."""
    result = discovery.aggregated(KINDS, "v2")
    assert result["kind"] == "APIGroupDiscoveryList"
    assert result["apiVersion"] == "apidiscovery.k8s.io/v2"
    things, other = result["items"]
    assert things["metadata"]["name"] == GROUP
    assert other["metadata"]["name"] == "a.example.org"
    assert [(version["version"], version["freshness"]) for version in things["versions"]] == [("v2", "Current"), ("v1", "Current")]
    gadgets, widgets = things["versions"][0]["resources"]
    assert gadgets == {
        "resource": "gadgets",
        "responseKind": {"group": GROUP, "version": "v2", "kind": "Gadget"},
        "scope": "Namespaced",
        "singularResource": "gadget",
        "verbs": ["get", "list", "update"],
        "shortNames": ["gd", "gdg"],
        "categories": ["toys"],
        "subresources": [
            {
                "subresource": "status",
                "responseKind": {"group": GROUP, "version": "v2", "kind": "Gadget"},
                "verbs": ["get", "patch", "update"],
            },
            {"subresource": "parts", "responseKind": {"group": GROUP, "version": "v2", "kind": "PartList"}, "verbs": ["get"]},
            {"subresource": "wind", "responseKind": {"group": GROUP, "version": "v2", "kind": "Gadget"}, "verbs": ["create"]},
        ],
    }
    # Empty members are omitted.
    assert "subresources" not in widgets
    assert "shortNames" not in widgets
    assert "categories" not in widgets

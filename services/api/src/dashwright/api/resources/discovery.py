"""Discovery documents of the resource API: groups, their versions, and the resources of each version."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dashwright.common.kinds.kind import Kind, SubResource

Document = dict[str, Any]
"""A discovery document, or a part of one."""


def groups_of(kinds: Sequence[Kind]) -> list[str]:
    """Return the groups, in the order of their first kinds."""
    return list(dict.fromkeys(kind.group for kind in kinds))


def versions_of(kinds: Sequence[Kind], group: str) -> list[str]:
    """Return the versions of a group, the preferred one first."""
    return list(dict.fromkeys(version for kind in kinds if kind.group == group for version in kind.versions))


def prefer_version(kinds: Sequence[Kind], group: str, version: str) -> list[Kind]:
    """Return all kinds. Those of ``group`` that have ``version`` now prefer it: it is the first of their versions."""
    return [
        replace(kind, versions=(version, *(other_version for other_version in kind.versions if other_version != version)))
        if kind.group == group and version in kind.versions
        else kind
        for kind in kinds
    ]


def kinds_in(kinds: Sequence[Kind], group: str, version: str) -> list[Kind]:
    """Return the kinds of one version of a group."""
    return [kind for kind in kinds if kind.group == group and version in kind.versions]


def subresources_of(kind: Kind) -> tuple[SubResource, ...]:
    """Return the subresources of a kind, including its status."""
    if kind.status is None:
        return kind.subresources
    verbs = ("get", "patch", "update") if "update" in kind.verbs else ("get",)
    # The action of ``get`` is for reads of the status. Writes require the action of the kind's verb ``status``.
    return (SubResource("status", kind.kind, kind.actions["get"], verbs), *kind.subresources)


def api_group_list(kinds: Sequence[Kind]) -> Document:
    """Return the document of ``/apis``."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(kinds, group) for group in groups_of(kinds)]}


def api_group(kinds: Sequence[Kind], group: str) -> Document:
    """Return the document of ``/apis/{group}``."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(kinds, group)}


def api_resource_list(kinds: Sequence[Kind], group: str, version: str) -> Document:
    """Return the document of ``/apis/{group}/{version}``."""
    resources = [resource_entry for kind in kinds_in(kinds, group, version) for resource_entry in _resource_entries(kind)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}", "resources": resources}


def aggregated(kinds: Sequence[Kind], discovery_version: str) -> Document:
    """Return the aggregated document of ``/apis``: all groups and resources, in a version of the group ``apidiscovery.k8s.io``."""
    items = [{"metadata": {"name": name}, "versions": _aggregated_versions(kinds, name)} for name in groups_of(kinds)]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{discovery_version}", "metadata": {}, "items": items}


def _group(kinds: Sequence[Kind], group: str) -> Document:
    """Return a group with its versions: an item of the list of groups, or the content of the group's own document."""
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions_of(kinds, group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resource_entries(kind: Kind) -> list[Document]:
    """Return the entries of a kind and its subresources in an APIResourceList."""
    resource_entry = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": True,
        "kind": kind.kind,
        "verbs": sorted(kind.verbs),
        **_non_empty_lists(shortNames=kind.short_names, categories=kind.categories),
    }
    subresource_entries = [
        {
            "name": f"{kind.plural}/{subresource.name}",
            "singularName": "",
            "namespaced": True,
            "kind": subresource.kind,
            "verbs": sorted(subresource.verbs),
        }
        for subresource in subresources_of(kind)
    ]
    return [resource_entry, *subresource_entries]


def _aggregated_versions(kinds: Sequence[Kind], group: str) -> list[Document]:
    """Return the versions of a group with their resources. They are always current, because this server itself provides them."""
    return [
        {
            "version": version,
            "freshness": "Current",
            "resources": [_aggregated_resource(kind, version) for kind in kinds_in(kinds, group, version)],
        }
        for version in versions_of(kinds, group)
    ]


def _aggregated_resource(kind: Kind, version: str) -> Document:
    """Return the entry of a kind, with its subresources, in the aggregated document."""
    subresource_entries = [
        {
            "subresource": subresource.name,
            "responseKind": _response_kind(kind, version, subresource.kind),
            "verbs": sorted(subresource.verbs),
        }
        for subresource in subresources_of(kind)
    ]
    return {
        "resource": kind.plural,
        "responseKind": _response_kind(kind, version, kind.kind),
        "scope": "Namespaced",
        "singularResource": kind.singular,
        "verbs": sorted(kind.verbs),
        **_non_empty_lists(shortNames=kind.short_names, categories=kind.categories, subresources=subresource_entries),
    }


def _response_kind(kind: Kind, version: str, name: str) -> Mapping[str, str]:
    return {"group": kind.group, "version": version, "kind": name}


def _non_empty_lists(**members: Sequence[Any]) -> Document:
    """Return the members whose lists are not empty."""
    return {name: list(items) for name, items in members.items() if items}

"""Discovery documents of the resource API: groups, their versions and the resources of each, made from the registry of kinds."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashwright.common.kinds.kind import Kind, SubResource

Document = dict[str, Any]


def groups_of(kinds: Sequence[Kind]) -> list[str]:
    """Return the groups, in the order of their first kinds."""
    return list(dict.fromkeys(kind.group for kind in kinds))


def versions_of(kinds: Sequence[Kind], group: str) -> list[str]:
    """Return the versions of a group, the preferred one first."""
    return list(dict.fromkeys(version for kind in kinds if kind.group == group for version in kind.versions))


def served_in(kinds: Sequence[Kind], group: str, version: str) -> list[Kind]:
    """Return the kinds of one version of a group."""
    return [kind for kind in kinds if kind.group == group and version in kind.versions]


def below(kind: Kind) -> tuple[SubResource, ...]:
    """Return the sub-resources of a kind, including its status."""
    if kind.status is None:
        return kind.subresources
    verbs = ("get", "patch", "update") if "update" in kind.verbs else ("get",)
    return (SubResource("status", kind.kind, kind.actions["get"], verbs), *kind.subresources)


def api_group_list(kinds: Sequence[Kind]) -> Document:
    """Return the document of ``/apis``."""
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(kinds, group) for group in groups_of(kinds)]}


def api_group(kinds: Sequence[Kind], group: str) -> Document:
    """Return the document of ``/apis/{group}``."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(kinds, group)}


def api_resource_list(kinds: Sequence[Kind], group: str, version: str) -> Document:
    """Return the document of ``/apis/{group}/{version}``."""
    resources = [entry for kind in served_in(kinds, group, version) for entry in _resources(kind)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}", "resources": resources}


def aggregated(kinds: Sequence[Kind], meta: str) -> Document:
    """Return ``/apis`` with all groups and resources in one document. ``meta`` is the version of the document's own kind."""
    items = [{"metadata": {"name": name}, "versions": _aggregated_versions(kinds, name)} for name in groups_of(kinds)]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": f"apidiscovery.k8s.io/{meta}", "metadata": {}, "items": items}


def _group(kinds: Sequence[Kind], group: str) -> Document:
    versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions_of(kinds, group)]
    return {"name": group, "versions": versions, "preferredVersion": versions[0]}


def _resources(kind: Kind) -> list[Document]:
    own = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": True,
        "kind": kind.kind,
        "verbs": sorted(kind.verbs),
        **_non_empty(shortNames=kind.short_names, categories=kind.categories),
    }
    parts = [
        {"name": f"{kind.plural}/{sub.name}", "singularName": "", "namespaced": True, "kind": sub.kind, "verbs": sorted(sub.verbs)}
        for sub in below(kind)
    ]
    return [own, *parts]


def _aggregated_versions(kinds: Sequence[Kind], group: str) -> list[Document]:
    return [
        {
            "version": version,
            "freshness": "Current",
            "resources": [_aggregated_resource(kind, version) for kind in served_in(kinds, group, version)],
        }
        for version in versions_of(kinds, group)
    ]


def _aggregated_resource(kind: Kind, version: str) -> Document:
    parts = [
        {"subresource": sub.name, "responseKind": _response_kind(kind, version, sub.kind), "verbs": sorted(sub.verbs)}
        for sub in below(kind)
    ]
    return {
        "resource": kind.plural,
        "responseKind": _response_kind(kind, version, kind.kind),
        "scope": "Namespaced",
        "singularResource": kind.singular,
        "verbs": sorted(kind.verbs),
        **_non_empty(shortNames=kind.short_names, categories=kind.categories, subresources=parts),
    }


def _response_kind(kind: Kind, version: str, name: str) -> Mapping[str, str]:
    return {"group": kind.group, "version": version, "kind": name}


def _non_empty(**members: Sequence[Any]) -> Document:
    """Return the members whose lists are not empty."""
    return {name: list(items) for name, items in members.items() if items}

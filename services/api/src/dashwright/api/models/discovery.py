"""Discovery documents of the resource API, by the Kubernetes API conventions."""

from pydantic import Field

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.meta import ListMeta, ObjectMeta


class GroupVersionForDiscovery(ApiModel):
    """A version of a group."""

    group_version: str = Field(description="The group and the version, with a slash between")
    version: str = Field(description="The version")


class _Group(ApiModel):
    """The common members of groups."""

    name: str = Field(description="The name of the group")
    versions: list[GroupVersionForDiscovery] = Field(description="The versions, the preferred one first")
    preferred_version: GroupVersionForDiscovery = Field(description="The version that clients should use")


class APIGroupEntry(_Group):
    """A group in a list of groups."""


class APIGroup(_Group):
    """A group of the resource API."""

    kind: str = Field(description="Always APIGroup")
    api_version: str = Field(description="Always v1")


class APIGroupList(ApiModel):
    """The groups of the resource API."""

    kind: str = Field(description="Always APIGroupList")
    api_version: str = Field(description="Always v1")
    groups: list[APIGroupEntry] = Field(description="The groups")


class APIResource(ApiModel):
    """A resource or subresource."""

    name: str = Field(description="The plural of the kind; for a subresource followed by a slash and its name")
    singular_name: str = Field(description="The singular of the kind")
    namespaced: bool = Field(description="Whether objects belong to an organization")
    kind: str = Field(description="The kind of the objects")
    verbs: list[str] = Field(description="The supported verbs")
    short_names: list[str] | None = Field(default=None, description="Shorter names that kubectl takes")
    categories: list[str] | None = Field(default=None, description="Groups of resources that kubectl takes as names")


class APIResourceList(ApiModel):
    """The resources of a version of a group."""

    kind: str = Field(description="Always APIResourceList")
    api_version: str | None = Field(default=None, description="Always v1")
    group_version: str = Field(description="The group and the version")
    resources: list[APIResource] = Field(description="The resources")


class DiscoveredKind(ApiModel):
    """The kind of the objects that a resource returns."""

    group: str = Field(description="The group of the kind")
    version: str = Field(description="The version of the kind")
    kind: str = Field(description="The name of the kind")


class APISubresourceDiscovery(ApiModel):
    """A subresource, in the aggregated document."""

    subresource: str = Field(description="The name below the object")
    response_kind: DiscoveredKind = Field(description="The kind of the response")
    verbs: list[str] = Field(description="The supported verbs")


class APIResourceDiscovery(ApiModel):
    """A resource, in the aggregated document."""

    resource: str = Field(description="The plural of the kind")
    response_kind: DiscoveredKind = Field(description="The kind of the objects")
    scope: str = Field(description="Always Namespaced")
    singular_resource: str = Field(description="The singular of the kind")
    verbs: list[str] = Field(description="The supported verbs")
    short_names: list[str] | None = Field(default=None, description="Shorter names that kubectl takes")
    categories: list[str] | None = Field(default=None, description="Groups of resources that kubectl takes as names")
    subresources: list[APISubresourceDiscovery] | None = Field(default=None, description="The subresources")


class APIVersionDiscovery(ApiModel):
    """A version of a group, in the aggregated document."""

    version: str = Field(description="The version")
    freshness: str = Field(description="Always Current")
    resources: list[APIResourceDiscovery] = Field(description="The resources")


class APIGroupDiscovery(ApiModel):
    """A group, in the aggregated document."""

    metadata: ObjectMeta = Field(description="The name of the group")
    versions: list[APIVersionDiscovery] = Field(description="The versions, the preferred one first")


class APIGroupDiscoveryList(ApiModel):
    """The aggregated document: every group, version and resource."""

    kind: str = Field(description="Always APIGroupDiscoveryList")
    api_version: str = Field(description="The version of the document's own kind")
    metadata: ListMeta = Field(description="The metadata of the list")
    items: list[APIGroupDiscovery] = Field(description="The groups")


class ResourceAttributes(ApiModel):
    """The action whose permission is reviewed."""

    namespace: str | None = Field(default=None, description="The namespace of the organization; by default the caller's own")
    verb: str | None = Field(default=None, description="The verb, or * for all")
    group: str | None = Field(default=None, description="The group, or * for all")
    version: str | None = Field(default=None, description="The version, or * for all")
    resource: str | None = Field(default=None, description="The plural of the kind, or * for all")
    subresource: str | None = Field(default=None, description="The name of a subresource")
    name: str | None = Field(default=None, description="The name of an object; empty for any")


class SelfSubjectAccessReviewSpec(ApiModel):
    """The specification of a review."""

    resource_attributes: ResourceAttributes | None = Field(default=None, description="The action that the caller asks about")


class SubjectAccessReviewStatus(ApiModel):
    """The outcome of a review."""

    allowed: bool = Field(description="Whether the caller is allowed to do it")
    reason: str | None = Field(default=None, description="The reason for a denial")


class SelfSubjectAccessReview(ApiModel):
    """A review of the caller's own permissions. It is not stored."""

    kind: str | None = Field(default=None, description="Always SelfSubjectAccessReview")
    api_version: str | None = Field(default=None, description="Always authorization.k8s.io/v1")
    metadata: ListMeta | None = Field(default=None, description="Always empty")
    spec: SelfSubjectAccessReviewSpec = Field(description="The action that the review asks about")
    status: SubjectAccessReviewStatus | None = Field(default=None, description="The outcome, in the response")


class VersionInfo(ApiModel):
    """The version of the server, as Kubernetes clients read it."""

    major: str = Field(description="The first part of the version")
    minor: str = Field(description="The second part of the version")
    git_version: str = Field(description="The version, with a v before it")
    git_commit: str = Field(description="Always empty")
    git_tree_state: str = Field(description="Always empty")
    build_date: str = Field(description="Always empty")
    go_version: str = Field(description="Always empty")
    compiler: str = Field(description="The interpreter and its version")
    platform: str = Field(description="The operating system and the processor")

"""Members that every object of the resource API has in addition to its spec, by the Kubernetes API conventions."""

from typing import Annotated, Any

from pydantic import Field

from dashwright.common.models.provisioning import Integer64
from dashwright.common.models.shape import Shape

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class OwnerReference(Shape):
    """Reference to an object that this one belongs to."""

    api_version: str = Field(description="The group and version of the owner")
    kind: str = Field(description="The kind of the owner")
    name: str = Field(description="The name of the owner")
    uid: str = Field(description="The uid of the owner, which distinguishes it from another of the same name")
    controller: bool | None = Field(default=None, description="Whether the owner is the one that manages the object")
    block_owner_deletion: bool | None = Field(default=None, description="Whether the owner waits for the object when it is deleted")


class ManagedFieldsEntry(Shape):
    """Fields that one manager has set, as server-side apply records them."""

    manager: str | None = Field(default=None, description="Who set the fields")
    operation: str | None = Field(default=None, description="Apply or Update")
    api_version: str | None = Field(default=None, description="The version of the object that the fields are of")
    time: Time | None = Field(default=None, description="When the manager last added or removed a field")
    fields_type: str | None = Field(default=None, description="The layout of fieldsV1: FieldsV1")
    fields_v1: dict[str, Any] | None = Field(default=None, alias="fieldsV1", description="The fields, as a tree of paths")
    subresource: str | None = Field(default=None, description="The sub-resource by which they were set, if any")


class ObjectMeta(Shape):
    """Metadata of an object."""

    name: str | None = Field(default=None, description="The name, unique among the objects of its kind and namespace; it cannot be changed")
    generate_name: str | None = Field(default=None, description="What a name is made from, where none is given: this, and a random ending")
    namespace: str | None = Field(default=None, description="The organization: default is organization 1, org-N organization N")
    uid: str | None = Field(default=None, description="Tells the object from all others, also from a later one of the same name")
    resource_version: str | None = Field(
        default=None, description="The state of the object; an update that names an old one is refused. Lists and watches go on from it"
    )
    generation: Integer64 | None = Field(default=None, description="Counts the changes of the spec; of a dashboard it is the version")
    creation_timestamp: Time | None = Field(default=None, description="When the object was created")
    deletion_timestamp: Time | None = Field(default=None, description="When the object was deleted; its finalizers keep it until then")
    deletion_grace_period_seconds: Integer64 | None = Field(default=None, description="How long its end may take, once it is deleted")
    labels: dict[str, str] | None = Field(default=None, description="What selectors choose the object by")
    annotations: dict[str, str] | None = Field(
        default=None, description="Notes of programs and users about the object; grafana.app/folder is its folder"
    )
    owner_references: list[OwnerReference] | None = Field(
        default=None,
        description="The objects that this one belongs to",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"]},
    )
    finalizers: list[str] | None = Field(
        default=None,
        description="What has to be done before the object is removed; while there are any, it stays",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    managed_fields: list[ManagedFieldsEntry] | None = Field(
        default=None,
        description="Who set which fields. Kept by the server",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )


class ListMeta(Shape):
    """Metadata of a list."""

    resource_version: str | None = Field(default=None, description="The state that the list shows, and that a watch goes on from")
    continue_: str | None = Field(default=None, alias="continue", description="The token that the next page is asked for with")
    remaining_item_count: Integer64 | None = Field(default=None, description="How many objects follow after this page, where it is known")


class TypeMeta(Shape):
    """Kind and version of a response."""

    kind: str = Field(description="The kind of the response")
    api_version: str = Field(description="The group and version of the kind")


class ListEnvelope(TypeMeta):
    """Members of every list in addition to its items."""

    metadata: ListMeta = Field(default_factory=ListMeta, description="What there is to know about any list")


class Preconditions(Shape):
    """Conditions that an object must meet to be deleted."""

    uid: str | None = Field(default=None, description="The uid that the object must have")
    resource_version: str | None = Field(default=None, description="The resourceVersion that the object must have")


class DeleteOptions(Shape):
    """Options of a deletion."""

    api_version: str | None = Field(default=None, description="v1")
    kind: str | None = Field(default=None, description="DeleteOptions")
    preconditions: Preconditions | None = Field(default=None, description="What has to be true of the object")
    propagation_policy: str | None = Field(
        default=None, description="Foreground removes a folder with everything in it; Background and Orphan only one that is empty"
    )
    grace_period_seconds: Integer64 | None = Field(default=None, description="0 also removes what was provisioned")
    dry_run: list[str] | None = Field(default=None, description="All: nothing is deleted")


class StatusCause(Shape):
    """Fault of a request."""

    reason: str | None = Field(default=None, description="What kind of fault it is, for programs")
    message: str | None = Field(default=None, description="What it is, for people")
    field: str | None = Field(default=None, description="Where it is: the path of a field")


class StatusDetails(Shape):
    """Object that a status is about."""

    name: str | None = Field(default=None, description="The name of the object")
    group: str | None = Field(default=None, description="The group of the object")
    kind: str | None = Field(default=None, description="The kind, or the plural, of the object")
    uid: str | None = Field(default=None, description="The uid of the object")
    causes: list[StatusCause] | None = Field(default=None, description="Every fault of the request")
    retry_after_seconds: Integer64 | None = Field(default=None, description="When to ask again, where that is worth while")


class Status(Shape):
    """Response without an object: an error, or a completed deletion."""

    api_version: str | None = Field(default=None, description="v1")
    kind: str | None = Field(default=None, description="Status")
    metadata: ListMeta | None = Field(default=None, description="Where a list that broke off goes on")
    status: str | None = Field(default=None, description="Success or Failure")
    message: str | None = Field(default=None, description="What happened, for people")
    reason: str | None = Field(default=None, description="What happened, for programs")
    details: StatusDetails | None = Field(default=None, description="What the response is about")
    code: Integer64 | None = Field(default=None, description="The status of the HTTP response")

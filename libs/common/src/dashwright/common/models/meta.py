"""Models of the Kubernetes API conventions: metadata of objects and lists, options of deletions, and status responses."""

from typing import Annotated, Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel, Integer64

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class OwnerReference(ApiModel):
    """Reference from an object to its owner."""

    api_version: str = Field(description="The group and version of the owner")
    kind: str = Field(description="The kind of the owner")
    name: str = Field(description="The name of the owner")
    uid: str = Field(description="The uid of the owner, which distinguishes it from another of the same name")
    controller: bool | None = Field(default=None, description="Whether the owner is the controller of the object")
    block_owner_deletion: bool | None = Field(default=None, description="Whether the owner waits for the object when it is deleted")


class ManagedFieldsEntry(ApiModel):
    """Fields that one field manager has set, as recorded by server-side apply."""

    manager: str | None = Field(default=None, description="The field manager, which is the program that set the fields")
    operation: str | None = Field(default=None, description="Apply or Update")
    api_version: str | None = Field(default=None, description="The API version that the fields belong to")
    time: Time | None = Field(default=None, description="When the manager last added or removed a field")
    fields_type: str | None = Field(default=None, description="The layout of fieldsV1: FieldsV1")
    fields_v1: dict[str, Any] | None = Field(default=None, alias="fieldsV1", description="The fields, as a tree of paths")
    subresource: str | None = Field(default=None, description="The subresource through which the fields were set, if any")


class ObjectMeta(ApiModel):
    """Metadata of an object."""

    name: str | None = Field(default=None, description="The name, unique among the objects of its kind and namespace; it cannot be changed")
    generate_name: str | None = Field(
        default=None, description="The beginning of a generated name, if the request has no name; a random suffix is appended"
    )
    namespace: str | None = Field(default=None, description="The organization: default is organization 1, org-N organization N")
    uid: str | None = Field(default=None, description="The identifier of the object, which later objects of the same name do not have")
    resource_version: str | None = Field(
        default=None,
        description="The version of the last write of the object. An update that sends an older one is refused. Watches resume from it",
    )
    generation: Integer64 | None = Field(
        default=None, description="The number of the spec, which each change increases; for a dashboard it is the version"
    )
    creation_timestamp: Time | None = Field(default=None, description="When the object was created")
    deletion_timestamp: Time | None = Field(
        default=None, description="When the deletion was requested; the object remains until its finalizers are removed"
    )
    deletion_grace_period_seconds: Integer64 | None = Field(default=None, description="The seconds that the deletion may take")
    labels: dict[str, str] | None = Field(default=None, description="Values by which selectors choose objects")
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
        description="Steps that must be completed before the object is deleted",
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
    managed_fields: list[ManagedFieldsEntry] | None = Field(
        default=None,
        description="The fields that each field manager has set; the server maintains them",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )


class ListMeta(ApiModel):
    """Metadata of a list."""

    resource_version: str | None = Field(default=None, description="The version that the list shows, from which a watch can start")
    continue_: str | None = Field(default=None, alias="continue", description="The token with which the next page is requested")
    remaining_item_count: Integer64 | None = Field(default=None, description="The number of objects after this page, if known")


class TypeMeta(ApiModel):
    """Kind and API version of a response."""

    kind: str = Field(description="The kind of the response")
    api_version: str = Field(description="The group and version of the kind")


class ListEnvelope(TypeMeta):
    """Fields of every list in addition to its items."""

    metadata: ListMeta = Field(default_factory=ListMeta, description="Metadata of the list")


class Preconditions(ApiModel):
    """Conditions that an object must meet to be deleted."""

    uid: str | None = Field(default=None, description="The uid that the object must have")
    resource_version: str | None = Field(default=None, description="The resourceVersion that the object must have")


class DeleteOptions(ApiModel):
    """Options of a deletion."""

    api_version: str | None = Field(default=None, description="v1")
    kind: str | None = Field(default=None, description="DeleteOptions")
    preconditions: Preconditions | None = Field(default=None, description="Conditions that the object must meet")
    propagation_policy: str | None = Field(
        default=None, description="Foreground removes a folder with everything in it; Background and Orphan remove empty folders only"
    )
    grace_period_seconds: Integer64 | None = Field(default=None, description="0 also deletes provisioned objects")
    dry_run: list[str] | None = Field(default=None, description="All: nothing is deleted")


class StatusCause(ApiModel):
    """One error of a request, as part of a status."""

    reason: str | None = Field(default=None, description="The type of the fault, for programs")
    message: str | None = Field(default=None, description="A description of the fault, for users")
    field: str | None = Field(default=None, description="The path of the field with the fault")


class StatusDetails(ApiModel):
    """Object that a status describes, and the causes of the error."""

    name: str | None = Field(default=None, description="The name of the object")
    group: str | None = Field(default=None, description="The group of the object")
    kind: str | None = Field(default=None, description="The kind, or the plural, of the object")
    uid: str | None = Field(default=None, description="The uid of the object")
    causes: list[StatusCause] | None = Field(default=None, description="Every fault of the request")
    retry_after_seconds: Integer64 | None = Field(default=None, description="The seconds after which the request may succeed, if known")


class Status(ApiModel):
    """Response without an object: an error, or a completed deletion."""

    api_version: str | None = Field(default=None, description="v1")
    kind: str | None = Field(default=None, description="Status")
    metadata: ListMeta | None = Field(default=None, description="Metadata with which an interrupted list can be continued")
    status: str | None = Field(default=None, description="Success or Failure")
    message: str | None = Field(default=None, description="A description of the result, for users")
    reason: str | None = Field(default=None, description="The reason for the result, for programs")
    details: StatusDetails | None = Field(default=None, description="The object that the response is about, and the causes of the error")
    code: Integer64 | None = Field(default=None, description="The HTTP status of the response")

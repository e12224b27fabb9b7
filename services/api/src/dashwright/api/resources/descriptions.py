"""OpenAPI descriptions of the resource API: operations, objects and lists."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from dashwright.api.http.routing import Content, Operation
from dashwright.api.resources.request import Target
from dashwright.api.resources.writing import patches
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, YAML
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.meta import DeleteOptions, ListEnvelope, ObjectMeta, Status

STATUS_CONTENT: Final = Content(Status)
DELETE_OPTIONS_CONTENT: Final = Content(DeleteOptions, (JSON, YAML), is_optional=True)
# The constants that end in PARAMETER or PARAMETERS have descriptions of query parameters, by name.
INCLUDE_OBJECT_PARAMETER: Final = {"includeObject": "What the rows of a table hold in addition to their cells: None, Metadata or Object"}
DRY_RUN_PARAMETER: Final = {"dryRun": "All: everything is checked, and nothing is stored"}
WRITE_PARAMETERS: Final = {
    **DRY_RUN_PARAMETER,
    "fieldManager": "The name under which the caller owns the fields that are set, at most 128 characters; needed for an apply",
    "fieldValidation": "What happens to unknown and duplicate fields: Ignore, Warn (the default) or Strict",
}
SELECTOR_PARAMETERS: Final = {
    "labelSelector": "A condition on the labels of objects, in the syntax of Kubernetes",
    "fieldSelector": "A condition on metadata.name and metadata.namespace, in the syntax of Kubernetes",
}
PATCH_PARAMETERS: Final = {**WRITE_PARAMETERS, "force": "Whether an apply takes over the fields that other managers have set"}
DELETE_PARAMETERS: Final = {
    **DRY_RUN_PARAMETER,
    "propagationPolicy": "Foreground deletes a folder with everything in it",
    "gracePeriodSeconds": "0 also permits the deletion of an object that a file provisions",
}
LIST_PARAMETERS: Final = {
    "limit": "Maximum number of objects on a page",
    "continue": "The value metadata.continue of the previous page",
    **SELECTOR_PARAMETERS,
    "resourceVersion": "A resource version; the list is at least as new",
    "resourceVersionMatch": "How resourceVersion is compared: Exact or NotOlderThan",
    **INCLUDE_OBJECT_PARAMETER,
}
WATCH_PARAMETERS: Final = {
    "watch": "Whether the response is a stream of changes, one JSON object on each line, instead of a list",
    "allowWatchBookmarks": "Whether a watch may send bookmarks: resource versions from which it can be resumed",
    "sendInitialEvents": "Whether a watch begins with the objects that exist",
    "timeoutSeconds": "Duration of the watch in seconds",
}
#: Types of the query parameters that are not strings.
_PARAMETER_TYPES: Final[Mapping[str, Any]] = {
    "allowWatchBookmarks": bool,
    "dryRun": Literal["All"],
    "fieldValidation": Literal["Ignore", "Warn", "Strict"],
    "force": bool,
    "gracePeriodSeconds": int,
    "includeObject": Literal["None", "Metadata", "Object"],
    "limit": int,
    "propagationPolicy": Literal["Orphan", "Background", "Foreground"],
    "resourceVersionMatch": Literal["Exact", "NotOlderThan"],
    "sendInitialEvents": bool,
    "timeoutSeconds": int,
    "watch": bool,
}


class WatchEvent(ApiModel):
    """One line of a watch."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] = Field(description="What happened")
    object: dict[str, Any] = Field(description="The object after the change; for DELETED its last state, for ERROR a Status")


WATCH_CONTENT: Final = Content(WatchEvent, ("application/json;stream=watch",))


class JsonPatchOperation(ApiModel):
    """One step of a JSON patch (RFC 6902)."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"] = Field(description="The operation")
    path: str = Field(description="JSON pointer to the member to change or test")
    from_: str | None = Field(default=None, alias="from", description="JSON pointer to the value that is moved or copied")
    value: Any = Field(default=None, description="The value of add, replace and test")


class MergePatch(BaseModel):
    """The members of an object to change (RFC 7386); null removes one."""

    model_config = ConfigDict(extra="allow")


def operation(
    verb: str,
    target: Target,
    *,
    id_suffix: str = "",
    query: Mapping[str, str] = MappingProxyType({}),
    request: Any = None,
    responses: Mapping[int, Any],
    errors: tuple[int, ...] = (),
) -> Operation:
    """Return the operation of a verb, whose operation id contains ``id_suffix``. Other parameters are those of Operation."""
    kind = target.kind
    return Operation(
        id=f"{verb}{kind.kind}{id_suffix}{target.version.capitalize()}",
        summary=f"{verb} {kind.plural}",
        tag=kind.group,
        request=request,
        responses=responses,
        query=query,
        parameters=parameter_types(query),
        errors=errors,
    )


def parameter_types(query: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the types of those query parameters that are not strings."""
    return {name: _PARAMETER_TYPES[name] for name in query if name in _PARAMETER_TYPES}


@cache
def object_model(kind: Kind) -> type[BaseModel]:
    """Return the model of an object, which requests and responses share."""
    # Clients see the rendered form of a kind that is stored in another form.
    spec: Any = kind.rendered_spec or kind.spec
    status: Any = kind.rendered_status or kind.status
    # A request may omit the first three members, which its path determines.
    fields: dict[str, Any] = {
        "api_version": (str | None, Field(default=None, description="The group and version in which the object is written")),
        "kind": (str | None, Field(default=None, description=f"Always {kind.kind}")),
        "metadata": (ObjectMeta | None, Field(default=None, description="The name, labels and other members of all objects")),
        "spec": (dict[str, Any], _OPEN_SPEC) if spec is None else (spec, Field(description="The desired state")),
    }
    if kind.secure is not None:
        fields["secure"] = (
            kind.secure | None,
            Field(default=None, description="The secrets: a request has their values, a response only their names"),
        )
    if status is not None:
        fields["status"] = (status | None, Field(default=None, description="The state that the server observed"))
    return create_model(kind.kind, __base__=ApiModel, __doc__=kind.description, **fields)


_OPEN_SPEC: Final[Any] = Field(description="Any JSON object", json_schema_extra={"additionalProperties": True})
"""The field ``spec`` of a kind without a model of its spec."""


@cache
def object_content(kind: Kind) -> Content:
    """Return the content of a request or response with one object, in JSON or YAML.

    Tables and partial metadata, which a client can also request, are not described.
    """
    return Content(object_model(kind), (JSON, YAML))


@cache
def list_model(kind: Kind) -> type[BaseModel]:
    """Return the model of a list of objects."""
    items: Any = list[object_model(kind)]  # type: ignore[misc]
    members: Any = (items, Field(description=f"The {kind.plural}"))
    return create_model(f"{kind.kind}List", __base__=ListEnvelope, __doc__=f"A list of {kind.plural}", items=members)


def list_content(kind: Kind) -> Content:
    """Return the content of a response with a list, in JSON or YAML."""
    return Content(list_model(kind), (JSON, YAML))


def patch_contents(kind: Kind, *media_types: str) -> tuple[Content, ...]:
    """Return the contents of a request with a patch of an object, one for each media type."""
    schemas: dict[str, Any] = {
        patches.JSON_PATCH: list[JsonPatchOperation],
        patches.MERGE_PATCH: MergePatch,
        # Without directives, a strategic merge patch has the form of a merge patch.
        patches.STRATEGIC_PATCH: MergePatch,
        patches.APPLY_PATCH: object_model(kind),
    }
    return tuple(Content(schemas[media_type], (media_type,)) for media_type in media_types)

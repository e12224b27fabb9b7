"""The resource API as the OpenAPI document shows it: its operations, and the objects that a client sends and gets, and lists."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel

from dashwright.api.http.routing import Content, Operation
from dashwright.api.resources.target import Target
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, YAML

STATUS: Final = Content({"$ref": "#/components/schemas/Status"})
INCLUDED: Final = {"includeObject": "what the rows of a table hold beside their cells: None, Metadata or Object"}
DRY_RUN: Final = {"dryRun": "All: everything is checked and nothing kept"}
WRITING: Final = {
    **DRY_RUN,
    "fieldManager": "the name under which the caller owns the fields that are set, at most 128 characters",
    "fieldValidation": "Ignore, Warn (the default) or Strict: what becomes of unknown fields",
}
SELECTING: Final = {
    "labelSelector": "what the labels are to be, as Kubernetes writes it",
    "fieldSelector": "metadata.name and metadata.namespace, as Kubernetes writes it",
}
PATCHING: Final = {**WRITING, "force": "of an apply only: fields that others own are taken from them"}
DELETING: Final = {
    **DRY_RUN,
    "propagationPolicy": "Foreground: a folder goes with all that it holds",
    "gracePeriodSeconds": "0: also what a file provisions",
}

_OPEN: Final = ConfigDict(extra="allow")


def operation(
    verb: str,
    target: Target,
    *,
    below: str = "",
    query: Mapping[str, str] = MappingProxyType({}),
    request: Any = None,
    answers: Mapping[int, Any],
    errors: tuple[int, ...] = (),
) -> Operation:
    """A verb on objects, or on what is ``below`` them. The rest is as in Operation."""
    kind = target.kind
    return Operation(
        f"{verb}{kind.kind}{below}{target.version.capitalize()}",
        f"{verb} {kind.plural}",
        tag=kind.group,
        request=request,
        answers=answers,
        query=query,
        errors=errors,
    )


class DeleteOptions(BaseModel):
    """What the caller of a delete takes the object to be, and how it is meant."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel)
    dry_run: list[str] | None = Field(default=None, description="All")
    propagation_policy: str | None = None
    grace_period_seconds: int | None = None
    preconditions: dict[str, str] | None = Field(default=None, description="uid, resourceVersion")


@cache
def sent(kind: Kind) -> type[BaseModel]:
    """An object as a client sends it."""
    spec: Any = kind.spec or kind.shown_spec or dict[str, Any]
    return create_model(f"New{kind.kind}", __config__=_OPEN, apiVersion=(str, ""), kind=(str, ""), metadata=(dict[str, Any], {}), spec=spec)


@cache
def sent_status(kind: Kind) -> type[BaseModel]:
    """An object of which only the status counts."""
    status: Any = (dict[str, Any] if kind.status is None else kind.status, None)
    fields: dict[str, Any] = {"apiVersion": (str, ""), "kind": (str, ""), "metadata": (dict[str, Any], {}), "status": status}
    return create_model(f"StatusOf{kind.kind}", __config__=_OPEN, **fields)


@cache
def shown(kind: Kind) -> type[BaseModel]:
    """An object as it is answered. The spec is as it was stored, in whichever version that was, but where the kind says what is shown."""
    fields: dict[str, Any] = {"apiVersion": str, "kind": str, "metadata": dict[str, Any], "spec": kind.shown_spec or dict[str, Any]}
    if kind.status is not None:
        fields["status"] = (dict[str, Any], {})
    elif kind.shown_status is not None:
        fields["status"] = (kind.shown_status, None)
    return create_model(kind.kind, __config__=_OPEN, **fields)


@cache
def in_formats(kind: Kind) -> Content:
    """An object as it is answered, by the media types it comes in; as a table, or its metadata alone, on request."""
    return Content(shown(kind), (JSON, YAML))


@cache
def listed(kind: Kind) -> type[BaseModel]:
    """A list of them."""
    items: Any = list[shown(kind)]  # type: ignore[misc]
    return create_model(f"{kind.kind}List", __config__=_OPEN, apiVersion=str, kind=str, metadata=dict[str, Any], items=items)


def listed_in_formats(kind: Kind) -> Content:
    """A list of them, by the media types it comes in, as one object does."""
    return Content(listed(kind), (JSON, YAML))

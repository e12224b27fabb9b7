"""The objects of the resource API as the OpenAPI document shows them: what a client sends, what it gets, and lists."""

from functools import cache
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, create_model

from dashwright.api.http.routing import Content
from dashwright.common.kinds.kind import Kind

STATUS: Final = Content({"$ref": "#/components/schemas/Status"})

_OPEN: Final = ConfigDict(extra="allow")


class DeleteOptions(BaseModel):
    """What the caller of a delete takes the object to be."""

    model_config = _OPEN
    preconditions: dict[str, str] | None = Field(default=None, description="uid, resourceVersion")


@cache
def sent(kind: Kind) -> type[BaseModel]:
    """An object as a client sends it."""
    spec: Any = dict[str, Any] if kind.spec is None else kind.spec
    return create_model(f"New{kind.kind}", __config__=_OPEN, apiVersion=(str, ""), kind=(str, ""), metadata=(dict[str, Any], {}), spec=spec)


@cache
def shown(kind: Kind) -> type[BaseModel]:
    """An object as it is answered. The spec is as it was stored, in whichever version that was."""
    fields: dict[str, Any] = {"apiVersion": str, "kind": str, "metadata": dict[str, Any], "spec": dict[str, Any]}
    if kind.status is not None:
        fields["status"] = (dict[str, Any], {})
    return create_model(kind.kind, __config__=_OPEN, **fields)


@cache
def listed(kind: Kind) -> type[BaseModel]:
    """A list of them."""
    items: Any = list[shown(kind)]  # type: ignore[misc]
    return create_model(f"{kind.kind}List", __config__=_OPEN, apiVersion=str, kind=str, metadata=dict[str, Any], items=items)

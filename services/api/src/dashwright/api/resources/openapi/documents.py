"""A whole document, and the list of all."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashwright.api.http.openapi import SECURITY
from dashwright.api.resources import discovery
from dashwright.api.resources.openapi.operations import paths
from dashwright.api.resources.openapi.schemas import components
from dashwright.common.kinds.kind import Kind


def document(kinds: Sequence[Kind], group: str, version: str, *, product: str) -> dict[str, Any]:
    """The document of a version of a group; ``product`` is the version of the product."""
    served = discovery.served_in(kinds, group, version)
    below = [sub for kind in served for sub in discovery.below(kind) if sub.kind not in {own.kind for own in served}]
    return {
        "openapi": "3.0.0",
        "info": {"title": "Dashwright", "version": product},
        "paths": paths(served, version),
        "components": {"schemas": components(served, below, version), "securitySchemes": dict(SECURITY)},
        "security": [{name: []} for name in SECURITY],
    }


def index(tags: Mapping[str, str]) -> dict[str, Any]:
    """``/openapi/v3``, of the tag of each document by its path. A client keeps a document for as long as its address stays."""
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={tag}"} for path, tag in tags.items()}}

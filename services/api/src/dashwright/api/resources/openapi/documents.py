"""What Kubernetes' clients read of the description: a document for each version of a group, and the list of all."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashwright.api.http.schemas import Schema, reached
from dashwright.api.resources.openapi.marks import marked_operation, marked_schema, of_everything, of_version
from dashwright.common.kinds.kind import Kind


def document(described: Mapping[str, Any], kinds: Sequence[Kind], group: str, version: str) -> Schema:
    """Return the document of a version of a group, from the whole description in the words of OpenAPI 3.0."""
    root = f"/apis/{group}/{version}/"
    paths = {
        path: {method: marked_operation(kinds, path, method, operation) for method, operation in methods.items()}
        for path, methods in described["paths"].items()
        if path.startswith(root)
    }
    marks = of_version(kinds, group, version)
    schemas = described["components"]["schemas"]
    names = reached(paths, schemas, *(name for name in marks if name in schemas))
    return {
        "openapi": described["openapi"],
        "info": described["info"],
        "paths": paths,
        "components": {
            "schemas": {name: marked_schema(schemas[name], marks.get(name)) for name in sorted(names)},
            "securitySchemes": described["components"]["securitySchemes"],
        },
    }


def everything(described: Mapping[str, Any], kinds: Sequence[Kind]) -> Schema:
    """Return the whole description with what Kubernetes adds, from the same."""
    marks = of_everything(kinds)
    schemas = described["components"]["schemas"]
    return {
        **described,
        "paths": {
            path: {method: marked_operation(kinds, path, method, operation) for method, operation in methods.items()}
            for path, methods in described["paths"].items()
        },
        "components": {**described["components"], "schemas": {name: marked_schema(schemas[name], marks.get(name)) for name in schemas}},
    }


def index(tags: Mapping[str, str]) -> dict[str, Any]:
    """``/openapi/v3``, of the tag of each document by its path. A client keeps a document for as long as its address stays."""
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={tag}"} for path, tag in tags.items()}}

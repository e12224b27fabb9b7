"""OpenAPI documents of the resource API as Kubernetes clients read them.

``/openapi.json`` describes the whole API to users and code generators. The documents here, one for each version of a group,
are for ``kubectl``, which validates and explains objects by them. They add ``x-kubernetes-…`` members: the kind of an operation or
schema, and which objects are open.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashwright.api.http.schemas import Schema, reached
from dashwright.api.resources import discovery
from dashwright.api.resources.writing.patches import STRATEGIC_PATCH
from dashwright.common.kinds.kind import Kind


def document(described: Mapping[str, Any], kinds: Sequence[Kind], group: str, version: str) -> Schema:
    """Return the document of one version of a group, taken from the whole description in OpenAPI 3.0."""
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
    """Return the whole description with the additions for Kubernetes."""
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
    """Return ``/openapi/v3`` from the tag of each document by its path.

    The tag is part of the address, so a client can cache a document permanently.
    """
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={tag}"} for path, tag in tags.items()}}


GROUP_VERSION_KIND: Final = "x-kubernetes-group-version-kind"
ACTION: Final = "x-kubernetes-action"
OPEN: Final = "x-kubernetes-preserve-unknown-fields"

_ROOT: Final = "/apis/"
_ON_COLLECTION: Final = {"get": "list", "post": "post", "delete": "deletecollection"}
_METHODS: Final = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_NAMESPACE: Final = ("namespaces", "{namespace}")
_NAME: Final = "{name}"


class _Marks(NamedTuple):
    action: str
    kind: str


def marked_operation(kinds: Iterable[Kind], path: str, method: str, operation: Schema) -> Schema:
    """Return an operation with its action and kind if it is a verb of Kubernetes.

    Strategic merge patches are left out although they are accepted: kubectl would send directives to merge lists.
    """
    found = dict(operation)
    group, _, rest = path.removeprefix(_ROOT).partition("/")
    version, *parts = rest.split("/")
    if not path.startswith(_ROOT) or not parts:
        return found
    if method == "patch":
        content = {media: body for media, body in operation["requestBody"]["content"].items() if media != STRATEGIC_PATCH}
        found["requestBody"] = {**operation["requestBody"], "content": content}
    if (marks := _marks_of(kinds, group, parts, method)) is not None:
        found |= {ACTION: marks.action, GROUP_VERSION_KIND: {"group": group, "version": version, "kind": marks.kind}}
    return found


def _marks_of(kinds: Iterable[Kind], group: str, parts: Sequence[str], method: str) -> _Marks | None:
    plural, *below = parts[2:] if tuple(parts[:2]) == _NAMESPACE else parts
    kind = next((kind for kind in kinds if (kind.group, kind.plural) == (group, plural)), None)
    if kind is None:
        return None
    if not below:
        return _Marks(_ON_COLLECTION[method], kind.kind)
    if below == [_NAME]:
        return _Marks(method, kind.kind)
    for sub in discovery.below(kind):
        if below == [_NAME, sub.name] and method in {_METHODS.get(verb) for verb in sub.verbs}:
            return _Marks(method, sub.kind)
    return None


def of_version(kinds: Sequence[Kind], group: str, version: str) -> dict[str, list[Schema]]:
    """Return the group, version and kind of each schema that has one, by the name of the schema."""
    own = {name: [{"group": group, "version": version, "kind": name}] for name in _names(discovery.served_in(kinds, group, version))}
    deleted = [{"group": some, "version": number, "kind": "DeleteOptions"} for some, number in (("", "v1"), (group, version))]
    return {**own, "DeleteOptions": deleted, "Status": [{"group": "", "version": "v1", "kind": "Status"}]}


def of_everything(kinds: Sequence[Kind]) -> dict[str, list[Schema]]:
    """Return the group, version and kind of each schema in all versions of all groups."""
    found: dict[str, list[Schema]] = {}
    for group in discovery.groups_of(kinds):
        for version in discovery.versions_of(kinds, group):
            for name, marks in of_version(kinds, group, version).items():
                known = found.setdefault(name, [])
                known += [mark for mark in marks if mark not in known]
    return found


def _names(kinds: Iterable[Kind]) -> Iterator[str]:
    for kind in kinds:
        yield from (kind.kind, f"{kind.kind}List")
        for sub in kind.subresources:
            yield sub.kind
            if sub.options is not None:
                yield sub.options.__name__


def marked_schema(schema: Mapping[str, Any], marks: list[Schema] | None) -> Schema:
    """Return a schema with its kinds and with open objects marked in Kubernetes' terms."""
    found: Schema = _opened(schema)
    return found if marks is None else {**found, GROUP_VERSION_KIND: marks}


def _opened(node: Any) -> Any:
    if isinstance(node, list):
        return [_opened(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    found = {word: _opened(value) for word, value in node.items()}
    if found.get("additionalProperties") is True or found.get("additionalProperties") == {OPEN: True}:
        del found["additionalProperties"]
        found[OPEN] = True
    if isinstance(found.get("items"), Mapping) and not found["items"]:
        found["items"] = {OPEN: True}
    if isinstance(found.get("description"), str):
        found["description"] = found["description"].replace("`", "")
    return found

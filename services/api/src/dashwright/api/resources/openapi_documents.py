"""OpenAPI documents of the resource API as Kubernetes clients read them.

``/openapi.json`` describes the whole API to users and code generators. The documents here, one for each version of a group,
are for ``kubectl``, which validates and explains objects by them. They add ``x-kubernetes-…`` members: the kind of an operation or
schema, and which objects may have unknown members.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashwright.api.http.schemas import Schema, referenced_names
from dashwright.api.resources import discovery
from dashwright.api.resources.writing.patches import STRATEGIC_PATCH
from dashwright.common.kinds.kind import Kind


def document(description: Mapping[str, Any], kinds: Sequence[Kind], group: str, version: str) -> Schema:
    """Return the document of one version of a group. ``description`` is the document of the complete API in OpenAPI 3.0."""
    root = f"/apis/{group}/{version}/"
    paths = {
        path: {method: annotated_operation(kinds, path, method, operation) for method, operation in methods.items()}
        for path, methods in description["paths"].items()
        if path.startswith(root)
    }
    gvks = gvks_of_version(kinds, group, version)
    schemas = description["components"]["schemas"]
    # All schemas of the version, even if no path refers to them, and those to which they or the paths refer.
    names = referenced_names(paths, schemas, *(name for name in gvks if name in schemas))
    return {
        "openapi": description["openapi"],
        "info": description["info"],
        "paths": paths,
        "components": {
            "schemas": {name: annotated_schema(schemas[name], gvks.get(name)) for name in sorted(names)},
            "securitySchemes": description["components"]["securitySchemes"],
        },
    }


def complete_document(description: Mapping[str, Any], kinds: Sequence[Kind]) -> Schema:
    """Return the document of the complete API with the ``x-kubernetes-…`` members."""
    gvks = gvks_of_all_versions(kinds)
    schemas = description["components"]["schemas"]
    return {
        **description,
        "paths": {
            path: {method: annotated_operation(kinds, path, method, operation) for method, operation in methods.items()}
            for path, methods in description["paths"].items()
        },
        "components": {**description["components"], "schemas": {name: annotated_schema(schemas[name], gvks.get(name)) for name in schemas}},
    }


def index(tags: Mapping[str, str]) -> dict[str, Any]:
    """Return ``/openapi/v3``, the index of the documents. ``tags`` are the entity tags of the documents by their paths.

    The tag is part of the address, so a client can cache a document permanently.
    """
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={tag}"} for path, tag in tags.items()}}


GROUP_VERSION_KIND: Final = "x-kubernetes-group-version-kind"
ACTION: Final = "x-kubernetes-action"
PRESERVE_UNKNOWN_FIELDS: Final = "x-kubernetes-preserve-unknown-fields"

_ROOT: Final = "/apis/"
_COLLECTION_ACTIONS: Final = {"get": "list", "post": "post", "delete": "deletecollection"}
"""Actions on the path of a collection, by method. On other paths, the action is the method."""
_METHOD_BY_VERB: Final = {"get": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete"}
_NAMESPACE_SEGMENTS: Final = ("namespaces", "{namespace}")
_NAME_SEGMENT: Final = "{name}"


class _Extensions(NamedTuple):
    """Values of the ``x-kubernetes-…`` members of an operation."""

    action: str
    kind: str


def annotated_operation(kinds: Iterable[Kind], path: str, method: str, operation: Schema) -> Schema:
    """Return an operation with its action and its group, version and kind, if it is a verb of Kubernetes.

    Strategic merge patches are left out although the server accepts them: kubectl would send them with directives to merge lists,
    which are not supported.
    """
    annotated = dict(operation)
    group, _, remainder = path.removeprefix(_ROOT).partition("/")
    version, *segments = remainder.split("/")
    if not path.startswith(_ROOT) or not segments:
        return annotated
    if method == "patch":
        contents = operation["requestBody"]["content"]
        content = {media_type: schema for media_type, schema in contents.items() if media_type != STRATEGIC_PATCH}
        annotated["requestBody"] = {**operation["requestBody"], "content": content}
    if (extensions := _extensions_of(kinds, group, segments, method)) is not None:
        annotated |= {ACTION: extensions.action, GROUP_VERSION_KIND: {"group": group, "version": version, "kind": extensions.kind}}
    return annotated


def _extensions_of(kinds: Iterable[Kind], group: str, segments: Sequence[str], method: str) -> _Extensions | None:
    """Return the extensions of an operation, or None if it is not a verb. ``segments`` are the parts of its path after the version."""
    plural, *object_segments = segments[2:] if tuple(segments[:2]) == _NAMESPACE_SEGMENTS else segments
    kind = next((kind for kind in kinds if (kind.group, kind.plural) == (group, plural)), None)
    if kind is None:
        return None
    if not object_segments:
        return _Extensions(_COLLECTION_ACTIONS[method], kind.kind)
    if object_segments == [_NAME_SEGMENT]:
        return _Extensions(method, kind.kind)
    for subresource in discovery.subresources_of(kind):
        if object_segments == [_NAME_SEGMENT, subresource.name] and method in {_METHOD_BY_VERB.get(verb) for verb in subresource.verbs}:
            return _Extensions(method, subresource.kind)
    return None


def gvks_of_version(kinds: Sequence[Kind], group: str, version: str) -> dict[str, list[Schema]]:
    """Return the groups, versions and kinds of the schemas of one version of a group, by the name of the schema."""
    own_gvks = {
        name: [{"group": group, "version": version, "kind": name}] for name in _schema_names(discovery.kinds_in(kinds, group, version))
    }
    return {
        **own_gvks,
        "DeleteOptions": [
            {"group": "", "version": "v1", "kind": "DeleteOptions"},
            {"group": group, "version": version, "kind": "DeleteOptions"},
        ],
        "Status": [{"group": "", "version": "v1", "kind": "Status"}],
    }


def gvks_of_all_versions(kinds: Sequence[Kind]) -> dict[str, list[Schema]]:
    """Return the group, version and kind of each schema in all versions of all groups."""
    gvks_by_schema: dict[str, list[Schema]] = {}
    for group in discovery.groups_of(kinds):
        for version in discovery.versions_of(kinds, group):
            for name, gvks_of_one_version in gvks_of_version(kinds, group, version).items():
                schema_gvks = gvks_by_schema.setdefault(name, [])
                schema_gvks += [gvk for gvk in gvks_of_one_version if gvk not in schema_gvks]
    return gvks_by_schema


def _schema_names(kinds: Iterable[Kind]) -> Iterator[str]:
    """Yield the names of the schemas of kinds: objects, lists, subresources and their options."""
    for kind in kinds:
        yield from (kind.kind, f"{kind.kind}List")
        for subresource in kind.subresources:
            yield subresource.kind
            if subresource.options is not None:
                yield subresource.options.__name__


def annotated_schema(schema: Mapping[str, Any], gvks: list[Schema] | None) -> Schema:
    """Return a schema with ``gvks`` as its groups, versions and kinds, and with its open objects marked."""
    annotated: Schema = _mark_open_objects(schema)
    return annotated if gvks is None else {**annotated, GROUP_VERSION_KIND: gvks}


def _mark_open_objects(node: Any) -> Any:
    """Return a schema in which open objects, which may have any members, have ``x-kubernetes-preserve-unknown-fields``."""
    if isinstance(node, list):
        return [_mark_open_objects(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    marked = {keyword: _mark_open_objects(value) for keyword, value in node.items()}
    # The second value is the marked form of a schema with ``additionalProperties: true``.
    if marked.get("additionalProperties") in (True, {PRESERVE_UNKNOWN_FIELDS: True}):
        del marked["additionalProperties"]
        marked[PRESERVE_UNKNOWN_FIELDS] = True
    # An empty schema permits any items.
    if isinstance(marked.get("items"), Mapping) and not marked["items"]:
        marked["items"] = {PRESERVE_UNKNOWN_FIELDS: True}
    # ``kubectl explain`` prints descriptions as plain text.
    if isinstance(marked.get("description"), str):
        marked["description"] = marked["description"].replace("`", "")
    return marked

"""The operations on kinds, with the parameters that Kubernetes' own document has, as far as they are served."""

from collections.abc import Sequence
from typing import Any, Final

from dashwright.api.resources import discovery
from dashwright.api.resources.openapi.schemas import GROUP_VERSION_KIND, Schema, reference
from dashwright.common.kinds.kind import Kind, Shelf, SubResource
from dashwright.common.media import JSON, YAML

_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_WHOLE: Final = {"type": "integer", "format": "int64"}

_PARAMETERS: Final[dict[str, tuple[Schema, str]]] = {
    "allowWatchBookmarks": (_FLAG, "whether a watch may be sent bookmarks, which name a version that it can go on from"),
    "continue": (_TEXT, "the token that the page before ended with"),
    "dryRun": (_TEXT, "All: everything is checked and answered, and nothing is written"),
    "fieldManager": (_TEXT, "who sets the fields that are sent; needed for an apply"),
    "fieldSelector": (_TEXT, "chooses objects by metadata.name and metadata.namespace"),
    "fieldValidation": (_TEXT, "what becomes of unknown and doubled fields: Ignore, Warn or Strict"),
    "force": (_FLAG, "whether an apply takes over the fields that other managers have set"),
    "gracePeriodSeconds": (_WHOLE, "0 also removes what was provisioned"),
    "labelSelector": (_TEXT, "chooses objects by their labels"),
    "limit": (_WHOLE, "how many objects a page has at most"),
    "propagationPolicy": (_TEXT, "Foreground removes a folder with everything in it"),
    "resourceVersion": (_TEXT, "the state to list, or to watch from"),
    "resourceVersionMatch": (_TEXT, "how resourceVersion is meant: Exact or NotOlderThan"),
    "sendInitialEvents": (_FLAG, "whether a watch begins with what is there"),
    "timeoutSeconds": (_WHOLE, "how long a watch lasts"),
    "watch": (_FLAG, "whether changes are sent as they happen, rather than a list"),
}
_WRITING: Final = ("dryRun", "fieldManager", "fieldValidation")
_CHOOSING: Final = ("fieldSelector", "labelSelector")
_DELETING: Final = ("dryRun", "gracePeriodSeconds", "propagationPolicy")
_LISTING: Final = (
    *_CHOOSING,
    *(
        "allowWatchBookmarks",
        "continue",
        "limit",
        "resourceVersion",
        "resourceVersionMatch",
        "sendInitialEvents",
        "timeoutSeconds",
        "watch",
    ),
)
_LISTING_EVERYWHERE: Final = (*_CHOOSING, "continue", "limit", "resourceVersion", "resourceVersionMatch")
_WATCHED: Final = "application/json;stream=watch"

# No strategic merge patch, though it is taken: kubectl would reckon with merging lists, and send directives for that.
_PATCHES: Final = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")


class _Verb:
    """How a verb is called: its method, Kubernetes' word for the action, and what the operation's id begins with."""

    def __init__(self, method: str, action: str, word: str, query: Sequence[str] = (), *, on_item: bool = True) -> None:
        self.method = method
        self.action = action
        self.word = word
        self.query = query
        self.on_item = on_item


_VERBS: Final = {
    "list": _Verb("get", "list", "list", _LISTING, on_item=False),
    "create": _Verb("post", "post", "create", _WRITING, on_item=False),
    "deletecollection": _Verb("delete", "deletecollection", "deleteCollectionOf", (*_CHOOSING, *_DELETING), on_item=False),
    "get": _Verb("get", "get", "read"),
    "update": _Verb("put", "put", "replace", _WRITING),
    "patch": _Verb("patch", "patch", "patch", (*_WRITING, "force")),
    "delete": _Verb("delete", "delete", "delete", _DELETING),
}


def paths(kinds: Sequence[Kind], version: str) -> dict[str, Schema]:
    """The paths of a version of a group."""
    found: dict[str, Schema] = {}
    for kind in kinds:
        collection = f"/apis/{kind.api_version(version)}/namespaces/{{namespace}}/{kind.plural}"
        item = f"{collection}/{{name}}"
        for name, verb in _VERBS.items():
            if name in kind.verbs:
                path = _path(found, item if verb.on_item else collection)
                path[verb.method] = _operation(kind, version, name, kind.kind, "")
        if "list" in kind.verbs:
            everywhere = _operation(kind, version, "list", kind.kind, "")
            everywhere |= {"operationId": f"list{kind.kind}ForAllNamespaces", "parameters": _parameters(_LISTING_EVERYWHERE)}
            found[f"/apis/{kind.api_version(version)}/{kind.plural}"] = {"get": everywhere}
        for sub in discovery.below(kind):
            for name in sub.verbs:
                path = _path(found, f"{item}/{sub.name}")
                path[_VERBS[name].method] = _operation(kind, version, name, sub.kind, sub.name, is_own=_is_own(kind, sub))
    return found


def _is_own(kind: Kind, sub: SubResource) -> bool:
    """Whether a sub-resource takes and shows the object itself, as its status does."""
    return sub.kind == kind.kind


def _path(found: dict[str, Schema], path: str) -> Schema:
    if path not in found:
        names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
        found[path] = {"parameters": [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in names]}
    return found[path]


def _operation(kind: Kind, version: str, name: str, shown: str, below: str, *, is_own: bool = True) -> Schema:
    verb = _VERBS[name]
    operation: Schema = {
        "operationId": f"{verb.word}Namespaced{kind.kind}{below.capitalize()}",
        "description": f"{name} {kind.plural}{f', {below}' if below else ''}",
        "tags": [kind.group],
        "x-kubernetes-action": verb.action,
        GROUP_VERSION_KIND: {"group": kind.group, "version": version, "kind": shown},
    }
    query = verb.query if is_own else ()
    if query:
        operation["parameters"] = _parameters(query)
    if body := _request(name, shown, is_own=is_own):
        operation["requestBody"] = body
    return {**operation, "responses": _responses(kind, name, shown, is_own=is_own)}


def _parameters(query: Sequence[str]) -> list[Schema]:
    return [{"name": key, "in": "query", "description": _PARAMETERS[key][1], "schema": _PARAMETERS[key][0]} for key in query]


def _request(name: str, shown: str, *, is_own: bool) -> Schema | None:
    if name == "patch":
        return {"required": True, "content": {media: {"schema": {"type": "object"}} for media in _PATCHES}}
    if name in ("delete", "deletecollection"):
        return {"content": _content(reference("DeleteOptions"))}
    if name not in ("create", "update"):
        return None
    return {"required": True, "content": _content(reference(shown))} if is_own else {"content": _content({"type": "object"})}


def _responses(kind: Kind, name: str, shown: str, *, is_own: bool) -> Schema:
    if name in ("delete", "deletecollection"):
        answers = {200: _answer("OK", reference("Status"))}
    elif name == "list":
        answers = {200: _answer("OK", reference(f"{shown}List"), JSON, YAML, _WATCHED)}
    elif name == "create":
        accepted = kind.shelf is Shelf.JOBS or not is_own
        answers = {202: _answer("Accepted", reference(shown))} if accepted else {201: _answer("Created", reference(shown))}
    else:
        answers = {200: _answer("OK", reference(shown))}
        if name == "patch":
            answers[201] = _answer("Created", reference(shown))
    return {**{str(status): answer for status, answer in answers.items()}, "401": {"description": "Unauthorized"}}


def _answer(description: str, schema: Schema, *media: str) -> Schema:
    return {"description": description, "content": _content(schema, *media)}


def _content(schema: Any, *media: str) -> Schema:
    return {name: {"schema": schema} for name in media or (JSON, YAML)}

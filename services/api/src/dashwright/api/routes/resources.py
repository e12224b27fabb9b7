"""Routes of the resource API, made from the registry of kinds."""

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from dashwright.api.domain.events import event_of
from dashwright.api.http.answer import Answer
from dashwright.api.http.call import Call
from dashwright.api.http.routing import Handler, Operation, Permission, Route
from dashwright.api.resources import described, options, pages
from dashwright.api.resources.shelves import Shelf
from dashwright.common.kinds import kind as kinds
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import KINDS

Verb = Callable[[Kind, str, Shelf, Call], Awaitable[Answer]]

_READING = frozenset({"get", "list"})

OBJECT_LIMIT = 5 * 1024 * 1024
"""Bytes of one object as sent."""


def routes(shelves: Mapping[kinds.Shelf, Shelf]) -> list[Route]:
    """Every verb of every kind in each of its versions."""
    found: list[Route] = []
    for kind in KINDS:
        for version in kind.versions:
            found += _routes_of(kind, version, shelves[kind.shelf])
    return found


def _routes_of(kind: Kind, version: str, shelf: Shelf) -> list[Route]:
    collection = f"/apis/{kind.group}/{version}/namespaces/{{namespace}}/{kind.plural}"
    item = f"{collection}/{{name}}"
    table = [
        ("list", "GET", collection, _list),
        ("create", "POST", collection, _create),
        ("get", "GET", item, _get),
        ("delete", "DELETE", item, _delete),
    ]
    found = [_route(verb, method, path, handler, kind, version, shelf) for verb, method, path, handler in table if verb in kind.verbs]
    if kind.status is not None:
        found.append(_route("get", "GET", f"{item}/status", _get, kind, version, shelf))
    return found


def _route(verb: str, method: str, path: str, handler: Verb, kind: Kind, version: str, shelf: Shelf) -> Route:
    bound: Handler = functools.partial(handler, kind, version, shelf)
    operation = _operation(verb, kind, version, is_status=path.endswith("/status"))
    audit = None if verb in _READING else event_of(kind, verb)
    return Route(method, path, bound, Permission(kind.actions[verb]), operation, body_limit=OBJECT_LIMIT, audit=audit)


def _operation(verb: str, kind: Kind, version: str, *, is_status: bool) -> Operation:
    query: dict[str, str] = {}
    request: Any = None
    errors: tuple[int, ...] = () if verb == "list" else (404,)
    answers: dict[int, Any] = {200: described.shown(kind)}
    match verb:
        case "list":
            query = {"limit": "how many at most", "continue": "the token that the page before ended with"}
            answers = {200: described.listed(kind)}
        case "create":
            query = {"dryRun": "not served: refused"}
            request, errors = described.sent(kind), (404, 409, 422, 424)
            answers = {202 if kind.shelf is kinds.Shelf.JOBS else 201: described.shown(kind)}
        case "delete":
            query = {"dryRun": "not served: refused"}
            request, errors, answers = described.DeleteOptions, (404, 409, 413, 415), {200: described.STATUS}
    return Operation(
        f"{verb}{kind.kind}{'Status' if is_status else ''}{version.capitalize()}",
        f"{verb} {kind.plural}",
        tag=kind.group,
        request=request,
        answers=answers,
        query=query,
        errors=errors,
    )


async def _get(kind: Kind, version: str, shelf: Shelf, call: Call) -> Answer:
    return Answer(200, await shelf.get(kind, call.parameters["namespace"], call.parameters["name"], version))


async def _list(kind: Kind, version: str, shelf: Shelf, call: Call) -> Answer:
    namespace, limit = call.parameters["namespace"], pages.limit_of(call)

    async def read(after: str, count: int) -> pages.ListedPage:
        return await shelf.list_page(kind, namespace, version, after, count)

    first = await read(pages.after_of(call), min(limit or pages.PAGE, pages.LARGEST_PAGE))
    if limit is None and first.after is not None:
        return Answer(200, pages.stream(kind, version, first, read))
    return Answer(200, pages.encode_page(kind, version, first))


async def _create(kind: Kind, version: str, shelf: Shelf, call: Call) -> Answer:
    options.refuse_dry_run(call)
    body = await shelf.create(kind, call.parameters["namespace"], version, await call.body(), call.actor)
    # A job is accepted, not made: what it asks for comes later.
    return Answer(202 if kind.shelf is kinds.Shelf.JOBS else 201, body)


async def _delete(kind: Kind, version: str, shelf: Shelf, call: Call) -> Answer:
    name = call.parameters["name"]
    options.refuse_dry_run(call)
    uid = await shelf.delete(kind, call.parameters["namespace"], name, await options.preconditions_of(call), call.actor)
    details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": uid}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return Answer(200, orjson.dumps(status))

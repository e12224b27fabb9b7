"""Objects in request bodies: JSON or YAML."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from dashwright.api.http.call import Call
from dashwright.common.document import check_depth, read_json
from dashwright.common.errors import BadRequest, Invalid, UnsupportedMediaType
from dashwright.common.media import JSON, YAML, ranges
from dashwright.common.yaml import read_yaml

_AS_JSON: Final = frozenset({"", JSON, "text/json", "application/x-www-form-urlencoded"})
"""Media types read as JSON. Programs without a type send JSON; ``curl -d`` sends the last one."""

_AS_YAML: Final = frozenset({YAML, "application/x-yaml", "text/yaml", "text/x-yaml"})
_LARGE: Final = 64 * 1024
"""Bytes of a body from which on it is parsed in a thread."""


async def read_body(call: Call) -> Any:
    """Return the tree of a body in JSON or YAML, with numbers as they were sent, nested at most 128 levels.

    Raises UnsupportedMediaType for another type, BadRequest for an unreadable body, and what ``call.body`` raises.
    """
    parse = _parser_of(call)
    body = await call.body()
    return _read(parse, body) if len(body) < _LARGE else await asyncio.to_thread(_read, parse, body)


async def read_applied(call: Call) -> Any:
    """Return the tree of a body to apply. Its media type is YAML; JSON keeps its numbers as they were sent."""
    body = await call.body()
    return _read(_json_or_yaml, body) if len(body) < _LARGE else await asyncio.to_thread(_read, _json_or_yaml, body)


def _parser_of(call: Call) -> Callable[[str], Any]:
    name = next(ranges(call.headers.get("Content-Type", ""))).name
    if name in _AS_YAML:
        return read_yaml
    if name in _AS_JSON:
        return read_json
    raise UnsupportedMediaType(f"the body is of type {name[:80]!r}, which is not supported; send {JSON} or {YAML}")


def _json_or_yaml(text: str) -> Any:
    try:
        return read_json(text)
    except Invalid:
        return read_yaml(text)


def _read(parse: Callable[[str], Any], body: bytes) -> Any:
    try:
        tree = parse(body.decode())
        check_depth(tree)
    except UnicodeDecodeError as error:
        raise BadRequest("the body is not UTF-8 text") from error
    except Invalid as error:
        # A client without a Content-Type can have sent YAML, which JSON parsers refuse with a confusing message.
        hint = f"; YAML is sent with Content-Type: {YAML}" if parse is read_json and body.lstrip()[:1] not in (b"", b"{", b"[") else ""
        raise BadRequest(f"the body cannot be read: {error.message}{hint}") from error
    return tree

"""Objects in request bodies: JSON or YAML."""

from collections.abc import Callable
from typing import Any, Final

from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.common.errors import BadRequest, Invalid, UnsupportedMediaType
from dashwright.common.json_documents import check_depth, read_json
from dashwright.common.media import JSON, YAML, ranges
from dashwright.common.yaml import read_yaml

_JSON_TYPES: Final = frozenset({"", JSON, "text/json", "application/x-www-form-urlencoded"})
"""Media types that are parsed as JSON. Clients without a type usually send JSON, and ``curl -d`` sends the type of forms."""

_YAML_TYPES: Final = frozenset({YAML, "application/x-yaml", "text/yaml", "text/x-yaml"})


async def read_body(call: Call) -> Any:
    """Return the tree of a body in JSON or YAML. Numbers keep their notation.

    Raises UnsupportedMediaType for another type, BadRequest for an unreadable or too deeply nested body, and the errors of
    ``call.body``.
    """
    parse = _parser_of(call)
    body = await call.body()
    return await run_in_thread_if_large(len(body), lambda: _parse(parse, body))


async def read_apply_body(call: Call) -> Any:
    """Return the tree of the body of an apply. The media type is YAML, but JSON is parsed as JSON, so that numbers keep their notation."""
    body = await call.body()
    return await run_in_thread_if_large(len(body), lambda: _parse(_parse_json_or_yaml, body))


def _parser_of(call: Call) -> Callable[[str], Any]:
    media_type = next(ranges(call.headers.get("Content-Type", ""))).name
    if media_type in _YAML_TYPES:
        return read_yaml
    if media_type in _JSON_TYPES:
        return read_json
    raise UnsupportedMediaType(f"the body is of type {media_type[:80]!r}, which is not supported; send {JSON} or {YAML}")


def _parse_json_or_yaml(source: str) -> Any:
    try:
        return read_json(source)
    except Invalid:
        return read_yaml(source)


def _parse(parse: Callable[[str], Any], body: bytes) -> Any:
    try:
        tree = parse(body.decode())
        check_depth(tree)
    except UnicodeDecodeError as error:
        raise BadRequest("the body is not UTF-8 text") from error
    except Invalid as error:
        # A client may have sent YAML without a Content-Type, and the message of a JSON parser would not help.
        may_be_yaml = parse is read_json and body.lstrip()[:1] not in (b"", b"{", b"[")
        hint = f"; YAML is sent with Content-Type: {YAML}" if may_be_yaml else ""
        raise BadRequest(f"the body cannot be read: {error.message}{hint}") from error
    return tree

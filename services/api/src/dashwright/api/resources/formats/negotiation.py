"""Content negotiation by Kubernetes conventions.

``Content-Type`` names the format of the body, ``Accept`` that of the response, and ``includeObject`` the content of the rows of a table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from dashwright.api.http.call import Call, run_in_thread_if_large
from dashwright.common.errors import BadRequest, Invalid, NotAcceptable, UnsupportedMediaType
from dashwright.common.json_documents import check_depth, read_json
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, YAML, MediaRange, ranges
from dashwright.common.yaml import read_yaml

META_GROUP: Final = "meta.k8s.io"

_JSON_TYPES: Final = frozenset({"", JSON, "text/json", "application/x-www-form-urlencoded"})
"""Media types that are parsed as JSON. Clients without a type usually send JSON, and ``curl -d`` sends the type of forms."""

_YAML_TYPES: Final = frozenset({YAML, "application/x-yaml", "text/yaml", "text/x-yaml"})

_ANY_TYPES: Final = frozenset({"*/*", "application/*"})
"""Media ranges for which the response is JSON, too."""

_STATUS: Final = "status"
_METADATA: Final = "metadata"
_OFFERED_TYPES: Final = (
    f"{JSON}, {YAML}, and each of them with ;as=Table;g={META_GROUP};v=v1, ;as=PartialObjectMetadata;g={META_GROUP};v=v1 "
    f"or ;as=PartialObjectMetadataList;g={META_GROUP};v=v1"
)


class Representation(Enum):
    """The part of an object that a response contains."""

    #: The complete object.
    OBJECT = "whole"
    #: A row of a table.
    TABLE = "table"
    #: Only the metadata.
    METADATA = "metadata"


class IncludeObjectPolicy(Enum):
    """The part of its object that a row of a table contains in addition to its cells, as requested by ``includeObject``."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


@dataclass(frozen=True, slots=True)
class Format:
    """The format of a response."""

    representation: Representation = Representation.OBJECT
    is_yaml: bool = False
    #: The part of its object that each row of a table contains.
    include_object: IncludeObjectPolicy = IncludeObjectPolicy.METADATA
    #: The version of the group ``meta.k8s.io`` for tables and partial metadata.
    meta_version: str = "v1"

    @property
    def content_type(self) -> str:
        """The media type of the response."""
        return YAML if self.is_yaml else JSON

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of every negotiated response."""
        return _VARY

    @property
    def meta_api_version(self) -> str:
        """The group and version of tables and partial metadata."""
        return f"{META_GROUP}/{self.meta_version}"

    def needs_body(self, kind: Kind) -> bool:
        """Return whether the format needs the specs of objects. If not, objects may be read without them."""
        if self.representation is not Representation.TABLE:
            return self.representation is Representation.OBJECT
        return self.include_object is IncludeObjectPolicy.OBJECT or columns_need_body(kind)


_VARY: Final[Mapping[str, str]] = MappingProxyType({"Vary": "Accept"})
_REPRESENTATIONS: Final = {
    "": Representation.OBJECT,
    "Table": Representation.TABLE,
    "PartialObjectMetadata": Representation.METADATA,
    "PartialObjectMetadataList": Representation.METADATA,
}
"""Representations by the parameter ``as`` of a media range."""

_META_VERSIONS: Final = frozenset({"v1", "v1beta1"})
_JSON_FORMAT: Final = Format()


@cache
def columns_need_body(kind: Kind) -> bool:
    """Return whether a table column needs the body: for a value in the spec, or in a status that is computed from the spec."""
    members_without_body = (_METADATA,) if kind.render is not None else (_METADATA, _STATUS)
    return any(not column.source and column.path[0] not in members_without_body for column in kind.columns)


def format_of(call: Call, *, json_only: bool = False) -> Format:
    """Return the accepted format with the highest weight. With ``json_only``, as for a watch, YAML is not offered.

    Raises NotAcceptable if the client accepts no offered format, and BadRequest for an unknown ``includeObject``.
    """
    accept = call.accept
    if not accept:
        return _JSON_FORMAT
    best_format, best_weight = None, 0.0
    for media_range in ranges(accept):
        offered_format = _format_for(media_range)
        if offered_format is None or (json_only and offered_format.is_yaml):
            continue
        # Of equal weights, the first counts. A type of weight 0 is not acceptable (RFC 9110).
        if media_range.weight > best_weight:
            best_format, best_weight = offered_format, media_range.weight
    if best_format is None:
        accepted_types = f"only the following media types are accepted: {JSON if json_only else _OFFERED_TYPES}"
        raise NotAcceptable(f"{accepted_types}; the Accept header names none of them")
    if best_format.representation is not Representation.TABLE:
        return best_format
    return replace(best_format, include_object=_include_object_policy(call))


def _format_for(media_range: MediaRange) -> Format | None:
    """Return the format that a media range accepts, or None.

    As in Kubernetes, the parameters of a table or of partial metadata are ``as``, the group ``g`` and its version ``v``.
    """
    if media_range.name not in _ANY_TYPES and media_range.name not in (JSON, YAML):
        return None
    representation = _REPRESENTATIONS.get(media_range.parameters.get("as", ""))
    if representation is Representation.OBJECT:
        return Format(is_yaml=media_range.name == YAML)
    meta_version = media_range.parameters.get("v", "")
    if representation is None or media_range.parameters.get("g") != META_GROUP or meta_version not in _META_VERSIONS:
        return None
    return Format(representation, media_range.name == YAML, meta_version=meta_version)


def _include_object_policy(call: Call) -> IncludeObjectPolicy:
    """Return the policy in the query, by default the metadata. Raises BadRequest for an unknown value."""
    value = call.query.get("includeObject", "")
    try:
        return IncludeObjectPolicy(value) if value else IncludeObjectPolicy.METADATA
    except ValueError as error:
        values = ", ".join(item.value for item in IncludeObjectPolicy)
        raise BadRequest(f"includeObject {value[:40]!r} is not one of {values}") from error


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


def media_type_of(call: Call) -> str:
    """Return the media type of the body, in lower case and without parameters; empty if the request names none."""
    # A content type has the syntax of an ``Accept`` header with a single media range.
    return next(ranges(call.headers.get("Content-Type", ""))).name


def _parser_of(call: Call) -> Callable[[str], Any]:
    """Return the parser for the media type of the body. Raises UnsupportedMediaType for an unknown type."""
    media_type = media_type_of(call)
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
    """Return the tree of a body. Raises BadRequest for a body that is unreadable or nested too deeply."""
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

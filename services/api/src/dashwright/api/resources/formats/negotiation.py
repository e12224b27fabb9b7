"""Content negotiation by Kubernetes conventions: the ``Accept`` header, and ``includeObject`` for the rows of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Final

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest, NotAcceptable
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, YAML, MediaRange, ranges

META_GROUP: Final = "meta.k8s.io"

_ANY_TYPES: Final = frozenset({"*/*", "application/*"})
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
        if media_range.weight > best_weight:
            best_format, best_weight = offered_format, media_range.weight
    if best_format is None:
        accepted_types = f"only the following media types are accepted: {JSON if json_only else _OFFERED_TYPES}"
        raise NotAcceptable(f"{accepted_types}; the Accept header names none of them")
    if best_format.representation is not Representation.TABLE:
        return best_format
    return replace(best_format, include_object=_include_object_policy(call))


def _format_for(media_range: MediaRange) -> Format | None:
    """Return the format that a media range accepts, or None."""
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
    value = call.query.get("includeObject", "")
    try:
        return IncludeObjectPolicy(value) if value else IncludeObjectPolicy.METADATA
    except ValueError as error:
        values = ", ".join(item.value for item in IncludeObjectPolicy)
        raise BadRequest(f"includeObject {value[:40]!r} is not one of {values}") from error

"""Content negotiation: the ``Accept`` header by Kubernetes conventions, and the object that rows of a table hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import Final

from dashwright.api.http.call import Call
from dashwright.common.errors import BadRequest, NotAcceptable
from dashwright.common.kinds.kind import Kind
from dashwright.common.media import JSON, YAML, MediaRange, ranges

META_GROUP: Final = "meta.k8s.io"

_ANY: Final = frozenset({"*/*", "application/*"})
_STATUS: Final = "status"
_METADATA: Final = "metadata"
_OFFERED: Final = (
    f"{JSON}, {YAML}, and each of them with ;as=Table;g={META_GROUP};v=v1, ;as=PartialObjectMetadata;g={META_GROUP};v=v1 "
    f"or ;as=PartialObjectMetadataList;g={META_GROUP};v=v1"
)


class Form(Enum):
    """How much of an object is shown."""

    #: The object itself.
    WHOLE = "whole"
    #: A row of a table.
    TABLE = "table"
    #: The metadata alone.
    METADATA = "metadata"


class IncludeObjectPolicy(Enum):
    """The part of the object that a row holds in addition to its cells."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


@dataclass(frozen=True, slots=True)
class Format:
    """The format of a response."""

    form: Form = Form.WHOLE
    is_yaml: bool = False
    #: The part of the object in each row of a table.
    include_object: IncludeObjectPolicy = IncludeObjectPolicy.METADATA
    #: The version of tables and partial metadata.
    meta: str = "v1"

    @property
    def content_type(self) -> str:
        """The media type of the response."""
        return YAML if self.is_yaml else JSON

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of every negotiated response."""
        return _VARY

    @property
    def meta_version(self) -> str:
        """The group and version of tables and partial metadata."""
        return f"{META_GROUP}/{self.meta}"

    def needs_body(self, kind: Kind) -> bool:
        """Return whether specs have to be read. Without them, items with an empty spec can be encoded."""
        if self.form is not Form.TABLE:
            return self.form is Form.WHOLE
        return self.include_object is IncludeObjectPolicy.OBJECT or is_shown_by_body(kind)


_VARY: Final[Mapping[str, str]] = MappingProxyType({"Vary": "Accept"})
_FORMS: Final = {
    "": Form.WHOLE,
    "Table": Form.TABLE,
    "PartialObjectMetadata": Form.METADATA,
    "PartialObjectMetadataList": Form.METADATA,
}
_META_VERSIONS: Final = frozenset({"v1", "v1beta1"})
_AS_JSON: Final = Format()


@cache
def is_shown_by_body(kind: Kind) -> bool:
    """Return whether a table column needs the body: the spec, or a status that is computed from it."""
    without_body = (_METADATA,) if kind.render is not None else (_METADATA, _STATUS)
    return any(not column.source and column.path[0] not in without_body for column in kind.columns)


def format_of(call: Call, *, streamed: bool = False) -> Format:
    """Return the format of the response. With ``streamed`` it is that of a watch, which is JSON only.

    Raises NotAcceptable if the client accepts no format that there is, and BadRequest for an unknown ``includeObject``.
    """
    accept = call.accept
    if not accept:
        return _AS_JSON
    found, weight = None, 0.0
    for media in ranges(accept):
        offered = _format_for(media)
        if offered is not None and media.weight > weight and not (streamed and offered.is_yaml):
            found, weight = offered, media.weight
    if found is None:
        only = f"only the following media types are accepted: {JSON if streamed else _OFFERED}"
        raise NotAcceptable(f"{only}; the Accept header names none of them")
    return found if found.form is not Form.TABLE else Format(Form.TABLE, found.is_yaml, _include_object_policy(call), found.meta)


def _format_for(media: MediaRange) -> Format | None:
    """Return the format for a media range, or None."""
    if media.name not in _ANY and media.name not in (JSON, YAML):
        return None
    form = _FORMS.get(media.parameters.get("as", ""))
    if form is Form.WHOLE:
        return Format(is_yaml=media.name == YAML)
    meta = media.parameters.get("v", "")
    if form is None or media.parameters.get("g") != META_GROUP or meta not in _META_VERSIONS:
        return None
    return Format(form, media.name == YAML, meta=meta)


def _include_object_policy(call: Call) -> IncludeObjectPolicy:
    text = call.query.get("includeObject", "")
    try:
        return IncludeObjectPolicy(text) if text else IncludeObjectPolicy.METADATA
    except ValueError as error:
        known = ", ".join(item.value for item in IncludeObjectPolicy)
        raise BadRequest(f"includeObject {text[:40]!r} is not one of {known}") from error

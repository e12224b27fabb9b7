"""Which format a client asks for: the ``Accept`` header by the Kubernetes conventions, and what the rows of a table should hold."""

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
    """How much of an object is shown, and as what."""

    WHOLE = "whole"
    TABLE = "table"
    METADATA = "metadata"


class IncludeObjectPolicy(Enum):
    """What the row of a table holds of its object, beside the cells."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


@dataclass(frozen=True, slots=True)
class Format:
    """What a client gets. ``meta`` is the version that tables and partial metadata are of."""

    form: Form = Form.WHOLE
    is_yaml: bool = False
    include_object: IncludeObjectPolicy = IncludeObjectPolicy.METADATA
    meta: str = "v1"

    @property
    def content_type(self) -> str:
        return YAML if self.is_yaml else JSON

    @property
    def headers(self) -> Mapping[str, str]:
        return _VARY

    @property
    def meta_version(self) -> str:
        return f"{META_GROUP}/{self.meta}"

    def needs_body(self, kind: Kind) -> bool:
        """Whether specs have to be read; without, items may be encoded whose spec is empty."""
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
    """Whether a column of the kind is told by the body of an object alone: by its spec, or by a status that is made of it."""
    beside = (_METADATA,) if kind.render is not None else (_METADATA, _STATUS)
    return any(not column.source and column.path[0] not in beside for column in kind.columns)


def format_of(call: Call, *, streamed: bool = False) -> Format:
    """The format of the answer to a request; ``streamed``: of a watch, which knows JSON only.

    Raises NotAcceptable where the client takes nothing of what there is, and BadRequest for an ``includeObject`` that is none.
    """
    accept = call.accept
    if not accept:
        return _AS_JSON
    found, weight = None, 0.0
    for asked in ranges(accept):
        offered = _format_for(asked)
        if offered is not None and asked.weight > weight and not (streamed and offered.is_yaml):
            found, weight = offered, asked.weight
    if found is None:
        only = f"only the following media types are accepted: {JSON if streamed else _OFFERED}"
        raise NotAcceptable(f"{only}; the Accept header names none of them")
    return found if found.form is not Form.TABLE else Format(Form.TABLE, found.is_yaml, _include_object_policy(call), found.meta)


def _format_for(asked: MediaRange) -> Format | None:
    """What there is for a media range, where there is something."""
    if asked.name not in _ANY and asked.name not in (JSON, YAML):
        return None
    form = _FORMS.get(asked.parameters.get("as", ""))
    if form is Form.WHOLE:
        return Format(is_yaml=asked.name == YAML)
    meta = asked.parameters.get("v", "")
    if form is None or asked.parameters.get("g") != META_GROUP or meta not in _META_VERSIONS:
        return None
    return Format(form, asked.name == YAML, meta=meta)


def _include_object_policy(call: Call) -> IncludeObjectPolicy:
    text = call.query.get("includeObject", "")
    try:
        return IncludeObjectPolicy(text) if text else IncludeObjectPolicy.METADATA
    except ValueError as error:
        known = ", ".join(item.value for item in IncludeObjectPolicy)
        raise BadRequest(f"includeObject {text[:40]!r} is none of {known}") from error

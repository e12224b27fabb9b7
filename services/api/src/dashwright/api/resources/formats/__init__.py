"""Formats of objects in requests and responses: JSON and YAML; the complete object, a row of a table, or only the metadata.

A handler calls ``format_of`` first, so that a client that accepts no format is refused before anything is done. It passes the
format to ``object_response``, ``ListEncoder`` or the lines of a watch.
"""

from dashwright.api.resources.formats.encoding import (
    Item,
    ListEncoder,
    StoredItem,
    encode,
    encode_table,
    object_response,
    resource_version_of,
)
from dashwright.api.resources.formats.negotiation import (
    Format,
    IncludeObjectPolicy,
    Representation,
    format_of,
    media_type_of,
    read_apply_body,
    read_body,
)

__all__ = [
    "Format",
    "IncludeObjectPolicy",
    "Item",
    "ListEncoder",
    "Representation",
    "StoredItem",
    "encode",
    "encode_table",
    "format_of",
    "media_type_of",
    "object_response",
    "read_apply_body",
    "read_body",
    "resource_version_of",
]

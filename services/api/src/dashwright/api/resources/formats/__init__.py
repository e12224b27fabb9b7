"""Formats of objects in requests and responses: JSON and YAML; the whole object, a row of a table, or the metadata alone.

A handler calls ``format_of`` first, so that a client that accepts no format is refused before anything is done. It passes the
format to ``one``, ``ListEncoder`` or the lines of a watch.
"""

from dashwright.api.resources.formats.bodies import read_applied, read_body
from dashwright.api.resources.formats.encoding import Item, ListEncoder, encode, one, table, version_of
from dashwright.api.resources.formats.negotiation import Form, Format, IncludeObjectPolicy, format_of

__all__ = [
    "Form",
    "Format",
    "IncludeObjectPolicy",
    "Item",
    "ListEncoder",
    "encode",
    "format_of",
    "one",
    "read_applied",
    "read_body",
    "table",
    "version_of",
]

"""The formats that objects are answered in, and read from: JSON and YAML; whole, as the rows of a table, or their metadata alone.

A verb asks ``format_of`` before it does anything, since a client that takes none of them is refused, and hands what it found to ``one``,
``ListEncoder``, ``event`` or ``bookmark``.
"""

from dashwright.api.resources.formats.bodies import read_applied, read_body
from dashwright.api.resources.formats.events import bookmark, event
from dashwright.api.resources.formats.lists import ListEncoder, one
from dashwright.api.resources.formats.negotiation import Form, Format, IncludeObjectPolicy, format_of
from dashwright.api.resources.formats.parts import Item

__all__ = [
    "Form",
    "Format",
    "IncludeObjectPolicy",
    "Item",
    "ListEncoder",
    "bookmark",
    "event",
    "format_of",
    "one",
    "read_applied",
    "read_body",
]

"""The documents of a YAML file, separated by ``---``, as parts of its text. A change of one document leaves the others as they are."""

import re
from dataclasses import dataclass
from typing import Final

from dashwright.common.errors import Invalid

MAX_DOCUMENTS: Final = 1000
"""Limit on the documents of one file."""

_MARKER: Final = re.compile(r"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
"""A line that begins a document or ends one. YAML allows it nowhere else, not even in a string of several lines."""

_CONTENT: Final = re.compile(r"^[ \t]*[^\s#%]", re.MULTILINE)
"""The first character of a line that is neither empty nor a comment nor a directive."""

_CONTENT_AFTER_MARKER: Final = re.compile(r"[ \t]+[^\s#]")
"""Content in the line of the marker, as in ``--- {a: 1}``."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document of a file."""

    #: Position from 1.
    number: int
    #: Line of its first content, from 1.
    line: int
    #: Index in the text of the file at which the document begins, with the marker before it.
    start: int
    #: Index at which its content begins, after the marker.
    content_start: int
    #: Index of the next marker, or of the end of the text.
    end: int

    def content(self, text: str) -> str:
        """Return the content of the document in the text of its file."""
        return text[self.content_start : self.end]

    def padded_content(self, text: str) -> str:
        """Return the content at the same lines as in the file, so that a parser names these lines in errors."""
        return "\n" * text.count("\n", 0, self.content_start) + self.content(text)

    def replaced(self, text: str, content: str) -> str:
        """Return the text of the file with another content of this document. ``content`` must end in a line break."""
        has_marker = self.content_start > self.start
        return text[: self.content_start] + ("\n" if has_marker else "") + content + text[self.end :]

    def removed(self, text: str) -> str:
        """Return the text of the file without this document."""
        return text[: self.start] + text[self.end :]


def split_documents(text: str) -> list[YamlDocument]:
    """Return the documents of a text that have content. Takes time linear in the length of any text.

    Raises Invalid for more than ``MAX_DOCUMENTS`` documents.
    """
    # The first document needs no marker.
    markers = [(0, 0), *((match.start(), match.end()) for match in _MARKER.finditer(text))]
    ends = [start for start, _ in markers[1:]] + [len(text)]
    documents: list[YamlDocument] = []
    counted_until, line = 0, 1
    for (start, content_start), end in zip(markers, ends, strict=True):
        content = _CONTENT_AFTER_MARKER.match(text, content_start, end) or _CONTENT.search(text, content_start, end)
        if content is None:
            continue
        if len(documents) == MAX_DOCUMENTS:
            raise Invalid(f"more than {MAX_DOCUMENTS} documents in one file: split the file")
        # Only the line breaks since the previous document are counted, so that the time is linear.
        line += text.count("\n", counted_until, content.end())
        counted_until = content.end()
        documents.append(YamlDocument(len(documents) + 1, line, start, content_start, end))
    return documents

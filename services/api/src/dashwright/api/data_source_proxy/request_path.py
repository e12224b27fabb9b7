"""Path of a request that is forwarded to a data source.

A server may decode a path more than once, or resolve ``..`` in it. A path that could then name something else is refused, so the path
that was checked is the path that the data source serves.
"""

import re
from typing import Final
from urllib.parse import unquote

from dashwright.common.errors import BadRequest

_MAX_CHARACTERS: Final = 2_000
#: Characters that some servers treat as separators, or that begin another encoding.
_FORBIDDEN_CHARACTERS: Final = re.compile(r"[/\\%;?#\x00-\x1f\x7f]")


def path_segments(raw_path: str) -> list[str]:
    """Return the decoded segments of a percent-encoded path without a leading slash.

    Raises BadRequest for an empty or relative segment, and for a character that could change the meaning of the path.
    """
    if len(raw_path) > _MAX_CHARACTERS:
        raise BadRequest(f"the path for the data source has more than {_MAX_CHARACTERS} characters; put values into the query")
    segments = [_decoded(segment) for segment in raw_path.rstrip("/").split("/")]
    for segment in segments:
        if segment in ("", ".", "..") or _FORBIDDEN_CHARACTERS.search(segment):
            raise BadRequest(
                f"the path for the data source has the segment {segment!r:.80}; write a path without empty or relative segments, "
                "encoded separators and control characters"
            )
    return segments


def _decoded(segment: str) -> str:
    """Return a segment without its percent-encoding. Raises BadRequest if it is not UTF-8."""
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError as error:
        raise BadRequest("the path for the data source is not UTF-8; percent-encode it as UTF-8") from error

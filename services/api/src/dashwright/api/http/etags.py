"""Answers that a client may keep: their tags, and ``304 Not Modified`` for who has them already."""

import hashlib
from collections.abc import Mapping

from dashwright.api.http.call import Call
from dashwright.api.http.response import JSON, Response


def entity_tag(body: bytes) -> str:
    """The tag of a text: equal for equal texts only."""
    return hashlib.sha256(body).hexdigest()[:32]


def tagged(call: Call, body: bytes, tag: str, headers: Mapping[str, str], content_type: str = JSON) -> Response:
    """The body with its tag, or nothing where the client names the tag as one that it has.

    The tag is a weak one: it is that of the text, in whatever coding the text is sent.
    """
    quoted = f'"{tag}"'
    known = {part.strip().removeprefix("W/") for part in ",".join(call.headers.getall("If-None-Match", ())).split(",")}
    headers = {**headers, "ETag": f"W/{quoted}"}
    return Response(304, b"", headers=headers) if known & {quoted, "*"} else Response(200, body, content_type, headers, may_compress=True)

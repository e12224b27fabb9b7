"""Responses with entity tags, and ``304 Not Modified`` for clients that have the current body."""

import hashlib
from collections.abc import Mapping

from dashwright.api.http.call import Call
from dashwright.api.http.response import JSON, Response


def entity_tag(body: bytes) -> str:
    """Return the tag of a body: 32 hexadecimal digits, equal for equal bodies only."""
    return hashlib.sha256(body).hexdigest()[:32]


def tagged(call: Call, body: bytes, tag: str, headers: Mapping[str, str], content_type: str = JSON) -> Response:
    """Return the body with its tag, or 304 if the client's ``If-None-Match`` names the tag.

    The tag is weak, since it is the same for every content coding of the body.
    """
    quoted = f'"{tag}"'
    known = {part.strip().removeprefix("W/") for part in ",".join(call.headers.getall("If-None-Match", ())).split(",")}
    headers = {**headers, "ETag": f"W/{quoted}"}
    return Response(304, b"", headers=headers) if known & {quoted, "*"} else Response(200, body, content_type, headers, may_compress=True)

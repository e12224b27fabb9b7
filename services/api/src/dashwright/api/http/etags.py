"""Responses with entity tags, and ``304 Not Modified`` for clients that have the current body."""

import hashlib
from collections.abc import Mapping

from dashwright.api.http.call import Call
from dashwright.api.http.response import JSON, Response


def entity_tag(body: bytes) -> str:
    """Return the tag of a body: 32 hexadecimal digits of its SHA-256 hash."""
    return hashlib.sha256(body).hexdigest()[:32]


def tagged_response(call: Call, body: bytes, tag: str, headers: Mapping[str, str], content_type: str = JSON) -> Response:
    """Return a response with the body and its tag, or 304 if the client's ``If-None-Match`` names the tag.

    The tag is weak, since it is the same for every content coding of the body.
    """
    quoted_tag = f'"{tag}"'
    header = ",".join(call.headers.getall("If-None-Match", ()))
    client_tags = {client_tag.strip().removeprefix("W/") for client_tag in header.split(",")}
    headers = {**headers, "ETag": f"W/{quoted_tag}"}
    return (
        Response(304, b"", headers=headers)
        if client_tags & {quoted_tag, "*"}
        else Response(200, body, content_type, headers, may_compress=True)
    )

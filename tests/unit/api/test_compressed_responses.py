"""Compressed responses: which coding is used, and which responses are not compressed."""

import zlib
from collections.abc import AsyncIterator

import pytest

from dashwright.api.http.call import Call
from dashwright.api.http.compression import MIN_BYTES, preferred_coding, zstd
from dashwright.api.http.response import Response
from dashwright.api.http.routing import PUBLIC, Route

from .conftest import Serve

TEXT = b"0123456789" * MIN_BYTES
#: Decompression by coding. zlib reads the format of gzip if 16 is added to the size of the window.
UNPACK = {"gzip": lambda packed: zlib.decompress(packed, 16 + zlib.MAX_WBITS), "zstd": zstd.decompress}


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        ("", None),
        ("identity", None),
        ("br, deflate", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("zstd", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, zstd;q=0.5", "gzip"),
        ("gzip;q=0, zstd;q=0", None),
        ("*", "zstd"),
        ("*;q=0", None),
        ("zstd;q=0, *", "gzip"),
        ("gzip;q=x", None),
    ],
)
def test_the_preferred_coding_is_used(accept: str, coding: str | None) -> None:
    """The coding is the one with the client's highest weight. Of equal weights, zstd is preferred, since it costs less.

    The coding is None if no supported one is acceptable.
    """
    assert preferred_coding(accept) == coding


def route(response: Response) -> list[Route]:
    """Return a public route with a fixed response."""

    async def handle(_: Call) -> Response:
        return response

    return [Route("GET", "/api/text", handle, PUBLIC)]


async def pieces() -> AsyncIterator[bytes]:
    """Yield the text in chunks."""
    for start in range(0, len(TEXT), 3000):
        yield TEXT[start : start + 3000]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
async def test_the_complete_body_is_compressed(serve: Serve, coding: str, *, is_streamed: bool) -> None:
    """A whole or streamed body is compressed and complete, and ``Accept-Encoding`` is added to the header ``Vary``."""
    response = Response(200, pieces() if is_streamed else TEXT, "text/plain", {"Vary": "Accept"}, may_compress=True)
    client = (await serve(route(response))).client
    async with client.get("/api/text", headers={"Accept-Encoding": coding}, auto_decompress=False) as received:
        packed = await received.read()
        assert received.headers["Content-Encoding"] == coding
        assert received.headers["Vary"] == "Accept, Accept-Encoding"
    assert len(packed) < len(TEXT) / 10
    assert UNPACK[coding](packed) == TEXT


@pytest.mark.parametrize(
    ("response", "accept", "varies"),
    [
        pytest.param(Response(200, TEXT, "text/plain"), "gzip", False, id="not to be compressed"),
        pytest.param(Response(200, TEXT[: MIN_BYTES - 1], "text/plain", may_compress=True), "gzip", True, id="short"),
        pytest.param(Response(200, TEXT, "text/plain", may_compress=True), "br", True, id="no common coding"),
        pytest.param(Response(304, may_compress=True), "gzip", True, id="empty"),
    ],
)
async def test_other_responses_are_unchanged(serve: Serve, response: Response, accept: str, *, varies: bool) -> None:
    """Small responses, empty ones, and those that may not be compressed or have no common coding are unchanged."""
    client = (await serve(route(response))).client
    async with client.get("/api/text", headers={"Accept-Encoding": accept}, auto_decompress=False) as received:
        assert await received.read() == response.body
        assert "Content-Encoding" not in received.headers
        assert ("Vary" in received.headers) is varies


async def test_a_compressed_stream_is_closed_with_its_source(serve: Serve) -> None:
    """A failure of the source aborts the connection, and the source is closed."""
    closed = []

    async def broken_source() -> AsyncIterator[bytes]:
        try:
            yield TEXT
            raise ValueError("of the source")
        finally:
            closed.append(True)

    client = (await serve(route(Response(200, broken_source(), "text/plain", may_compress=True)))).client
    with pytest.raises(Exception, match=r"payload|disconnected"):
        async with client.get("/api/text", headers={"Accept-Encoding": "gzip"}, auto_decompress=False) as response:
            await response.read()
    assert closed

"""Compression of responses, complete or chunk by chunk. zstd is from the standard library (Python 3.14+) or backports.zstd."""

import asyncio
import sys
import zlib
from collections.abc import AsyncIterator
from typing import Final, Protocol

from dashwright.api.http.response import Response, StreamedBody
from dashwright.api.http.streaming import close_body
from dashwright.common.media import ranges

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# Other modules import ``zstd`` from this module, so that only one chooses between the two packages.
__all__ = ["MIN_BYTES", "compress_response", "preferred_coding", "zstd"]

MIN_BYTES: Final = 1024
"""Minimum size in bytes of a body that is compressed. Compression of a smaller body saves nothing."""

_THREAD_MIN_BYTES: Final = 64 * 1024
"""Minimum size in bytes of a chunk that is compressed in a thread. On the event loop it would delay other requests."""

_CODINGS_BY_PREFERENCE: Final = ("zstd", "gzip")
"""The available codings, the preferred one first."""
_LEVEL: Final = 1
"""Level of both codings: the fastest of gzip, and nearly the fastest of zstd."""
_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS
"""Window bits that select the gzip format in zlib."""


class _Compressor(Protocol):
    """A compressor of one body. It may keep data back until the next chunk or ``flush``."""

    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


async def compress_response(response: Response, accept_encoding: str) -> Response:
    """Return a response compressed with the coding that an ``Accept-Encoding`` header prefers, or uncompressed.

    The returned response has ``Vary: Accept-Encoding`` in both cases.
    """
    # An uncompressed response has the header, too, since caches must store a copy for each coding.
    vary = ", ".join(filter(None, (response.headers.get("Vary", ""), "Accept-Encoding")))
    response = response._replace(headers={**response.headers, "Vary": vary})
    coding = preferred_coding(accept_encoding)
    if coding is None or (isinstance(response.body, bytes) and len(response.body) < MIN_BYTES):
        return response
    compressor, headers = _new_compressor(coding), {**response.headers, "Content-Encoding": coding}
    if not isinstance(response.body, bytes):
        return response._replace(body=_compress_chunks(compressor, response.body), headers=headers)
    return response._replace(body=await _compress_chunk(compressor, response.body) + compressor.flush(), headers=headers)


def preferred_coding(accept_encoding: str) -> str | None:
    """Return the available coding that a client prefers, or None if it accepts none of them."""
    weights = {item.name: item.weight for item in ranges(accept_encoding)} if accept_encoding else {}
    default_weight = weights.get("*", 0.0)
    # ``max`` returns the first of equal weights, so the order of the codings decides.
    preferred = max(_CODINGS_BY_PREFERENCE, key=lambda coding: weights.get(coding, default_weight))
    return preferred if weights.get(preferred, default_weight) > 0 else None


def _new_compressor(coding: str) -> _Compressor:
    return zstd.ZstdCompressor(level=_LEVEL) if coding == "zstd" else zlib.compressobj(_LEVEL, wbits=_GZIP_WBITS)


async def _compress_chunk(compressor: _Compressor, chunk: bytes) -> bytes:
    return compressor.compress(chunk) if len(chunk) < _THREAD_MIN_BYTES else await asyncio.to_thread(compressor.compress, chunk)


async def _compress_chunks(compressor: _Compressor, body: StreamedBody) -> AsyncIterator[bytes]:
    """Yield the compressed data of a body, and close the body at the end."""
    try:
        async for chunk in body:
            if data := await _compress_chunk(compressor, chunk):
                yield data
        yield compressor.flush()
    finally:
        await close_body(body)

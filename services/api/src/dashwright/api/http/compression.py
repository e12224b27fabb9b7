"""Compression of responses, whole or piece by piece. zstd is from the standard library (Python 3.14+), else backports.zstd."""

import asyncio
import sys
import zlib
from collections.abc import AsyncIterator
from typing import Final, Protocol

from dashwright.api.http.response import Response, StreamedBody
from dashwright.common.media import ranges

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["LEAST", "compressed", "preferred_coding", "zstd"]

LEAST: Final = 1024
"""Bytes of the smallest body that is compressed; below, it saves nothing."""

_NOTICED: Final = 64 * 1024
"""Bytes from which compression runs in a thread: on the event loop it would delay other requests noticeably."""

_PREFERRED: Final = ("zstd", "gzip")
_LEVEL: Final = 1
_GZIP: Final = 16 + zlib.MAX_WBITS


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


async def compressed(response: Response, accept: str) -> Response:
    """Return a response in the coding that an ``Accept-Encoding`` header prefers, or unchanged but for its ``Vary`` header."""
    # Caches must keep the variants apart, whichever is sent now.
    vary = ", ".join(filter(None, (response.headers.get("Vary", ""), "Accept-Encoding")))
    response = response._replace(headers={**response.headers, "Vary": vary})
    coding = preferred_coding(accept)
    if coding is None or (isinstance(response.body, bytes) and len(response.body) < LEAST):
        return response
    packer, headers = _packer(coding), {**response.headers, "Content-Encoding": coding}
    if not isinstance(response.body, bytes):
        return response._replace(body=_pieces(packer, response.body), headers=headers)
    return response._replace(body=await _packed(packer, response.body) + packer.flush(), headers=headers)


def preferred_coding(accept: str) -> str | None:
    """Return the available coding that a client prefers, or None if it accepts none of them."""
    weights = {item.name: item.weight for item in ranges(accept)} if accept else {}
    rest = weights.get("*", 0.0)
    best = max(_PREFERRED, key=lambda coding: weights.get(coding, rest))
    return best if weights.get(best, rest) > 0 else None


def _packer(coding: str) -> _Packer:
    return zstd.ZstdCompressor(level=_LEVEL) if coding == "zstd" else zlib.compressobj(_LEVEL, wbits=_GZIP)


async def _packed(packer: _Packer, piece: bytes) -> bytes:
    return packer.compress(piece) if len(piece) < _NOTICED else await asyncio.to_thread(packer.compress, piece)


async def _pieces(packer: _Packer, body: StreamedBody) -> AsyncIterator[bytes]:
    try:
        async for piece in body:
            if packed := await _packed(packer, piece):
                yield packed
        yield packer.flush()
    finally:
        close = getattr(body, "aclose", None)
        if close is not None:
            await close()

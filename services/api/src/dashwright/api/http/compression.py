"""Answers compressed for clients that ask for it: whole where they are whole, piece by piece where they come in pieces."""

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

__all__ = ["LEAST", "coding_of", "compressed", "zstd"]

LEAST: Final = 1024
"""Bytes of a body below which nothing is gained."""

_NOTICED: Final = 64 * 1024
"""Bytes whose compression is noticed by others."""

_PREFERRED: Final = ("zstd", "gzip")
_LEVEL: Final = 1
_GZIP: Final = 16 + zlib.MAX_WBITS


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


async def compressed(answer: Response, accept: str) -> Response:
    """An answer that may be compressed, in the coding that an ``Accept-Encoding`` header likes best of those there are, or as it is.

    It says that it depends on the header, whatever becomes of it.
    """
    vary = ", ".join(filter(None, (answer.headers.get("Vary", ""), "Accept-Encoding")))
    answer = answer._replace(headers={**answer.headers, "Vary": vary})
    coding = coding_of(accept)
    if coding is None or (isinstance(answer.body, bytes) and len(answer.body) < LEAST):
        return answer
    packer, headers = _packer(coding), {**answer.headers, "Content-Encoding": coding}
    if not isinstance(answer.body, bytes):
        return answer._replace(body=_pieces(packer, answer.body), headers=headers)
    return answer._replace(body=await _packed(packer, answer.body) + packer.flush(), headers=headers)


def coding_of(accept: str) -> str | None:
    """The coding that a client likes best; None where it takes none of those there are."""
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

"""Bodies that were sent compressed, unpacked a bounded piece at a time.

The listener leaves them packed: whether a coding is understood is a question of those who read a body, not of the request's head.
"""

import zlib
from typing import Final, Protocol

from dashwright.api.http.zstd import zstd

CODINGS: Final = frozenset({"gzip", "deflate", "zstd"})
FAULTS: Final = (zlib.error, zstd.ZstdError)
"""What is raised for bytes that are not in a coding."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_ZLIB, _RAW = zlib.MAX_WBITS, -zlib.MAX_WBITS
_METHOD: Final = 8
"""The low half of the first byte of zlib's own frame, which some clients leave out of ``deflate``."""

_LARGEST_WINDOW: Final = {int(zstd.DecompressionParameter.window_log_max): 25}
"""32 MiB: as much is set aside for a frame that says it needs it, before any of it has come."""


class _Stream(Protocol):
    """One frame, or member."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Unpacker:
    """Undoes one of CODINGS. Raises one of FAULTS for what is not in it."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._stream: _Stream | None = None

    def unpack(self, piece: bytes, most: int) -> bytes:
        """What the next piece holds, ``most`` bytes of it at most: whoever gets as many has not got all, and is not to go on."""
        unpacked = bytearray()
        while piece and len(unpacked) < most:
            if self._stream is None or self._stream.eof:
                self._stream = self._begin(piece)
            unpacked += self._stream.decompress(piece, most - len(unpacked))
            piece = self._stream.unused_data
        return bytes(unpacked)

    @property
    def is_complete(self) -> bool:
        """Whether nothing more is needed to unpack what came so far."""
        return self._stream is None or self._stream.eof

    def _begin(self, piece: bytes) -> _Stream:
        if self._coding == "zstd":
            return zstd.ZstdDecompressor(options=_LARGEST_WINDOW)
        if self._coding == "gzip":
            return zlib.decompressobj(_GZIP)
        return zlib.decompressobj(_ZLIB if piece[0] & 0x0F == _METHOD else _RAW)

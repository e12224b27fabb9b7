"""Bodies that were sent compressed, unpacked a bounded piece at a time.

The listener leaves them packed: whether a coding is understood is a question of those who read a body, not of the request's head.
"""

import zlib
from typing import Final

CODINGS: Final = frozenset({"gzip", "deflate"})

_GZIP: Final = 16 + zlib.MAX_WBITS
_ZLIB, _RAW = zlib.MAX_WBITS, -zlib.MAX_WBITS
_METHOD: Final = 8
"""The low half of the first byte of zlib's own frame, which some clients leave out of ``deflate``."""


class Unpacker:
    """Undoes one of CODINGS. Raises zlib.error for what is not in it."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._stream: zlib._Decompress | None = None

    def unpack(self, piece: bytes, most: int) -> bytes:
        """What the next piece holds, ``most`` bytes of it at most: whoever gets as many has not got all, and is not to go on."""
        unpacked = bytearray()
        while piece and len(unpacked) < most:
            if self._stream is None or self._stream.eof:
                self._stream = zlib.decompressobj(self._window(piece))
            unpacked += self._stream.decompress(piece, most - len(unpacked))
            piece = self._stream.unused_data
        return bytes(unpacked)

    @property
    def is_complete(self) -> bool:
        """Whether nothing more is needed to unpack what came so far."""
        return self._stream is None or self._stream.eof

    def _window(self, piece: bytes) -> int:
        if self._coding == "gzip":
            return _GZIP
        return _ZLIB if piece[0] & 0x0F == _METHOD else _RAW

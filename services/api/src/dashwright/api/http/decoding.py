"""Decompression of request bodies in bounded steps.

The listener leaves bodies compressed: a coding that is not supported is an error only for a handler that reads the body.
"""

import zlib
from collections.abc import Iterator
from typing import Final, Protocol

from dashwright.api.http.compression import zstd
from dashwright.common.errors import BadRequest

CODINGS: Final = frozenset({"gzip", "deflate", "zstd"})
FAULTS: Final = (zlib.error, zstd.ZstdError)
"""The exceptions raised for bytes that are invalid in their coding."""

MOST_FRAMES: Final = 16
"""Frames, or gzip members, of one body. Each costs a new decompressor, however little data it has."""

TAKEN: Final = 16 * 1024
"""Compressed bytes of one step."""
STEP: Final = 128 * 1024
"""Decompressed bytes of one step."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_ZLIB, _RAW = zlib.MAX_WBITS, -zlib.MAX_WBITS
_METHOD: Final = 8
"""The low half of the first byte of a zlib frame, which some clients omit in ``deflate``."""

_SKIPPABLE: Final = range(0x50, 0x60)
"""First bytes of a zstd frame without data."""

_LARGEST_WINDOW: Final = {int(zstd.DecompressionParameter.window_log_max): 25}
"""Largest zstd window, 32 MiB: the decompressor allocates the window that a frame declares before any of its data is read."""


class _Stream(Protocol):
    """A decompressor of one frame, or gzip member. It keeps input that it has not decompressed yet."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _ZlibStream:
    """A member in one of the three formats of zlib."""

    def __init__(self, form: int) -> None:
        self._member = zlib.decompressobj(form)

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._member.decompress(self._member.unconsumed_tail + data, max_length)


class Unpacker:
    """A decompressor for a body in one of CODINGS. It raises one of FAULTS for invalid data, and BadRequest for too many frames."""

    def __init__(self, coding: str) -> None:
        """Create a decompressor for ``coding``."""
        self._coding = coding
        self._stream: _Stream | None = None
        self._frames = 0

    def unpack(self, piece: bytes) -> Iterator[bytes]:
        """Yield the decompressed data of the next piece, in steps of about a millisecond.

        Give other tasks their turn between the steps, and stop iterating when the data exceeds the limit.
        """
        is_full = False
        while piece or is_full:
            if self._stream is None or self._stream.eof:
                self._stream = self._begin(piece[0])
            taken = 0 if is_full else TAKEN
            unpacked = self._stream.decompress(piece[:taken], STEP)
            is_full = len(unpacked) == STEP and not self._stream.eof
            piece = self._stream.unused_data + piece[taken:]
            yield unpacked

    @property
    def is_complete(self) -> bool:
        """True if the input so far ends with a complete frame."""
        return self._stream is None or self._stream.eof

    def _begin(self, first: int) -> _Stream:
        self._frames += 1
        if self._frames > MOST_FRAMES:
            raise BadRequest(f"The body is more than {MOST_FRAMES} frames of {self._coding}, one after the other; send it as one")
        if self._coding == "gzip":
            return _ZlibStream(_GZIP)
        if self._coding == "deflate":
            return _ZlibStream(_ZLIB if first & 0x0F == _METHOD else _RAW)
        if first in _SKIPPABLE:
            raise BadRequest("The body has a skippable frame of zstd, which holds no data; leave it out")
        return zstd.ZstdDecompressor(options=_LARGEST_WINDOW)

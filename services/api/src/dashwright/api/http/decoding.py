"""Decompression of request bodies in bounded steps.

The listener leaves bodies compressed: a coding that is not supported is an error only for a handler that reads the body.
"""

import zlib
from collections.abc import Iterator
from typing import Final, Protocol

from dashwright.api.http.compression import zstd
from dashwright.common.errors import BadRequest

SUPPORTED_CODINGS: Final = frozenset({"gzip", "deflate", "zstd"})
DECOMPRESSION_ERRORS: Final = (zlib.error, zstd.ZstdError)
"""The exceptions raised for bytes that are invalid in their coding."""

MAX_FRAMES: Final = 16
"""Largest number of frames, or gzip members, of one body. Each needs a new decompressor, even for little data."""

INPUT_STEP_BYTES: Final = 16 * 1024
"""Largest number of compressed bytes of one step."""
OUTPUT_STEP_BYTES: Final = 128 * 1024
"""Largest number of decompressed bytes of one step."""

_GZIP_WBITS: Final = 16 + zlib.MAX_WBITS
_ZLIB_WBITS: Final = zlib.MAX_WBITS
_RAW_WBITS: Final = -zlib.MAX_WBITS
"""zlib selects the format by these numbers: gzip by an added 16, and deflate without a header by the sign."""
_DEFLATE_METHOD: Final = 8
"""The low half of the first byte of a zlib header. Some clients send ``deflate`` without that header."""

_SKIPPABLE_FRAME_BYTES: Final = range(0x50, 0x60)
"""First bytes of a zstd frame without data."""

_ZSTD_OPTIONS: Final = {int(zstd.DecompressionParameter.window_log_max): 25}
"""Limit on the zstd window: 2 to the power of 25 bytes, which is 32 MiB.

A frame declares its window, and the decompressor allocates it before it reads any data.
"""


class _FrameDecompressor(Protocol):
    """A decompressor of one frame, or gzip member. It keeps input that it has not decompressed yet."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _ZlibDecompressor:
    """A decompressor of one member in a format of zlib: gzip, zlib or raw deflate."""

    def __init__(self, wbits: int) -> None:
        self._member = zlib.decompressobj(wbits)

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        # zlib returns the input beyond ``max_length``, whereas zstd keeps it in the decompressor.
        return self._member.decompress(self._member.unconsumed_tail + data, max_length)


class Decompressor:
    """A decompressor for a body in one of SUPPORTED_CODINGS.

    It raises one of DECOMPRESSION_ERRORS for invalid data, and BadRequest for too many frames.
    """

    def __init__(self, coding: str) -> None:
        """Create a decompressor for ``coding``."""
        self._coding = coding
        self._frame: _FrameDecompressor | None = None
        self._frame_count = 0

    def decompress(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the decompressed data of the next chunk, in steps of about a millisecond.

        The caller should let other tasks run between the steps, and stop iterating when the data exceeds its limit.
        """
        has_more_output = False
        while chunk or has_more_output:
            if self._frame is None or self._frame.eof:
                self._frame = self._begin_frame(chunk[0])
            # The remaining output needs no new input, which the decompressor would have to store.
            step_bytes = 0 if has_more_output else INPUT_STEP_BYTES
            data = self._frame.decompress(chunk[:step_bytes], OUTPUT_STEP_BYTES)
            # A step that fills the output limit may have left data in the decompressor.
            has_more_output = len(data) == OUTPUT_STEP_BYTES and not self._frame.eof
            chunk = self._frame.unused_data + chunk[step_bytes:]
            yield data

    @property
    def is_complete(self) -> bool:
        """True if the input so far ends with a complete frame."""
        return self._frame is None or self._frame.eof

    def _begin_frame(self, first_byte: int) -> _FrameDecompressor:
        """Return the decompressor for the next frame. Raises BadRequest for too many frames, and for one without data."""
        self._frame_count += 1
        if self._frame_count > MAX_FRAMES:
            raise BadRequest(f"The body is more than {MAX_FRAMES} frames of {self._coding}, one after the other; send it as one")
        if self._coding == "gzip":
            return _ZlibDecompressor(_GZIP_WBITS)
        if self._coding == "deflate":
            return _ZlibDecompressor(_ZLIB_WBITS if first_byte & 0x0F == _DEFLATE_METHOD else _RAW_WBITS)
        if first_byte in _SKIPPABLE_FRAME_BYTES:
            raise BadRequest("The body has a skippable frame of zstd, which holds no data; leave it out")
        return zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)

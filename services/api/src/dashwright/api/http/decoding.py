"""Bodies that were sent compressed, unpacked a bounded piece at a time.

The listener leaves them packed: whether a coding is understood is a question of those who read a body, not of the request's head.
"""

import zlib
from collections.abc import Iterator
from typing import Final, Protocol

from dashwright.api.http.compression import zstd
from dashwright.common.errors import BadRequest

CODINGS: Final = frozenset({"gzip", "deflate", "zstd"})
FAULTS: Final = (zlib.error, zstd.ZstdError)
"""What is raised for bytes that are not in a coding."""

MOST_FRAMES: Final = 16
"""Frames, or members, of one body: each costs the making of a decompressor, however little it holds."""

TAKEN: Final = 16 * 1024
"""Bytes that are unpacked at once."""
STEP: Final = 128 * 1024
"""Bytes that come out at once."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_ZLIB, _RAW = zlib.MAX_WBITS, -zlib.MAX_WBITS
_METHOD: Final = 8
"""The low half of the first byte of zlib's own frame, which some clients leave out of ``deflate``."""

_SKIPPABLE: Final = range(0x50, 0x60)
"""The first byte of a zstd frame that holds no data."""

_LARGEST_WINDOW: Final = {int(zstd.DecompressionParameter.window_log_max): 25}
"""32 MiB: as much is set aside for a frame that says it needs it, before any of it has come."""


class _Stream(Protocol):
    """One frame, or member. It keeps what it was given and has not unpacked."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Deflated:
    """A member in one of zlib's three forms."""

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
    """Undoes one of CODINGS. Raises one of FAULTS for what is not in it, and BadRequest for a body that is cut too small."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._stream: _Stream | None = None
        self._frames = 0

    def unpack(self, piece: bytes) -> Iterator[bytes]:
        """What the next piece holds, in steps of little work: whoever shares a thread lets others have their turn between them.

        Whoever has got more than they take is not to go on.
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
        """Whether nothing more is needed to unpack what came so far."""
        return self._stream is None or self._stream.eof

    def _begin(self, first: int) -> _Stream:
        self._frames += 1
        if self._frames > MOST_FRAMES:
            raise BadRequest(f"The body is more than {MOST_FRAMES} frames of {self._coding}, one after the other; send it as one")
        if self._coding == "gzip":
            return _Deflated(_GZIP)
        if self._coding == "deflate":
            return _Deflated(_ZLIB if first & 0x0F == _METHOD else _RAW)
        if first in _SKIPPABLE:
            raise BadRequest("The body has a skippable frame of zstd, which holds no data; leave it out")
        return zstd.ZstdDecompressor(options=_LARGEST_WINDOW)

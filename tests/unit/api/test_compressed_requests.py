"""Compressed request bodies: a body is restored from any chunks and frames, in steps of bounded size."""

import gzip
import random
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.http.compression import zstd
from dashwright.api.http.decoding import DECOMPRESSION_ERRORS, INPUT_STEP_BYTES, MAX_FRAMES, OUTPUT_STEP_BYTES, Decompressor
from dashwright.common.errors import BadRequest

Compress = Callable[[bytes], bytes]


def deflate_without_header(data: bytes) -> bytes:
    """Return data as a raw deflate stream, which some clients send instead of the zlib format of RFC 9110."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


CODINGS = [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", deflate_without_header), ("zstd", zstd.compress)]


@pytest.mark.parametrize(("coding", "pack"), CODINGS, ids=["gzip", "zlib", "raw", "zstd"])
@given(data=st.binary(max_size=300), size=st.integers(1, 40))
def test_decompression_restores_the_body(coding: str, pack: Compress, data: bytes, size: int) -> None:
    """A body in chunks of any size is restored, and is complete after the last chunk and not before."""
    decompressor, packed = Decompressor(coding), pack(data)
    unpacked = b""
    for start in range(0, len(packed), size):
        # Without any input, a body is complete, too.
        assert start == 0 or not decompressor.is_complete
        unpacked += b"".join(decompressor.decompress(packed[start : start + size]))
    assert unpacked == data
    assert decompressor.is_complete


# The codings whose format permits several compressed members, or frames, in sequence.
WITH_FRAMED_CODINGS = pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("zstd", zstd.compress)], ids=["gzip", "zstd"])


@WITH_FRAMED_CODINGS
def test_a_body_may_have_several_members(coding: str, pack: Compress) -> None:
    """A body may consist of several compressed members, as command line tools write them."""
    assert b"".join(Decompressor(coding).decompress(pack(b"a") + pack(b"b"))) == b"ab"


@pytest.mark.parametrize(("coding", "pack"), CODINGS, ids=["gzip", "zlib", "raw", "zstd"])
@pytest.mark.parametrize("size", [0, 1, OUTPUT_STEP_BYTES - 1, OUTPUT_STEP_BYTES, OUTPUT_STEP_BYTES + 1, 10**7])
def test_a_large_piece_is_decompressed_in_small_steps(coding: str, pack: Compress, size: int) -> None:
    """A large piece is decompressed completely, in steps of at most ``OUTPUT_STEP_BYTES``."""
    # Up to 300 kB of incompressible data, then zeros, which need little input for much output.
    data = random.Random(1).randbytes(min(size, 300_000)).ljust(size, b"\0")
    steps = list(Decompressor(coding).decompress(pack(data)))
    assert max(map(len, steps)) <= OUTPUT_STEP_BYTES
    assert b"".join(steps) == data


@WITH_FRAMED_CODINGS
def test_input_is_read_in_small_steps(coding: str, pack: Compress) -> None:
    """Incompressible data is read in steps of ``INPUT_STEP_BYTES``, even after many empty frames."""
    packed = pack(b"") * (MAX_FRAMES - 1) + pack(random.Random(1).randbytes(300_000))
    assert len(list(Decompressor(coding).decompress(packed))) >= 300_000 // INPUT_STEP_BYTES


@pytest.mark.parametrize(("coding", "pack"), CODINGS, ids=["gzip", "zlib", "raw", "zstd"])
def test_a_body_of_many_frames_is_refused(coding: str, pack: Compress) -> None:
    """A body of many empty frames is refused, in one piece or several, because each frame needs a new decompressor."""
    decompressor, packed = Decompressor(coding), pack(b"")
    assert b"".join(decompressor.decompress(packed * MAX_FRAMES)) == b""
    with pytest.raises(BadRequest, match=f"more than {MAX_FRAMES} frames of {coding}"):
        list(decompressor.decompress(packed))


def test_skippable_frames_are_refused() -> None:
    """Zstandard's skippable frames are refused, at the start or later, because they may have any length and contain no data."""
    # The magic number of a skippable frame, and the length 0.
    skippable = bytes.fromhex("502A4D1800000000")
    for packed in (skippable, zstd.compress(b"a") + skippable):
        with pytest.raises(BadRequest, match="skippable"):
            list(Decompressor("zstd").decompress(packed))


@WITH_FRAMED_CODINGS
def test_invalid_data_is_rejected(coding: str, pack: Compress) -> None:
    """Invalid data is rejected, also after valid data."""
    for packed in (b"garbage", pack(b"a") + b"garbage"):
        with pytest.raises(DECOMPRESSION_ERRORS):
            list(Decompressor(coding).decompress(packed))


def test_a_frame_that_needs_much_memory_is_refused() -> None:
    """A frame that declares a window of 64 MiB is refused, because this memory would be allocated for a few bytes."""
    # 2**26 bytes are 64 MiB. Without the size of the content, a decompressor has to allocate the whole window.
    parameters = {int(zstd.CompressionParameter.window_log): 26, int(zstd.CompressionParameter.content_size_flag): 0}
    packer = zstd.ZstdCompressor(options=parameters)
    with pytest.raises(DECOMPRESSION_ERRORS):
        list(Decompressor("zstd").decompress(packer.compress(b"a") + packer.flush()))

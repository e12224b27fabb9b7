"""Bodies sent compressed: what comes out, however they are cut and framed, and that no more comes out than is taken."""

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.http.decoding import FAULTS, Unpacker
from dashwright.api.http.zstd import zstd

Pack = Callable[[bytes], bytes]


def raw(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED = [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw), ("zstd", zstd.compress)]


@pytest.mark.parametrize(("coding", "pack"), PACKED, ids=["gzip", "zlib", "raw", "zstd"])
@given(data=st.binary(max_size=300), size=st.integers(1, 40))
def test_what_went_in_comes_out(coding: str, pack: Pack, data: bytes, size: int) -> None:
    """In pieces of any size; it is complete at the last of them, and not before."""
    unpacker, packed = Unpacker(coding), pack(data)
    unpacked = b""
    for start in range(0, len(packed), size):
        assert start == 0 or not unpacker.is_complete
        unpacked += unpacker.unpack(packed[start : start + size], 1000)
    assert (unpacked, unpacker.is_complete) == (data, True)


FRAMED = pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("zstd", zstd.compress)], ids=["gzip", "zstd"])


@FRAMED
def test_members_follow_one_another(coding: str, pack: Pack) -> None:
    """A body may be several, one after the other, as command line tools make them."""
    assert Unpacker(coding).unpack(pack(b"a") + pack(b"b"), 100) == b"ab"


@FRAMED
def test_a_small_bomb_stays_small(coding: str, pack: Pack) -> None:
    """No more than asked for is unpacked, whatever a piece holds, and however many members."""
    assert len(Unpacker(coding).unpack(pack(bytes(10**7)) * 3, 101)) == 101


@FRAMED
def test_what_is_in_no_coding_is_refused(coding: str, pack: Pack) -> None:
    """Also behind what is."""
    for packed in (b"garbage", pack(b"a") + b"garbage"):
        with pytest.raises(FAULTS):
            Unpacker(coding).unpack(packed, 100)


def test_a_frame_that_wants_much_memory_is_refused() -> None:
    """A window of 64 MiB would be set aside for a few bytes."""
    parameters = {int(zstd.CompressionParameter.window_log): 26, int(zstd.CompressionParameter.content_size_flag): 0}
    packer = zstd.ZstdCompressor(options=parameters)
    with pytest.raises(FAULTS):
        Unpacker("zstd").unpack(packer.compress(b"a") + packer.flush(), 100)

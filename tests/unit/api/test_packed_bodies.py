"""Bodies sent compressed: what comes out, however they are cut and framed, and that no more comes out than is taken."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.http.decoding import Unpacker


def raw(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED = [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw)]


@pytest.mark.parametrize(("coding", "pack"), PACKED, ids=["gzip", "zlib", "raw"])
@given(data=st.binary(max_size=300), size=st.integers(1, 40))
def test_what_went_in_comes_out(coding: str, pack: type[bytes], data: bytes, size: int) -> None:
    """In pieces of any size; it is complete at the last of them, and not before."""
    unpacker, packed = Unpacker(coding), pack(data)
    unpacked = b""
    for start in range(0, len(packed), size):
        assert start == 0 or not unpacker.is_complete
        unpacked += unpacker.unpack(packed[start : start + size], 1000)
    assert (unpacked, unpacker.is_complete) == (data, True)


def test_members_follow_one_another() -> None:
    """A gzip body may be several, one after the other, as command line tools make them."""
    assert Unpacker("gzip").unpack(gzip.compress(b"a") + gzip.compress(b"b"), 100) == b"ab"


def test_a_small_bomb_stays_small() -> None:
    """No more than asked for is unpacked, whatever a piece holds, and however many members."""
    assert len(Unpacker("gzip").unpack(gzip.compress(bytes(10**7)) * 3, 101)) == 101


def test_what_is_in_no_coding_is_refused() -> None:
    """Also behind what is."""
    for packed in (b"garbage", gzip.compress(b"a") + b"garbage"):
        with pytest.raises(zlib.error):
            Unpacker("gzip").unpack(packed, 100)

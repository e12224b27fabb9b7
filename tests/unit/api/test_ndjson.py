"""Lines of newline-delimited JSON."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.domain.ndjson import Line, LineReader

MAX_BYTES = 8
# Bodies have line ends, lines of the maximum length and of one byte more, and bytes that are not JSON.
BODIES = st.lists(st.sampled_from([b"\n", b"\r\n", b" ", b"{}", b"12345678", b"123456789", b"\x00", b"\xff"]), max_size=30).map(b"".join)


def read_lines(*chunks: bytes) -> Sequence[Line]:
    """Return the lines of a body that arrives in chunks."""
    reader = LineReader(max_bytes=MAX_BYTES)
    return [line for chunk in chunks for line in reader.feed(chunk)] + [*reader.finish()]


def split(body: bytes, cuts: list[int]) -> list[bytes]:
    """Return the body in chunks, cut at these offsets."""
    bounds = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    return [body[start:end] for start, end in pairwise(bounds)]


@given(BODIES, st.lists(st.integers(0, 80), max_size=20))
def test_lines_do_not_depend_on_the_chunks(body: bytes, cuts: list[int]) -> None:
    """Any split of a body into chunks, even empty ones, has the lines of the complete body."""
    expected = [
        Line(number, None if len(line) > MAX_BYTES else line.strip())
        for number, line in enumerate(body.split(b"\n"), start=1)
        if len(line) > MAX_BYTES or line.strip()
    ]
    assert read_lines(*split(body, cuts)) == expected


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b"", []),
        (b"\n\n", []),
        (b"{}", [Line(1, b"{}")]),
        (b"{}\r\n \n{}\n", [Line(1, b"{}"), Line(3, b"{}")]),
        (b"123456789\n{}", [Line(1, None), Line(2, b"{}")]),
    ],
)
def test_blank_lines_are_counted_and_long_lines_have_no_data(body: bytes, lines: list[Line]) -> None:
    """A line has its number and its data without white space around it. A blank line is only counted, and a long line has no data."""
    assert read_lines(body) == lines


def test_a_long_line_is_not_kept() -> None:
    """The data of a line that is too long is discarded while it arrives."""
    reader = LineReader(max_bytes=MAX_BYTES)
    for _ in range(1000):
        assert not reader.feed(b"x" * 100)
    assert len(reader._partial_line) == 0
    assert reader.feed(b"\n{}\n") == [Line(1, None), Line(2, b"{}")]

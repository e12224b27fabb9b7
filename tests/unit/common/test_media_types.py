"""Choice of the format of frames for a client."""

import pytest

from dashwright.common.media import wants_arrow


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("application/vnd.apache.arrow.stream", True),
        ("Application/Vnd.Apache.Arrow.Stream", True),
        ("application/json, application/vnd.apache.arrow.stream", True),
        ("application/vnd.apache.arrow.stream;q=0.5, application/json", False),
        ("application/vnd.apache.arrow.stream ; q=0.9,application/json;q=0.8", True),
        ("application/vnd.apache.arrow.stream;q=0", False),
        ("application/vnd.apache.arrow.stream;q=high", False),
        ("application/vnd.apache.arrow.file", False),
    ],
)
def test_arrow_needs_an_explicit_media_type(accept: str, *, expected: bool) -> None:
    """A client receives Arrow only if it names its media type, and with a weight that is at least that of JSON."""
    assert wants_arrow(accept) is expected

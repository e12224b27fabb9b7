"""Which format of frames a client gets."""

import pytest

from dashwright.common.media import wants_arrow


@pytest.mark.parametrize(
    ("accept", "wanted"),
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
def test_arrow_is_answered_to_those_who_name_it(accept: str, *, wanted: bool) -> None:
    """A wildcard is not enough, and a client that prefers JSON gets JSON."""
    assert wants_arrow(accept) is wanted

"""Time ranges in URLs, with ``time`` for their middle and ``time.window`` for their length."""

import pytest
from multidict import MultiDict

from dashwright.api.pictures.url_times import with_range
from dashwright.common.errors import BadRequest


@pytest.mark.parametrize(
    ("middle", "length", "bounds"),
    [
        ("1500000", "1000000", ("1000000", "2000000")),
        ("1970-01-01T01:00:00Z", "1h", ("1800000", "5400000")),
        ("1970-01-01T01:00:00", "2h", ("0", "7200000")),
        ("1970-01-01T01:00:00+01:00", "10s", ("-5000", "5000")),
    ],
)
def test_a_middle_and_a_length_replace_from_and_to(middle: str, length: str, bounds: tuple[str, str]) -> None:
    """The range from middle and length replaces ``from`` and ``to``, in milliseconds. Other parameters keep their values and order."""
    query = MultiDict([("from", "now-1h"), ("var-a", "1"), ("time", middle), ("var-a", "2"), ("time.window", length)])
    assert list(with_range(query).items()) == [("var-a", "1"), ("var-a", "2"), ("from", bounds[0]), ("to", bounds[1])]


@pytest.mark.parametrize("pairs", [[("from", "now-1h"), ("to", "now")], [("time", "5")], [("time.window", "1h"), ("from", "1")]])
def test_a_query_without_middle_or_length_is_unchanged(pairs: list[tuple[str, str]]) -> None:
    """A query is unchanged unless it has both a middle and a length."""
    assert list(with_range(MultiDict(pairs)).items()) == pairs


@pytest.mark.parametrize(("middle", "length", "name"), [("soon", "1h", "time"), ("5", "long", "time.window"), ("5", "0", "time.window")])
def test_an_invalid_time_is_named(middle: str, length: str, name: str) -> None:
    """An invalid middle or length is refused, and the error names its parameter."""
    with pytest.raises(BadRequest, match=f"the parameter {name} is "):
        with_range(MultiDict([("time", middle), ("time.window", length)]))

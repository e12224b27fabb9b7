"""The controls of dashboard pages: time ranges, refresh intervals, kept parameters and links."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from multidict import MultiDict

from dashwright.api.pictures.page_controls import kept_parameters, link_of, page_controls, picture_parameters
from dashwright.common.models.dashboard_outline import DashboardOutline, OutlineLink, OutlineVariable

# Milliseconds. The range of the outline is 2 January 1970.
DAY = 86_400_000
VARIABLES = [OutlineVariable(name="host", label="Host", kind="custom", values=["a", "b"])]
OUTLINE = DashboardOutline(title="T", from_="now-6h", to="now", start=DAY, end=2 * DAY, timezone="UTC", refresh="1m", variables=VARIABLES)


def test_quick_ranges_keep_everything_but_the_time() -> None:
    """Links of quick ranges replace the time and keep the panel, the theme and the variables, but no unknown parameter.

    The current range is marked.
    """
    query = MultiDict([("from", "x"), ("var-host", "a"), ("var-host", "b"), ("theme", "dark"), ("panelId", "3"), ("evil", "1")])
    times = page_controls("/d/u", query, OUTLINE).times
    assert times is not None
    assert times.text == "Last 6 hours"
    assert [link.text for link in times.quick_ranges if link.is_current] == ["Last 6 hours"]
    unchanged = [("var-host", "a"), ("var-host", "b"), ("theme", "dark"), ("panelId", "3")]
    link = urlsplit(times.quick_ranges[0].address)
    assert link.path == "/d/u"
    assert parse_qsl(link.query) == [*unchanged, ("from", "now-5m"), ("to", "now")]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("now/d", "now/d", "Today"),
        ("now-5h", "now", "now-5h to now"),
        (str(DAY), "now", "1970-01-02T00:00:00Z to now"),
        ("1970-01-02", str(2 * DAY), "1970-01-02 to 1970-01-03T00:00:00Z"),
    ],
)
def test_the_current_range_is_legible(start: str, end: str, expected: str) -> None:
    """The text of the range is its name, or its start and end. Milliseconds since 1970 are shown as a date and a time."""
    times = page_controls("/d/u", MultiDict(), OUTLINE.model_copy(update={"from_": start, "to": end})).times
    assert times is not None
    assert times.text == expected


def test_moves_are_absolute_and_bounded() -> None:
    """The links have absolute times: they move the range by half of its length, or double its length.

    A range beyond the years of the calendar causes no error.
    """
    times = page_controls("/d/u", MultiDict(), OUTLINE).times
    assert times is not None
    moves = {link.text: dict(parse_qsl(urlsplit(link.address).query)) for link in times.moves}
    assert moves["Earlier"] == {"from": "1970-01-01T12:00:00Z", "to": "1970-01-02T12:00:00Z"}
    assert moves["Later"] == {"from": "1970-01-02T12:00:00Z", "to": "1970-01-03T12:00:00Z"}
    assert moves["Longer"] == {"from": "1970-01-01T12:00:00Z", "to": "1970-01-03T12:00:00Z"}
    outline_of_far_times = OUTLINE.model_copy(update={"start": -(10**18), "end": 10**18})
    assert page_controls("/d/u", MultiDict(), outline_of_far_times).times is not None


@pytest.mark.parametrize(
    ("query", "text", "seconds"),
    [
        ({}, "1m", 60),
        ({"refresh": ""}, "", 0),
        ({"refresh": "1s"}, "1s", 5),
        ({"refresh": "7h"}, "7h", 25_200),
        ({"refresh": "<b>"}, "", 0),
    ],
)
def test_the_refresh_interval_is_bounded(query: dict[str, str], text: str, seconds: int) -> None:
    """The interval of the URL replaces that of the dashboard. It is at least five seconds, and an invalid one disables the refresh."""
    refresh = page_controls("/d/u", MultiDict(query), OUTLINE).refresh
    assert refresh.text == text
    assert refresh.seconds == seconds
    if text:
        assert text in refresh.choices


def test_parameters_without_a_control_are_kept() -> None:
    """Known parameters without a control are hidden inputs of the form. Unknown parameters, such as ``other``, are dropped.

    Pictures have only the parameters that change them.
    """
    query = MultiDict([("var-host", "a"), ("var-secret", "s"), ("tz", "UTC"), ("from", "f"), ("refresh", "5s"), ("other", "o")])
    assert page_controls("/d/u", query, OUTLINE).hidden == [("var-secret", "s"), ("tz", "UTC")]
    assert [name for name, _ in kept_parameters(query)] == ["var-host", "var-secret", "tz", "from", "refresh"]
    assert [name for name, _ in picture_parameters(query)] == ["var-host", "var-secret", "tz", "from"]


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", " javascript:alert(1)", "JaVa\tscript:alert(1)", "data:text/html,x", "vbscript:x", "", "/a\nb", "//\x00"],
)
def test_addresses_that_run_code_are_not_linked(address: str) -> None:
    """Addresses of schemes that run code, empty ones, and those with control characters have no link."""
    assert link_of(OutlineLink(title="T", url=address), MultiDict(), OUTLINE) is None


@pytest.mark.parametrize("address", ["https://example.com/x", "/d/other", "?tab=2", "d/other", "mailto:a@example.com"])
def test_links_have_the_time_and_the_variables_on_request(address: str) -> None:
    """A link has its address, which is also its text if it has no title. Its options add the time, and the variables of URL and page."""
    link_without_options = link_of(OutlineLink(title="", url=address), MultiDict(), OUTLINE)
    assert link_without_options is not None
    # The path of a dashboard becomes absolute.
    expected_address = f"/{address}" if address.startswith("d/") else address
    assert link_without_options.address == expected_address
    assert link_without_options.text == expected_address
    link_with_options = link_of(
        OutlineLink(title="T", url=address, keeps_time=True, includes_variables=True), MultiDict({"var-x": "1"}), OUTLINE
    )
    assert link_with_options is not None
    # A mail address has neither a time nor variables.
    if not address.startswith("mailto:"):
        separator = "&" if "?" in address else "?"
        parameters = "from=now-6h&to=now&var-x=1&var-host=a&var-host=b"
        assert link_with_options.address == f"{expected_address}{separator}{parameters}"

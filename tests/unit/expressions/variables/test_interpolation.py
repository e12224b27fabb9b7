"""References in text are replaced by the values of variables, in the format of the reference or of the data source."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.variables.builtin import builtin_values
from dashwright.expressions.variables.formats import FORMATS, FormatContext
from dashwright.expressions.variables.scope import Scope, names_in
from dashwright.expressions.variables.values import Value

#: Variables with one value, with two and with none, whose characters formats escape.
SCOPE = Scope({"one": Value.of("it's a.b", "One"), "many": Value.of(["x/1", 'y"'], ["X", "Y"]), "none": Value.of([])})
#: The value of a variable with several selected options.
SELECTION = replace(Value.of(["a.b", "c"]), is_selection=True)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("$one ${one} [[one]]", "it's a.b it's a.b it's a.b"),
        ("$many", '{x/1,y"}'),
        ("${many:csv} [[many:pipe]]", 'x/1,y" x/1|y"'),
        ("${many:regex}", '(x\\/1|y")'),
        ("${one:regex}", "it's a\\.b"),
        ("${many:json} ${none:json}", '["x/1","y\\""] []'),
        ("${one:singlequote} ${many:doublequote}", '\'it\\\'s a.b\' "x/1","y\\""'),
        ("${one:sqlstring}", "'it''s a.b'"),
        ("${many:lucene} ${none:lucene}", '("x\\/1" OR "y\\"") __empty__'),
        ("${many:distributed} ${many:join:;}", 'x/1,many=y" x/1;y"'),
        ("${many:queryparam}", "var-many=x%2F1&var-many=y%22"),
        ("${many:customqueryparam:p:v-}", "p=v-x%2F1&p=v-y%22"),
        ("${many:percentencode} ${one:uriencode}", "%7Bx%2F1%2Cy%22%7D it%27s%20a.b"),
        ("${many:text} ${one:text}", "X + Y One"),
        ("${one:html}", "it&#39;s a.b"),
        ("${one:no such}", "it's a.b"),
        ("${many.1}", 'y"'),
        ("${one.path}", ""),
        ("$other ${other:csv} [[other]] $ ${} $1 {{one}} $one_more", "$other ${other:csv} [[other]] $ ${} $1 {{one}} $one_more"),
    ],
)
def test_references_become_values(template: str, text: str) -> None:
    """Each notation of a reference becomes the value of its variable, in the format that it names. Other text is unchanged."""
    assert SCOPE.interpolate(template) == text


def test_dates_are_written_in_the_zone() -> None:
    """A custom format of dates writes the time in the zone of the scope. A value without a time becomes ``NaN``."""
    time = {"t": Value.of("1705320000005")}
    scope = Scope(time, zone=ZoneInfo("America/New_York"))
    assert scope.interpolate("${t:date} ${t:date:seconds}") == "2024-01-15T12:00:00.005Z 1705320000"
    assert scope.interpolate("${t:date:YYYY-MM-DD HH:mm Z [at]}") == "2024-01-15 07:00 -05:00 at"
    assert Scope({"t": Value.of("soon")}).interpolate("${t:date}") == "NaN"


def test_data_sources_have_formats_of_their_own() -> None:
    """In a query to Prometheus, a selection becomes a regular expression; in SQL, it becomes literals.

    A format that the reference names has precedence.
    """
    scope = Scope({"s": SELECTION, "p": Value.of("a.b\\"), "q": replace(Value.of("o'c"), is_selection=True)})
    assert scope.interpolate('x=~"$s",y="$p"', ":prometheus") == 'x=~"(a\\\\.b|c)",y="a.b\\\\"'
    assert scope.interpolate("in ($s) ${s:csv} $q", ":sql") == "in ('a.b','c') a.b,c 'o''c'"


def test_the_selection_of_all_is_replaced_by_its_custom_text() -> None:
    """The custom text of All is inserted without a format, except in names and query parameters. Without one, all values are inserted."""
    with_custom_all = replace(SELECTION, is_all=True, custom_all=".+", custom_all_template="$x.+")
    scope = Scope({"v": with_custom_all, "w": replace(SELECTION, is_all=True)})
    assert scope.interpolate("$v ${v:regex} ${v:text} ${v:queryparam}") == ".+ .+ All var-v=$__all"
    assert scope.interpolate("${v:percentencode}") == "%24x.%2B"
    assert scope.interpolate("${w:regex} ${w:text}") == "(a\\.b|c) All"


def test_every_dashboard_has_its_time_and_identity() -> None:
    """The builtin variables are the time range, the dashboard, the organization and all other variables of the dashboard."""
    end = datetime(2024, 1, 15, 12, tzinfo=UTC)
    builtin = builtin_values(
        TimeRange(end - timedelta(hours=1), end),
        address_range=("now-1h", "now"),
        zone_name="Europe/Berlin",
        dashboard={"uid": "u", "title": "Board"},
        org_id=3,
    )
    scope = Scope(builtin).with_values({"v": Value.of(["a", "b"])})
    assert scope.interpolate("$__from ${__to} $__timezone") == "1705316400000 1705320000000 Europe/Berlin"
    assert scope.interpolate("$__dashboard ${__dashboard.uid} ${__org.id} $__url_time_range") == "Board u 3 from=now-1h&to=now"
    # ``$__interval`` is a macro of data sources, not a variable of dashboards.
    assert scope.interpolate("?$__all_variables $__interval") == "?var-v=a&var-v=b $__interval"


def test_names_are_found_wherever_text_is_replaced() -> None:
    """Variables are found and replaced in every text of a document, except in its keys."""
    tree = {"a": ["$one", {"b": "${two:csv} [[three]]"}], "$key": 4}
    assert sorted(names_in(tree)) == ["one", "three", "two"]
    assert SCOPE.interpolate_tree({"$one": ["$one", 4, None]}) == {"$one": ["it's a.b", 4, None]}


@given(st.lists(st.text(max_size=20), max_size=4), st.sampled_from(sorted(FORMATS)), st.booleans())
def test_every_format_writes_every_value(values: list[str], name: str, is_selection: bool) -> None:
    """Every format writes any value, and any list of values, as text."""
    value_list = replace(Value.of(list(values)), is_selection=is_selection)
    assert isinstance(FORMATS[name](value_list, _context()), str)
    assert isinstance(FORMATS[name](Value.of("".join(values)), _context()), str)


def test_inserted_text_is_bounded() -> None:
    """A document of many references to a long value is small."""
    scope = Scope({"v": Value.of("x" * 10_000)})
    inserted = scope.interpolate_tree(["$v " * 100] * 100)
    # All references together would insert 100 million characters; the limit is 500,000.
    assert 500_000 <= sum(map(len, inserted)) < 600_000


def _context() -> FormatContext:
    """Return the context of a variable ``v``."""
    return FormatContext("v")

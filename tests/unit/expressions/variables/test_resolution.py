"""Variables of a dashboard have values and options from their definitions, queries and the URL, or a problem with the reason."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import pytest

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry
from dashwright.expressions.variables.definitions import Definition
from dashwright.expressions.variables.options import MAX_OPTIONS, listed_options, queried_options
from dashwright.expressions.variables.resolution import Resolution, ResolutionContext, resolve
from dashwright.expressions.variables.scope import Scope, names_in
from dashwright.expressions.variables.values import Option

#: The end of the time range of the dashboard.
END = datetime(2024, 1, 15, 12, tzinfo=UTC)
CATALOG = Catalog(
    [
        CatalogEntry("a", "Prom A", "prometheus"),
        CatalogEntry("b", "Prom B", "prometheus", is_default=True),
        CatalogEntry("c", "Tables", "postgres"),
    ]
)


class RecordingSource:
    """A data source that returns the words of a query as options, and records the queries."""

    def __init__(self) -> None:
        self.sent_queries: list[str] = []

    async def send_query(self, definition: Definition, scope: Scope) -> Sequence[Option]:
        """Return the words of the interpolated query. The query ``fail`` is an error."""
        text = scope.interpolate(definition.query_text)
        self.sent_queries.append(text)
        if text == "fail":
            raise BadRequest("it is broken")
        return [Option(value, value) for value in text.split()]


async def resolve_variables(
    *variables: Mapping[str, Any],
    url: Mapping[str, Sequence[str]] | None = None,
    source: RecordingSource | None = None,
    seconds: float = 2.0,
    **spec: Any,
) -> Resolution:
    """Return the variables of a dashboard that refers to all of them, with values from its URL.

    ``seconds`` is the time for all queries, and ``spec`` has other members of the dashboard.
    """
    board = {"templating": {"list": list(variables)}, **spec}
    context = ResolutionContext(
        CATALOG,
        TimeRange(END - timedelta(hours=1), END),
        builtin={},
        from_url=url or {},
        query_options=(source or RecordingSource()).send_query,
        seconds=seconds,
    )
    return await resolve(board, [str(variable["name"]) for variable in variables], context)


def variable(type_: str, query: Any = "", current: Any = None, **members: Any) -> dict[str, Any]:
    """Return the definition of the variable ``v``, with ``current`` as its saved value."""
    members_of_current_value = {} if current is None else {"current": {"value": current, "text": current}}
    return {"name": "v", "type": type_, "query": query, **members_of_current_value, **members}


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (variable("custom", "a, L : b"), "a"),
        (variable("custom", "a,b", "b"), "b"),
        (variable("custom", "a, L : b", "L"), "b"),
        (variable("custom", "a,b", "gone"), "a"),
        (variable("custom", "a,b", includeAll=True), "{a,b}"),
        (variable("custom", "a,b", "gone", includeAll=True, allValue=".*"), ".*"),
        (variable("custom", "a,b,c", ["b", "gone", "c"], multi=True), "{b,c}"),
        (variable("custom", "a,b", ["$__all"], multi=True), "a"),
        (variable("custom", "a\\,b"), "a,b"),
        (variable("query", "x y", "y"), "y"),
        (variable("query", "x y", "gone"), "x"),
        (variable("query", {"query": "x y"}, includeAll=True, multi=True), "{x,y}"),
        (variable("query", "", includeAll=True, allValue=".+"), ".+"),
        (variable("query", "", "kept"), "kept"),
        (variable("query", {}, ["a", "b"], multi=True), "{a,b}"),
        (variable("datasource", "prometheus"), "a"),
        (variable("datasource", "prometheus", "default"), "default"),
        (variable("datasource", "prometheus", "Prom B"), "b"),
        (variable("datasource", "prometheus", "gone", regex="/B$/"), "b"),
        (variable("interval", "1m,5m", "5m"), "5m"),
        # The range of an hour in 30 steps.
        (variable("interval", "1m,5m", "$__auto_interval_v", auto=True, auto_count=30, auto_min="10s"), "2m"),
        (variable("interval", "1m,5m"), "1m"),
        (variable("textbox", "typed"), "typed"),
        (variable("textbox", "typed", "saved"), "saved"),
        (variable("constant", "fixed", "stale"), "fixed"),
        (variable("switch", current="true"), "true"),
        (variable("switch"), "false"),
        (variable("groupby", current=["job", "pod"]), "{job,pod}"),
        (variable("of the future", current="kept"), "kept"),
    ],
)
async def test_variables_have_the_value_that_grafana_gives(definition: dict[str, Any], text: str) -> None:
    """A variable has its saved value, if its type permits the value, otherwise the default of the type: mostly all or the first option."""
    assert (await resolve_variables(definition)).scope.interpolate("$v") == text


async def test_elements_define_variables_too() -> None:
    """Variables are read from the schema with elements, too, in which the names of types and queries are different."""
    query = {"kind": "DataQuery", "group": "prometheus", "spec": {"query": "x y"}}
    variables = [
        {"kind": "QueryVariable", "spec": {"name": "q", "query": query, "sort": "alphabeticalDesc"}},
        {"kind": "TextVariable", "spec": {"name": "t", "query": "typed"}},
        {"kind": "DatasourceVariable", "spec": {"name": "d", "pluginId": "prometheus", "current": {"value": "b"}}},
        {"kind": "SwitchVariable", "spec": {"name": "s", "current": "on", "disabledValue": "off"}},
    ]
    context = ResolutionContext(CATALOG, TimeRange(END, END), builtin={}, from_url={}, query_options=RecordingSource().send_query)
    resolved = await resolve({"variables": variables, "elements": {}}, ["q", "t", "d", "s"], context)
    assert resolved.scope.interpolate("$q $t $d $s") == "y typed b on"


async def test_values_of_the_url_take_precedence() -> None:
    """Values of the URL are used even if they are not options.

    *All* in the URL selects the variable's value for all. Unknown names become variables.
    """
    multi_variable = variable("custom", "a,b", "a", multi=True, includeAll=True, allValue=".*")
    assert (await resolve_variables(multi_variable, url={"v": ["b", "new"]})).scope.interpolate("$v") == "{b,new}"
    assert (await resolve_variables(multi_variable, url={"v": ["All"]})).scope.interpolate("$v") == ".*"
    assert (await resolve_variables(variable("textbox", "t"), url={"v": ["x"], "free": ["y"]})).scope.interpolate("$v$free") == "xy"


async def test_variables_refer_to_earlier_and_later_ones() -> None:
    """A variable is resolved after those that its query refers to, in any order of their definitions."""
    source = RecordingSource()
    first = {**variable("query", "$second-1 $second-2"), "name": "first"}
    second = {**variable("custom", "p,q", "q"), "name": "second"}
    assert (await resolve_variables(first, second, source=source)).scope.interpolate("$first") == "q-1"
    assert source.sent_queries == ["q-1 q-2"]


async def test_only_variables_in_use_are_queried() -> None:
    """Only the queries of variables that the dashboard refers to, directly or indirectly, are sent."""
    source = RecordingSource()
    context = ResolutionContext(CATALOG, TimeRange(END, END), builtin={}, from_url={}, query_options=source.send_query)
    queries = {"used": "$inner", "inner": "x", "spare": "y"}
    board = {"templating": {"list": [{**variable("query", query), "name": name} for name, query in queries.items()]}}
    await resolve(board, names_in("$used"), context)
    # The query of "used" is the value of "inner".
    assert source.sent_queries == ["x", "x"]


async def test_variables_in_a_cycle_keep_their_saved_values_with_a_problem() -> None:
    """Variables that refer to each other have their saved values. No query of them is sent, and a notice names them."""
    source = RecordingSource()
    cyclic_variables = [{**variable("query", f"${other}", name), "name": name} for name, other in (("m", "n"), ("n", "m"))]
    resolved = await resolve_variables(*cyclic_variables, source=source)
    assert resolved.scope.interpolate("$m $n") == "m n"
    assert source.sent_queries == []
    assert resolved.notices == ["$m, $n refer to each other in a circle, so each has its saved value"]


async def test_a_failed_query_is_a_problem_of_its_variable() -> None:
    """A variable whose query fails has its saved value and a problem with the reason."""
    resolved = await resolve_variables(variable("query", "fail", "saved"))
    assert resolved.scope.interpolate("$v") == "saved"
    assert resolved.scope.problems == {"v": "$v has no options: it is broken"}


@pytest.mark.parametrize(
    ("names", "subject"),
    [(["a"], "$a has"), (["a", "b"], "$a, $b have"), (list("abcdefg"), "$a, $b, $c, $d, $e and 2 more have")],
)
async def test_variables_that_fail_for_one_reason_have_one_problem(names: list[str], subject: str) -> None:
    """Variables that fail for the same reason have the same problem, which names at most five of them, so that users see it once."""
    resolved = await resolve_variables(*({**variable("query", "fail"), "name": name} for name in names))
    assert resolved.scope.problems == dict.fromkeys(names, f"{subject} no options: it is broken")


async def test_a_missing_data_source_is_the_only_problem_of_its_queries() -> None:
    """A variable that queries a missing data source has the same problem as the variable that selects this data source."""
    source = RecordingSource()
    source_variable = {**variable("datasource", "loki"), "name": "ds"}
    query_variable = {**variable("query", "x", datasource={"uid": "$ds"}), "name": "q"}
    resolved = await resolve_variables(query_variable, source_variable, source=source)
    problem = "$ds, $q have no options: there is no data source of the type 'loki' that you may query"
    assert resolved.scope.problems == dict.fromkeys(("ds", "q"), problem)
    assert source.sent_queries == []


async def test_options_are_limited_with_a_notice() -> None:
    """The first options of a query are used up to the limit, and a notice has the number of all options."""
    resolved = await resolve_variables(variable("query", " ".join(map(str, range(10_000))), includeAll=True))
    assert len(resolved.scope.values["v"].values) == len(resolved.options["v"]) == MAX_OPTIONS
    assert resolved.notices == ["$v has 10000 options, of which the first 1000 are used"]


async def test_values_that_are_too_long_are_a_problem() -> None:
    """If the selected values of a variable have too many characters together, their number is the problem of the variable."""
    resolved = await resolve_variables(variable("query", " ".join(f"{index:>0500}" for index in range(900)), includeAll=True))
    assert "have 450000 characters" in resolved.scope.problems["v"]


@pytest.mark.parametrize("pattern", ["/(a|aa)+$/", "/(a|aa)+$/g", "/^(([a-z])+.)+[A-Z]([a-z])+$/"])
@pytest.mark.usefixtures("short_pattern_time")
async def test_an_endless_regular_expression_is_stopped(pattern: str) -> None:
    """A regular expression of options that takes exponential time is a problem after its time limit."""
    started = monotonic()
    resolved = await resolve_variables(variable("query", "a" * 5_000 + "!", regex=pattern))
    assert monotonic() - started < 20
    assert "takes longer than 0.1 s" in resolved.scope.problems["v"]


async def test_slow_queries_end_with_the_budget() -> None:
    """All queries of variables together end after the time that they may take."""

    class SlowSource(RecordingSource):
        """A data source that responds after a minute."""

        async def send_query(self, definition: Definition, scope: Scope) -> Sequence[Option]:
            """Return no options, after a minute."""
            await asyncio.sleep(60)
            return []

    started = monotonic()
    resolved = await resolve_variables(
        *({**variable("query", "x"), "name": f"v{index}"} for index in range(9)), source=SlowSource(), seconds=0.2
    )
    assert monotonic() - started < 5
    # Each of the nine variables has a problem.
    assert len(resolved.scope.problems) == 9


@pytest.mark.parametrize(
    ("source", "filters", "url", "text", "uids", "notice"),
    [
        (None, [{"key": "job", "operator": "=", "value": "x"}], None, 'job="x"', ["b"], ""),
        ({"uid": "a"}, [{"key": "job", "operator": "=|", "values": ["x", "y"]}], None, 'job=|"x|y"', ["a"], ""),
        ({"uid": "a"}, [], ["job|!=|z", "zone|=~|e__gfp__f"], 'job!="z",zone=~"e|f"', ["a"], ""),
        ({"uid": "a"}, [{"key": "job", "operator": "<", "value": "1"}], None, 'job<"1"', ["a"], "no such operators"),
        ({"uid": "c"}, [{"key": "job", "operator": "=", "value": "x"}], None, 'job="x"', [], "'postgres' are not filtered"),
        ({"uid": "c"}, [{"value": "x"}, 3], None, "", [], ""),
    ],
)
async def test_filters_apply_to_queries_of_their_data_source(
    source: Any, filters: Any, url: Sequence[str] | None, text: str, uids: Sequence[str], notice: str
) -> None:
    """Filters apply to queries of their data source. Filters in the URL replace saved filters.

    A notice names filters that cannot be applied.
    """
    definition = variable("adhoc", datasource=source, filters=filters)
    resolved = await resolve_variables(definition, url={"v": url} if url else None)
    assert resolved.scope.interpolate("$v") == text
    assert list(resolved.scope.filters) == uids
    if notice:
        assert notice in resolved.notices[0]
    else:
        assert not resolved.notices


async def test_inputs_of_shared_dashboards_have_values() -> None:
    """An input for a data source has the default one of its type, and a constant input its value."""
    inputs = [
        {"name": "DS_P", "type": "datasource", "pluginId": "prometheus"},
        {"name": "C", "type": "constant", "value": "k"},
        {"name": "DS_L", "type": "datasource", "pluginId": "loki"},
    ]
    assert (await resolve_variables(__inputs=inputs)).scope.interpolate("${DS_P} $C ${DS_L}") == "b k ${DS_L}"


#: Options in no order, whose order depends on the case of letters and on the value of numbers.
NAMES = ["web-10", "web-9", "Web-1", "db-2", "db-2", "cache"]
# Grafana's numbers of orders.
UNSORTED, ALPHABETICAL, NUMERICAL, NUMERICAL_DESCENDING, CASE_INSENSITIVE_DESCENDING, NATURAL = 0, 1, 3, 4, 6, 7


@pytest.mark.parametrize(
    ("pattern", "sort", "values"),
    [
        ("", UNSORTED, ["web-10", "web-9", "Web-1", "db-2", "cache"]),
        ("", ALPHABETICAL, ["Web-1", "cache", "db-2", "web-10", "web-9"]),
        ("", NUMERICAL, ["cache", "Web-1", "db-2", "web-9", "web-10"]),
        ("", NUMERICAL_DESCENDING, ["web-10", "web-9", "db-2", "Web-1", "cache"]),
        ("", CASE_INSENSITIVE_DESCENDING, ["web-9", "web-10", "Web-1", "db-2", "cache"]),
        ("", NATURAL, ["cache", "db-2", "Web-1", "web-9", "web-10"]),
        ("/web/", UNSORTED, ["web-10", "web-9"]),
        ("/WEB-\\d+/i", ALPHABETICAL, ["Web-1", "web-10", "web-9"]),
        ("/^(\\w)\\w*-/", UNSORTED, ["w", "W", "d"]),
        ("/([a-z]+)/g", UNSORTED, ["web", "eb", "db", "cache"]),
        ("/(?<value>\\d+)/", UNSORTED, ["10", "9", "1", "2"]),
        ("/^(?!web)/", UNSORTED, ["Web-1", "db-2", "cache"]),
        ("cache", UNSORTED, ["cache"]),
    ],
)
def test_options_are_filtered_and_sorted(pattern: str, sort: int, values: list[str]) -> None:
    """Options that match the pattern are listed once, as the text of its first group, in the order with the number ``sort``."""
    assert [option.value for option in queried_options([Option(name, name) for name in NAMES], pattern, sort)] == values


def test_named_groups_give_value_and_text() -> None:
    """The groups ``value`` and ``text`` of a pattern are the value and the text of an option.

    In a list of options, the text is before ``:``, and the value after it.
    """
    options = queried_options([Option("id=7 name=seven", "id=7 name=seven")], "/id=(?<value>\\d+) name=(?<text>\\w+)/", 0)
    assert options == [Option("7", "seven")]
    assert listed_options(" a , b ,c : d") == [Option("a", "a"), Option("b", "b"), Option("d", "c")]


def test_an_invalid_regular_expression_is_named() -> None:
    """An invalid pattern of options is an error that contains the pattern."""
    with pytest.raises(BadRequest, match=r"'\(' is invalid"):
        queried_options([], "/(/", 0)


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"query": "loki"}, "$v has no options: there is no data source of the type 'loki' that you may query"),
        (
            {"query": "prometheus", "regex": "/^x/"},
            "$v has no options: there is no data source of the type 'prometheus' with a matching name that you may query",
        ),
        ({"query": "loki", "current": "elsewhere"}, ""),
        ({"query": "testdata"}, ""),
        ({"query": ""}, ""),
    ],
)
async def test_a_variable_without_a_data_source_names_the_type(members: dict[str, Any], problem: str) -> None:
    """A variable of data sources of a type without a data source has a problem that names the type.

    The default data source does not replace it, because it would receive queries of another language. A variable with a saved value,
    of testdata or without a type has no problem.
    """
    resolved = await resolve_variables(variable("datasource", **members))
    assert resolved.scope.problems.get("v", "") == problem

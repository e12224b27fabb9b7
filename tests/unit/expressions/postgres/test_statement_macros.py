"""Macros expand to the SQL that Grafana's dashboards expect, and all other SQL is unchanged."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.postgres.lexing import first_word, sql_tokens, without_trailing_comments
from dashwright.expressions.sources.postgres.macros import Fill, FillMode, MacroContext, expand

START = datetime(2018, 4, 12, 18, tzinfo=UTC)
SECOND = 1_000_000_000
# A range of five minutes, with an interval of 90 seconds.
CONTEXT_OF_FIVE_MINUTES = MacroContext(TimeRange(START, START + timedelta(minutes=5)), interval=90_000)
FIVE_MINUTES = "floor(extract(epoch from t)/300)*300"
BETWEEN_BOTH_ENDS = "BETWEEN '2018-04-12T18:00:00Z' AND '2018-04-12T18:05:00Z'"


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("$__time(t)", 't AS "time"'),
        ("min($__time(t))", 'min(t AS "time")'),
        ("$__timeEpoch(t)", 'extract(epoch from t) as "time"'),
        ("$__timeFilter(t)", f"t {BETWEEN_BOTH_ENDS}"),
        ("$__timeFilter ( t )", f"t {BETWEEN_BOTH_ENDS}"),
        ("$__timeFilter(t, 'more')", f"t {BETWEEN_BOTH_ENDS}"),
        ("$__timeFilter(coalesce(a, b))", f"coalesce(a, b) {BETWEEN_BOTH_ENDS}"),
        ("$__timeFilter(t at time zone ')')", f"t at time zone ')' {BETWEEN_BOTH_ENDS}"),
        ("$__timeFrom()", "'2018-04-12T18:00:00Z'"),
        ("$__timeTo()", "'2018-04-12T18:05:00Z'"),
        ("$__timeGroup(t,'5m')", FIVE_MINUTES),
        ("$__timeGroup(t , 5m)", FIVE_MINUTES),
        ("$__timeGroup(t,'5m') as x, v", f"{FIVE_MINUTES} as x, v"),
        ("$__timeGroup(t,'12d')", "floor(extract(epoch from t)/1036800)*1036800"),
        ("$__timeGroup(t,'20ms')", "floor(extract(epoch from t)/0.02)*0.02"),
        ("$__timeGroup(t,$__interval)", "floor(extract(epoch from t)/60)*60"),
        ("$__timeGroup(t,'$__interval')", "floor(extract(epoch from t)/60)*60"),
        ("$__timeGroup(date_trunc('day', t),'5m')", "floor(extract(epoch from date_trunc('day', t))/300)*300"),
        ("$__timeGroupAlias(t,'5m')", f'{FIVE_MINUTES} AS "time"'),
        ("$__unixEpochFilter(t)", "t >= 1523556000 AND t <= 1523556300"),
        ("$__unixEpochFrom() $__unixEpochTo()", "1523556000 1523556300"),
        ("$__unixEpochNanoFilter(t)", "t >= 1523556000000000000 AND t <= 1523556300000000000"),
        ("$__unixEpochNanoFrom() $__unixEpochNanoTo()", "1523556000000000000 1523556300000000000"),
        ("$__unixEpochGroup(a+b,'5m')", "floor((a+b)/300)*300"),
        ("$__unixEpochGroupAlias(t,'5m')", 'floor((t)/300)*300 AS "time"'),
        ("$__unixEpochGroup(t + $__unixEpochFrom(), '1s')", "floor((t + 1523556000)/1)*1"),
        ("$__interval $__interval_ms '$__interval'", "1m 90000 '1m'"),
    ],
)
def test_a_macro_becomes_sql(text: str, sql: str) -> None:
    """A macro is replaced by SQL. Its arguments may contain parentheses, commas and quotes, and a surplus argument is ignored."""
    assert expand(f"select {text} from x", CONTEXT_OF_FIVE_MINUTES).sql == f"select {sql} from x"


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("select $__timeGroup(t,'5m'), v", f'select {FIVE_MINUTES} AS "time", v'),
        (
            "select $__timeGroup(t,'5m'), h group by $__timeGroup(t,'5m'), h",
            f'select {FIVE_MINUTES} AS "time", h group by {FIVE_MINUTES}, h',
        ),
        (
            "select $__timeGroupAlias(t,'5m'), h GROUP  BY $__timeGroup(t,'5m'), h",
            f'select {FIVE_MINUTES} AS "time", h GROUP  BY {FIVE_MINUTES}, h',
        ),
        (
            "select $__timeGroup(t,'5m') as x, h group by $__timeGroup(t,'5m'), h",
            f"select {FIVE_MINUTES} as x, h group by {FIVE_MINUTES}, h",
        ),
    ],
)
def test_the_first_group_before_a_comma_is_named_time(text: str, sql: str) -> None:
    """The first group before a comma is named ``time``, because old dashboards rely on it. An expression in GROUP BY has no name."""
    assert expand(text, CONTEXT_OF_FIVE_MINUTES).sql == sql


@pytest.mark.parametrize(
    "sql", ["select 1 -- $__time() $__nothing(", "/* $__time( /* $__x() */ $__time() */ select 1", "select $__tag$ x $__tag$, $1"]
)
def test_other_text_is_unchanged(sql: str) -> None:
    """Comments, and quotes of PostgreSQL that begin with a dollar like macros, are unchanged."""
    assert expand(sql, CONTEXT_OF_FIVE_MINUTES).sql == sql


def test_comment_signs_within_quotes_are_ignored() -> None:
    """Signs of comments within quotes do not begin a comment, so macros after them are expanded."""
    assert (
        expand("select '-- ', \"/* \", $$ -- $$, e'\\' -- ', $__interval_ms", CONTEXT_OF_FIVE_MINUTES).sql
        == "select '-- ', \"/* \", $$ -- $$, e'\\' -- ', 90000"
    )


@pytest.mark.parametrize(
    ("milliseconds", "interval"), [(0, "1ms"), (20, "20ms"), (1500, "1s"), (3_599_999, "59m"), (7_200_000, "2h"), (86_400_000 * 400, "1y")]
)
def test_the_interval_is_one_number_of_the_largest_unit_that_fits(milliseconds: int, interval: str) -> None:
    """The interval is a whole number of the largest unit that fits. It is rounded down, but not to zero."""
    assert expand("$__interval", MacroContext(CONTEXT_OF_FIVE_MINUTES.time_range, milliseconds)).sql == interval


def test_times_are_utc_and_exact() -> None:
    """A range with a zone and microseconds is written in UTC without trailing zeros; seconds before 1970 are rounded down."""
    start = datetime(1960, 2, 1, 7, 0, 0, 500_000, tzinfo=timezone(timedelta(hours=2)))
    statement = expand("$__timeFrom() $__unixEpochFrom() $__unixEpochNanoFrom()", MacroContext(TimeRange(start, START), interval=1)).sql
    assert statement == "'1960-02-01T05:00:00.5Z' -312922800 -312922799500000000"


@pytest.mark.parametrize(
    ("fill_argument", "fill"),
    [
        ("NULL", Fill(300 * SECOND, FillMode.NULL)),
        ("null", Fill(300 * SECOND, FillMode.NULL)),
        ("previous", Fill(300 * SECOND, FillMode.PREVIOUS)),
        ("0", Fill(300 * SECOND, FillMode.VALUE, 0)),
        ("-1.5e3", Fill(300 * SECOND, FillMode.VALUE, -1500)),
    ],
)
@pytest.mark.parametrize("macro", ["timeGroup", "timeGroupAlias", "unixEpochGroup", "unixEpochGroupAlias"])
def test_the_third_argument_of_a_group_is_the_fill(macro: str, fill_argument: str, fill: Fill) -> None:
    """The third argument of a group is the fill mode, which is not part of the statement."""
    expanded = expand(f"$__{macro}(t, '5m', {fill_argument})", CONTEXT_OF_FIVE_MINUTES)
    assert expanded.fill == fill
    assert expanded.sql == expand(f"$__{macro}(t, '5m')", CONTEXT_OF_FIVE_MINUTES).sql


def test_timescale_groups_by_its_own_function() -> None:
    """With TimescaleDB, times are grouped by its function ``time_bucket``. Epoch numbers are still grouped by ``floor``."""
    context = MacroContext(CONTEXT_OF_FIVE_MINUTES.time_range, interval=1, has_time_bucket=True)
    assert expand("$__timeGroup(t,'5m') $__unixEpochGroup(t,'5m')", context).sql == "time_bucket('300.000s',t) floor((t)/300)*300"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$__timeFilte(t)", "macro $__timeFilte is unknown; perhaps $__timeFilter is meant"),
        ("$__zzz(t)", r"macro $__zzz is unknown; use one of $__interval_ms, "),
        ("$__timeFilter", "macro $__timeFilter has no arguments; write $__timeFilter(column)"),
        ("$__timeFilter( )", "macro $__timeFilter( ) lacks arguments; write $__timeFilter(column)"),
        ("$__timeGroup(t)", "macro $__timeGroup(t) lacks arguments; write $__timeGroup(column, '5m'"),
        ("$__timeGroup(, '5m')", "macro $__timeGroup(, '5m') lacks arguments"),
        ("$__timeGroup(t, '5 minutes')", "the interval of $__timeGroup(t, '5 minutes') cannot be read: unknown unit"),
        ("$__timeGroup(t, '0s')", "the interval of $__timeGroup(t, '0s') must be above zero"),
        ("$__timeGroup(t, '5m', nothing)", "the fill value of $__timeGroup(t, '5m', nothing) is invalid; write NULL, previous or a number"),
        ("$__timeGroup(t, '5m', nan)", "the fill value of"),
        ("$__timeGroup(t, '5m', 0, 1)", "has more than a column, an interval and a fill value"),
        ("$__timeFilter(lower(t)", "macro $__timeFilter( has no closing parenthesis; write $__timeFilter(column)"),
        ("$__time(" * 7 + "t" + ")" * 7, "deeper than 5 levels"),
    ],
)
def test_an_invalid_macro_is_an_error(text: str, message: str) -> None:
    """The error of an invalid macro names the macro and its correct form."""
    with pytest.raises(BadRequest, match=re.escape(message)):
        expand(f"select {text}", CONTEXT_OF_FIVE_MINUTES)


def test_a_range_before_year_1_is_rejected() -> None:
    """A range before year 1 in UTC is rejected, such as the first hours of year 1 in a zone east of Greenwich."""
    start = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    with pytest.raises(BadRequest, match="beyond the years 1 to 9999"):
        expand("$__timeFrom()", MacroContext(TimeRange(start, START), 1))


# Texts of macros, quotes and comments in any order.
FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "$__time",
            "$__timeGroup",
            "$__timeFilter",
            "$__interval",
            "$__x",
            "(",
            ")",
            ",",
            "'",
            '"',
            "--",
            "\n",
            "/*",
            "*/",
            "$$",
            "$t$",
            "e'\\",
            "5m",
            "t",
            " ",
            ";",
        ]
    )
).map("".join)


@given(FRAGMENTS)
@example("$__timeGroup(t,'5m',(")
def test_any_text_is_expanded_or_rejected(text: str) -> None:
    """Any text is expanded, or rejected with BadRequest. A text without macros is unchanged."""
    try:
        expanded = expand(text, CONTEXT_OF_FIVE_MINUTES).sql
    except BadRequest:
        return
    if "$__" not in text:
        assert expanded == text


# Valid SQL expressions, with parentheses inside quotes.
EXPRESSIONS = st.recursive(
    st.sampled_from(["t", "a.b", '"x(y"', "'it''s)'", "$q$ ( $q$", "1"]),
    lambda inner: st.one_of(
        inner.map("f({})".format),
        st.tuples(inner, inner).map("({0[0]} + {0[1]})".format),
        st.tuples(inner, inner).map("g({0[0]}, {0[1]})".format),
    ),
    max_leaves=8,
)


@given(
    EXPRESSIONS,
    st.sampled_from(
        ["$__time({})", "$__timeFilter({})", "$__timeGroup({}, '5m', 0)", "$__unixEpochGroupAlias({},'1h')", "$__unixEpochNanoFilter({})"]
    ),
)
def test_arguments_are_unchanged(column: str, macro: str) -> None:
    """The SQL of a macro contains the column as written, with balanced parentheses."""
    expanded = expand(macro.format(column), CONTEXT_OF_FIVE_MINUTES).sql
    assert column in expanded
    signs = [expanded[token.start] for token in sql_tokens(expanded) if token.type == "sign"]
    assert signs.count("(") == signs.count(")")


@given(FRAGMENTS)
def test_tokens_are_contiguous(text: str) -> None:
    """Tokens are in the order of the text, do not overlap, and are not empty."""
    position = 0
    for token in sql_tokens(text):
        assert position <= token.start < token.end <= len(text)
        position = token.end


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT 1", "select"),
        (" /* a /* b */ */ -- c\n ((with", "with"),
        ("", ""),
        ("/* select", ""),
        ("'select'", ""),
        ("; select", ""),
        ("1", ""),
    ],
)
def test_the_first_word_follows_comments_and_parentheses(sql: str, word: str) -> None:
    """The first word of a statement follows comments and opening parentheses. It is empty if anything else comes first."""
    assert first_word(sql) == word


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select 1", "select 1"),
        ("select 1 ;; -- x;\n/* ; */ ;", "select 1"),
        ("select ';'", "select ';'"),
        ("select ';' -- x", "select ';'"),
        ("select f(1)  ", "select f(1)"),
        ("select $$;$$ ;", "select $$;$$"),
        (" -- a\n select 1;", " -- a\n select 1"),
    ],
)
def test_the_end_of_a_statement_is_removed(sql: str, expected: str) -> None:
    """Trailing semicolons and comments are removed; quoted strings are kept."""
    assert without_trailing_comments(sql) == expected

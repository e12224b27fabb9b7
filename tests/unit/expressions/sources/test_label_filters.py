"""Label filters in queries in PromQL: every selector has them, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.expressions.sources.prometheus.label_filters import LabelFilter, with_filters

ZONE = LabelFilter("zone", "=", ["eu"])


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("up", 'up{zone="eu"}'),
        ("up{}", 'up{zone="eu"}'),
        ('up {job="a", }', 'up {job="a", zone="eu"}'),
        ('{__name__=~"a.*"}', '{__name__=~"a.*",zone="eu"}'),
        ("sum(rate(hits_total[5m])) by (le, zone)", 'sum(rate(hits_total{zone="eu"}[5m])) by (le, zone)'),
        ("sum by(pod) (cpu) / on (pod) group_left() mem", 'sum by(pod) (cpu{zone="eu"}) / on (pod) group_left() mem{zone="eu"}'),
        ("sum without (a) (x) > bool 5", 'sum without (a) (x{zone="eu"}) > bool 5'),
        ("avg_over_time(job:load:sum[1h:5m] offset 2d) and x", 'avg_over_time(job:load:sum{zone="eu"}[1h:5m] offset 2d) and x{zone="eu"}'),
        ('label_replace(up, "a", "$1", "b", "(.*)")', 'label_replace(up{zone="eu"}, "a", "$1", "b", "(.*)")'),
        ('up{a="}{"} # up', 'up{a="}{",zone="eu"} # up'),
        ("rate(x[$__rate_interval]) * ${factor}", 'rate(x{zone="eu"}[$__rate_interval]) * ${factor}'),
        ("vector(1) + 2e3 + inf", "vector(1) + 2e3 + inf"),
        ("", ""),
    ],
)
def test_every_selector_has_the_filters(expr: str, expected: str) -> None:
    """Every selector of a query has the filter. Functions, labels, durations, variables and comments are unchanged."""
    assert with_filters(expr, [ZONE]) == expected


@pytest.mark.parametrize(
    ("label_filter", "matcher"),
    [
        (LabelFilter("a", "!=", ['x"\\y']), 'a!="x\\"\\\\y"'),
        (LabelFilter("a", "=~", ["x.*"]), 'a=~"x.*"'),
        (LabelFilter("a", "=|", ["x.y", "z"]), 'a=~"x\\\\.y|z"'),
        (LabelFilter("a", "!=|", ["x", "z"]), 'a!~"x|z"'),
        (LabelFilter("a.b", "=", [""]), '"a.b"=""'),
        (LabelFilter("a", "<", ["1"]), ""),
        (LabelFilter("", "=", ["1"]), ""),
    ],
)
def test_operators_and_escapes_are_written_in_promql(label_filter: LabelFilter, matcher: str) -> None:
    """Values of filters are written as strings of PromQL. A filter whose operator PromQL does not have is omitted."""
    assert label_filter.matcher == matcher
    assert with_filters("x", [label_filter]) == ("x{" + matcher + "}" if matcher else "x")


@given(st.text(alphabet="ab{}()[]\"'`#$ ,=1by\n\\", max_size=60))
def test_any_text_is_read(expr: str) -> None:
    """Filters are added to any text without an error. The result has at least as many characters as the text without ``{``."""
    assert len(with_filters(expr, [ZONE])) >= len(expr.replace("{", ""))

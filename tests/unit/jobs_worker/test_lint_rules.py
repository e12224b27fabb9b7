"""Rules on dashboards: their findings, and what they accept, in classic specs and in specs with elements (v2)."""

from typing import Any

import pytest

from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.domain.lint.linter import MAX_ISSUES, RULES, lint

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
EXPRESSION = {"type": "__expr__", "uid": "__expr__"}
DATASOURCE_VARIABLE = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
VALID_EXPR = 'sum(rate(requests_total{job=~"$job", instance=~"$instance"}[$__rate_interval]))'


def query_variable(name: str, /, **fields: Any) -> dict[str, Any]:
    """Return a variable that satisfies all rules, except for ``fields``."""
    common = {"type": "query", "datasource": SOURCE, "multi": True, "allValue": ".+", "refresh": 2}
    return {"name": name, "label": name, **common, **fields}


def query(expr: str = VALID_EXPR, ref_id: str = "A", **fields: Any) -> dict[str, Any]:
    """Return a query of Prometheus, which by default satisfies all rules."""
    return {"refId": ref_id, "datasource": SOURCE, "expr": expr, **fields}


def expression(ref_id: str, kind: str = "math", **fields: Any) -> dict[str, Any]:
    """Return a query that is an expression over other queries."""
    return {"refId": ref_id, "datasource": EXPRESSION, "type": kind, **fields}


def panel(*targets: Any, **fields: Any) -> dict[str, Any]:
    """Return a panel that satisfies all rules, except for its queries and ``fields``."""
    return {
        "title": "Requests",
        "description": "How many come in",
        "type": "timeseries",
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": "reqps"}},
        "targets": list(targets),
        **fields,
    }


def dashboard(*panels: Any, variables: Any = None, **fields: Any) -> dict[str, Any]:
    """Return a dashboard without violations, except those in ``panels``, ``variables`` and ``fields``."""
    listed = variables
    if variables is None:
        listed = [DATASOURCE_VARIABLE, query_variable("job"), query_variable("instance")]
    return {"title": "Shop", "editable": False, "templating": {"list": listed}, "panels": list(panels), **fields}


def dashboard_with_elements(expr: str = VALID_EXPR, **viz: Any) -> dict[str, Any]:
    """Return the dashboard with elements that corresponds to ``dashboard(panel(query(expr)))``."""
    data_query = {"kind": "DataQuery", "group": "prometheus", "datasource": {"name": "${datasource}"}, "spec": {"expr": expr}}
    spec = {
        "title": "Requests",
        "description": "How many come in",
        "data": {"kind": "QueryGroup", "spec": {"queries": [{"kind": "PanelQuery", "spec": {"refId": "A", "query": data_query}}]}},
        "vizConfig": {"kind": "VizConfig", "group": "timeseries", "spec": {"fieldConfig": {"defaults": {"unit": "reqps"}}, **viz}},
    }
    source = {"group": "prometheus", "datasource": {"name": "${datasource}"}}
    query_fields = {"multi": True, "allValue": ".+", "refresh": "onTimeRangeChanged", "query": source}
    return {
        "title": "Shop",
        "editable": False,
        "elements": {"panel-1": {"kind": "Panel", "spec": spec}},
        "variables": [
            {"kind": "DatasourceVariable", "spec": {"name": "datasource", "label": "Data source", "pluginId": "prometheus"}},
            *({"kind": "QueryVariable", "spec": {"name": name, "label": name, **query_fields}} for name in ("job", "instance")),
        ],
    }


def messages_of(spec: dict[str, Any], rule: str) -> list[str]:
    """Return the messages of one rule."""
    return [issue.message for issue in lint(spec) if issue.rule == rule]


@pytest.mark.parametrize("spec", [dashboard(panel(query())), dashboard_with_elements(), {}, {"panels": 1, "templating": []}])
def test_correct_and_empty_dashboards_have_no_findings(spec: dict[str, Any]) -> None:
    """A correct dashboard has no findings, and neither has a spec without panels, except that it can be edited by default."""
    assert [issue for issue in lint(spec) if issue.rule != "uneditable-dashboard"] == []


@pytest.mark.parametrize(
    ("rule", "spec", "message_part"),
    [
        ("uneditable-dashboard", dashboard(editable=True), "can be edited"),
        ("template-datasource-rule", dashboard(panel(query()), variables=[]), "no variable chooses"),
        (
            "template-datasource-rule",
            dashboard(panel(query()), variables=[{**DATASOURCE_VARIABLE, "name": "ds"}]),
            "name it datasource or prometheus_",
        ),
        ("template-datasource-rule", dashboard(panel(query()), variables=[{**DATASOURCE_VARIABLE, "label": ""}]), "label it 'Data source'"),
        (
            "template-datasource-rule",
            dashboard(panel(query()), variables=[DATASOURCE_VARIABLE, {**DATASOURCE_VARIABLE, "query": "loki"}]),
            "name it loki_datasource",
        ),
        ("template-job-rule", dashboard(panel(query()), variables=[DATASOURCE_VARIABLE]), "no variable job"),
        (
            "template-job-rule",
            dashboard(panel(query()), variables=[DATASOURCE_VARIABLE, query_variable("job", multi=False)]),
            "only one job",
        ),
        (
            "template-job-rule",
            dashboard(panel(query()), variables=[DATASOURCE_VARIABLE, query_variable("job", allValue=".*")]),
            "'.*': set it to '.+'",
        ),
        (
            "template-job-rule",
            dashboard(panel(query()), variables=[DATASOURCE_VARIABLE, query_variable("job", datasource="prom")]),
            "a fixed data source",
        ),
        (
            "template-job-rule",
            dashboard(panel(query()), variables=[DATASOURCE_VARIABLE, query_variable("job", type="custom")]),
            "of another type than query",
        ),
        (
            "template-job-rule",
            dashboard(panel(query()), variables=[DATASOURCE_VARIABLE, query_variable("job", label="Work")]),
            "label it 'job'",
        ),
        ("template-instance-rule", dashboard(panel(query()), variables=[DATASOURCE_VARIABLE]), "no variable instance"),
        ("template-on-time-change-reload-rule", dashboard(variables=[query_variable("job", refresh=1)]), "set its refresh to 2"),
        ("panel-datasource-rule", dashboard(panel(query(), datasource={"type": "prometheus", "uid": "prom-1"})), "data source prom-1"),
        ("panel-datasource-rule", dashboard(panel(query(), datasource=None)), "the default data source"),
        ("panel-datasource-rule", dashboard(panel(query(), datasource="$other")), "data source $other"),
        ("panel-title-description-rule", dashboard(panel(query(), title="", description=" ")), "no title and no description"),
        ("panel-units-rule", dashboard(panel(query(), fieldConfig={})), "no unit"),
        ("panel-no-targets-rule", dashboard(panel()), "has no query"),
        ("panel-no-targets-rule", dashboard({"type": "row", "panels": [panel()]}), "has no query"),
        ("target-rate-interval-rule", dashboard(panel(query("rate(a_total[5m])"))), "rate is over [5m]"),
        ("target-rate-interval-rule", dashboard(panel(query("sum by (x) (irate(a_total[1h]))"))), "irate is over [1h]"),
        ("target-rate-interval-rule", dashboard_with_elements("increase(a_total[$__interval])"), "increase is over [$__interval]"),
        ("target-job-rule", dashboard(panel(query("up"))), 'up is not narrowed by job=~"$job"'),
        ("target-job-rule", dashboard(panel(query('up{job="api"}'))), "up is not narrowed"),
        ("target-job-rule", dashboard(panel(query('up{job!~"$job"}'))), "up is not narrowed"),
        ("target-job-rule", dashboard(panel(query('{__name__="up"}'))), "a selector is not narrowed"),
        ("target-job-rule", dashboard_with_elements("up"), "up is not narrowed"),
        (
            "target-instance-rule",
            dashboard(panel(query('a{job="$job"} / on(job) group_left b{instance="$instance"}'))),
            "a is not narrowed",
        ),
        ("target-counter-agg-rule", dashboard(panel(query("sum by (job) (errors_total)"))), "errors_total is a counter"),
        ("target-counter-agg-rule", dashboard(panel(query("a_sum / a_count"))), "a_sum is a counter"),
        ("target-reference-rule", dashboard(panel(query(), expression("B", expression="$A + $C"))), "query B: refers to C"),
        ("target-reference-rule", dashboard(panel(expression("B", "reduce", expression="A"))), "refers to A"),
        ("target-reference-rule", dashboard(panel(expression("B", "threshold", expression="${A}"))), "refers to A"),
        (
            "target-reference-rule",
            dashboard(panel(expression("B", "classic_conditions", conditions=[{"query": {"params": ["Z"]}}]))),
            "refers to Z",
        ),
        ("target-cycle-rule", dashboard(panel(expression("A", expression="$B"), expression("B", expression="$A"))), "in a cycle"),
        ("target-cycle-rule", dashboard(panel(expression("A", expression="$A"))), "A → A"),
        ("target-ref-id-rule", dashboard(panel(query(), query())), "2 queries have the refId A"),
        ("target-datasource-type-rule", dashboard(panel(query(datasource={"type": "loki", "uid": "l"}))), "type loki are not supported"),
    ],
)
def test_a_rule_reports_each_violation(rule: str, spec: dict[str, Any], message_part: str) -> None:
    """The rule has a finding for the spec, whose message contains the expected part."""
    assert any(message_part in message for message in messages_of(spec, rule))


@pytest.mark.parametrize(
    ("rule", "spec"),
    [
        ("template-datasource-rule", dashboard(variables=[])),
        (
            "template-datasource-rule",
            dashboard(
                panel(query()),
                variables=[
                    {**DATASOURCE_VARIABLE, "name": "prometheus_datasource"},
                    {**DATASOURCE_VARIABLE, "name": "loki_datasource", "query": "loki"},
                ],
            ),
        ),
        ("template-job-rule", dashboard(panel(query(datasource={"type": "postgres", "uid": "p"})), variables=[])),
        ("template-on-time-change-reload-rule", dashboard(variables=[{"name": "step", "type": "custom", "refresh": 0}])),
        ("panel-datasource-rule", dashboard(panel(query(), datasource={"type": "datasource", "uid": "-- Mixed --"}))),
        ("panel-datasource-rule", dashboard(panel(query(), datasource="$datasource"))),
        ("panel-title-description-rule", dashboard(panel(title="", type="text"))),
        ("panel-units-rule", dashboard(panel(query(), fieldConfig={"defaults": {"mappings": [{"type": "value"}]}}))),
        ("panel-units-rule", dashboard(panel(query(), type="stat", fieldConfig={}, options={"reduceOptions": {"fields": "/.*/"}}))),
        ("panel-units-rule", dashboard(panel(query(), fieldConfig={"overrides": [{"properties": [{"id": "unit", "value": "s"}]}]}))),
        ("panel-no-targets-rule", dashboard(panel(libraryPanel={"uid": "x"}))),
        ("target-rate-interval-rule", dashboard(panel(query("max_over_time(rate(a_total[$__rate_interval])[1h:5m])")))),
        ("target-rate-interval-rule", dashboard(panel(query("avg_over_time(a[5m])")))),
        ("target-rate-interval-rule", dashboard(panel(query('label_replace(up, "a", "rate(x[5m])", "b", "") # rate(x[5m])')))),
        ("target-rate-interval-rule", dashboard(panel(query("rate(a_total[5m])", datasource={"type": "loki", "uid": "l"})))),
        ("target-job-rule", dashboard(panel(query("time() - 1e3 * $factor + inf")))),
        ("target-job-rule", dashboard(panel(query('sum by (up) (a{job=~"$job"} offset 5m) > bool 1')))),
        ("target-job-rule", dashboard(panel(query('a{job="${job:regex}"} @ end() unless on (up) ${metric}{job="$job"}')))),
        ("target-counter-agg-rule", dashboard(panel(query("count by (job) (a_total) + absent(b_total) + resets(c_total[1h])")))),
        ("target-counter-agg-rule", dashboard(panel(query("sum(job:a_total) + sum(rate(b_total[5m])) by (c_total)")))),
        ("target-reference-rule", dashboard(panel(query(), expression("B", expression="$A * $job + ${A} / $__interval")))),
        ("target-reference-rule", dashboard(panel(query("$C"), expression("B", "sql", expression="SELECT * FROM C")))),
        ("target-datasource-type-rule", dashboard(panel(query(), expression("B", expression="$A")))),
        ("target-datasource-type-rule", dashboard(panel(query(datasource={"type": "$kind", "uid": "x"})))),
    ],
)
def test_valid_dashboards_are_accepted(rule: str, spec: dict[str, Any]) -> None:
    """A spec that resembles a violation of the rule, and is valid, has no finding."""
    assert messages_of(spec, rule) == []


def test_every_rule_has_a_case_in_which_it_finds_something() -> None:
    """A rule without a case could be broken unnoticed."""
    (parametrization,) = test_a_rule_reports_each_violation.pytestmark
    _, cases = parametrization.args
    assert {rule for rule, *_ in cases} == set(RULES)


def test_the_type_of_a_query_is_that_of_the_variable_that_chooses_its_data_source() -> None:
    """A query whose data source is a variable is linted as PromQL, because the variable chooses a data source of Prometheus."""
    assert messages_of(dashboard(panel(query("up", datasource="$datasource"))), "target-job-rule")


def test_an_unknown_type_of_data_source_is_a_warning() -> None:
    """An unknown type of data source is a warning, because the dashboard may be valid elsewhere."""
    issues = lint(dashboard(panel(query(datasource={"type": "loki", "uid": "l"}))))
    assert {issue.severity for issue in issues if issue.rule == "target-datasource-type-rule"} == {LintSeverity.WARNING}


def test_the_number_of_reported_issues_is_limited() -> None:
    issues = lint(dashboard(*(panel() for _ in range(MAX_ISSUES + 1))))
    assert len(issues) == MAX_ISSUES
    assert issues[-1].message == "at least 200 issues: the rest is not listed"


@pytest.mark.parametrize("expr", ["{" * 20000, "(" * 20000, "rate(" * 20000 + "[" * 20000, '"' * 20001, "$" * 20000, "a[[" * 20000])
def test_text_that_is_not_a_query_is_read_to_its_end(expr: str) -> None:
    """Any text can be linted: the scanner neither fails nor runs endlessly."""
    lint(dashboard(panel(query(expr))))


@pytest.mark.parametrize(
    "expr",
    [
        pytest.param("(" * 20000 + "{}" * 10000, id="selectors"),
        pytest.param("(" * 20000 + "[]" * 10000, id="ranges"),
        pytest.param('"' + '\\"' * 20000, id="quotes"),
        pytest.param("${" * 20000, id="variables"),
        pytest.param("up" * 1_000_000, id="length"),
    ],
)
def test_linting_a_query_takes_linear_time(expr: str) -> None:
    """A query of any length is linted in linear time, because any author of a pull request can have queries linted.

    Nested or unclosed strings are not scanned again from each position.
    """
    # Scans in quadratic time would take hundreds of millions of steps.
    lint(dashboard(panel(query(expr))))

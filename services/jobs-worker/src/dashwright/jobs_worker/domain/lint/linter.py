"""The linter: all rules over a dashboard, with the exclusions of a repository."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from dashwright.common.models.values import LintSeverity
from dashwright.jobs_worker.domain.lint import panels, queries, references, templates
from dashwright.jobs_worker.domain.lint.board import board_of
from dashwright.jobs_worker.domain.lint.finding import Finding, Rule, Waivers
from dashwright.jobs_worker.domain.lint.issue import Issue

RULES: Final[Mapping[str, Rule]] = {
    "target-reference-rule": references.references_exist,
    "target-cycle-rule": references.references_have_no_cycle,
    "target-ref-id-rule": references.ref_ids_are_unique,
    "target-datasource-type-rule": references.types_are_known,
    "template-datasource-rule": templates.has_source_variable,
    "template-job-rule": templates.label_variable("job"),
    "template-instance-rule": templates.label_variable("instance"),
    "template-on-time-change-reload-rule": templates.query_variables_reload,
    "panel-datasource-rule": panels.source_is_variable,
    "panel-title-description-rule": panels.has_title_and_description,
    "panel-units-rule": panels.has_unit,
    "panel-no-targets-rule": panels.has_targets,
    "target-rate-interval-rule": queries.rates_over_rate_interval,
    "target-job-rule": queries.label_matcher("job"),
    "target-instance-rule": queries.label_matcher("instance"),
    "target-counter-agg-rule": queries.counters_are_rated,
    "uneditable-dashboard": templates.is_not_editable,
}
"""The rules by name, as in dashboard-linter's configuration; the first four are Dashwright's own."""

ERROR_RULES: Final = frozenset({"target-reference-rule", "target-cycle-rule", "target-ref-id-rule"})
"""Rules whose findings are errors, because the dashboard cannot work; the other rules give warnings."""

MAX_ISSUES: Final = 200
"""Limit on the issues reported for one dashboard."""

_MAX_TITLE_CHARACTERS: Final = 80


def lint(spec: Mapping[str, Any], waivers: Waivers | None = None) -> list[Issue]:
    """Return at most MAX_ISSUES errors and warnings in the order of the rules. If there are more, the last issue says so."""
    issues = list(islice(_issues(spec, waivers), MAX_ISSUES + 1))
    if len(issues) > MAX_ISSUES:
        limit_issue = Issue(LintSeverity.WARNING, "lint", f"at least {MAX_ISSUES} issues: the rest is not listed")
        issues[MAX_ISSUES - 1 :] = [limit_issue]
    return issues


def _issues(spec: Mapping[str, Any], waivers: Waivers | None) -> Iterator[Issue]:
    board = board_of(spec)
    for name, rule in RULES.items():
        for finding in rule(board):
            if waivers is None or not waivers.excludes(name, board.title, finding):
                only_warns = waivers is not None and waivers.only_warns(name, board.title, finding)
                severity = LintSeverity.WARNING if only_warns or name not in ERROR_RULES else LintSeverity.ERROR
                yield Issue(severity, name, _message(finding), finding.pointer)


def _message(finding: Finding) -> str:
    return finding.message if finding.panel is None else f"panel {finding.panel[:_MAX_TITLE_CHARACTERS]!r}: {finding.message}"

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
    "target-cycle-rule": references.references_end,
    "target-ref-id-rule": references.ref_ids_are_unique,
    "target-datasource-type-rule": references.types_are_known,
    "template-datasource-rule": templates.source_variable,
    "template-job-rule": templates.label_variable("job"),
    "template-instance-rule": templates.label_variable("instance"),
    "template-on-time-change-reload-rule": templates.reloads,
    "panel-datasource-rule": panels.source_is_variable,
    "panel-title-description-rule": panels.has_title_and_description,
    "panel-units-rule": panels.has_unit,
    "panel-no-targets-rule": panels.has_targets,
    "target-rate-interval-rule": queries.rates_over_rate_interval,
    "target-job-rule": queries.label_matcher("job"),
    "target-instance-rule": queries.label_matcher("instance"),
    "target-counter-agg-rule": queries.counters_are_rated,
    "uneditable-dashboard": templates.is_editable,
}
"""The rules by name, as in dashboard-linter's configuration; the first four are Dashwright's own."""

BROKEN: Final = frozenset({"target-reference-rule", "target-cycle-rule", "target-ref-id-rule"})
"""Rules whose findings are errors, because the dashboard cannot work; the other rules give warnings."""

MOST: Final = 200
"""Limit on the issues reported for one dashboard."""

_LONGEST_TITLE: Final = 80


def lint(spec: Mapping[str, Any], waivers: Waivers | None = None) -> list[Issue]:
    """Return errors and warnings in the order of the rules; if there are more than 200, the last one says so."""
    found = list(islice(_issues(spec, waivers), MOST + 1))
    if len(found) > MOST:
        rest = Issue(LintSeverity.WARNING, "lint", f"at least {MOST} issues: the rest is not listed")
        found[MOST - 1 :] = [rest]
    return found


def _issues(spec: Mapping[str, Any], waivers: Waivers | None) -> Iterator[Issue]:
    board = board_of(spec)
    for name, rule in RULES.items():
        for finding in rule(board):
            if waivers is None or not waivers.excludes(name, board.title, finding):
                only_warns = waivers is not None and waivers.only_warns(name, board.title, finding)
                severity = LintSeverity.WARNING if only_warns or name not in BROKEN else LintSeverity.ERROR
                yield Issue(severity, name, _message(finding), finding.pointer)


def _message(finding: Finding) -> str:
    return finding.message if finding.panel is None else f"panel {finding.panel[:_LONGEST_TITLE]!r}: {finding.message}"

"""Rules on the dashboard itself and its variables. Each function is named for what its rule requires."""

from collections.abc import Iterator
from typing import Final

from dashwright.jobs_worker.domain.lint.board import Board
from dashwright.jobs_worker.domain.lint.finding import Finding, Rule, variable_finding

_ALL_VALUE: Final = ".+"
"""Regular expression for the option "All". Unlike ``.*``, it does not match series without the label."""


def is_not_editable(board: Board) -> Iterator[Finding]:
    """Yield a finding if the dashboard can be edited where it is shown."""
    if board.is_editable:
        yield Finding(
            "the dashboard can be edited where it is shown: set editable to false, so that it is changed in its repository",
            pointer="/editable",
        )


def has_source_variable(board: Board) -> Iterator[Finding]:
    """Yield findings on the variables that choose the data source: if they are missing, or have an unusual name or label."""
    if not any(panel.targets for panel in board.panels):
        return
    source_variables = [variable for variable in board.variables if variable.source_type]
    if not source_variables:
        yield Finding("no variable chooses the data source: add one of type datasource, named datasource")
    for variable in source_variables:
        names = [f"{variable.source_type}_datasource", *(["datasource"] if len(source_variables) == 1 else [])]
        if variable.name not in names:
            yield variable_finding(variable, f"the variable {variable.name} chooses a data source: name it {' or '.join(reversed(names))}")
        if len(source_variables) == 1 and variable.label.lower() != "data source":
            yield variable_finding(variable, f"the variable {variable.name} is labelled {variable.label!r}: label it 'Data source'")


def query_variables_reload(board: Board) -> Iterator[Finding]:
    """Yield a finding for each query variable that keeps its values when the time range changes."""
    for variable in board.variables:
        if variable.is_query and not variable.reloads_on_time_change:
            yield variable_finding(
                variable, f"the variable {variable.name} keeps its values when the time range changes: set its refresh to 2"
            )


def label_variable(label: str) -> Rule:
    """Return the rule that a Prometheus dashboard has a variable for values of ``label``."""

    def check(board: Board) -> Iterator[Finding]:
        if not board.queries_prometheus:
            return
        variable = next((variable for variable in board.variables if variable.name == label), None)
        if variable is None:
            yield Finding(f"no variable {label}: add one, of type query, to choose the {label} by")
            return
        if not variable.is_query:
            yield variable_finding(variable, f"the variable {label} is of another type than query: set its type to query")
        elif variable.source.variable not in {source_variable.name for source_variable in board.variables if source_variable.source_type}:
            yield variable_finding(variable, f"the variable {label} queries a fixed data source: let a variable choose it")
        if variable.label.lower() != label:
            yield variable_finding(variable, f"the variable {label} is labelled {variable.label!r}: label it {label!r}")
        if not variable.is_multi:
            yield variable_finding(variable, f"only one {label} can be chosen: set multi of its variable to true")
        if variable.all_value != _ALL_VALUE:
            yield variable_finding(variable, f"allValue of the variable {label} is {variable.all_value!r}: set it to {_ALL_VALUE!r}")

    return check

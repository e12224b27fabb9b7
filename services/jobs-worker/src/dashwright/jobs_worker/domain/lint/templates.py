"""Rules on the dashboard itself and its variables."""

from collections.abc import Iterator
from typing import Final

from dashwright.jobs_worker.domain.lint.board import Board
from dashwright.jobs_worker.domain.lint.finding import Finding, Rule, in_variable

_ALL: Final = ".+"


def is_editable(board: Board) -> Iterator[Finding]:
    """Yield a finding if the dashboard can be edited where it is shown."""
    if board.is_editable:
        yield Finding(
            "the dashboard can be edited where it is shown: set editable to false, so that it is changed in its repository",
            pointer="/editable",
        )


def source_variable(board: Board) -> Iterator[Finding]:
    """Yield findings on variables that choose the data source: missing, misnamed or mislabelled ones."""
    if not any(panel.targets for panel in board.panels):
        return
    found = [variable for variable in board.variables if variable.source_type]
    if not found:
        yield Finding("no variable chooses the data source: add one of type datasource, named datasource")
    for variable in found:
        names = [f"{variable.source_type}_datasource", *(["datasource"] if len(found) == 1 else [])]
        if variable.name not in names:
            yield in_variable(variable, f"the variable {variable.name} chooses a data source: name it {' or '.join(reversed(names))}")
        if len(found) == 1 and variable.label.lower() != "data source":
            yield in_variable(variable, f"the variable {variable.name} is labelled {variable.label!r}: label it 'Data source'")


def reloads(board: Board) -> Iterator[Finding]:
    """Yield query variables that keep their values when the time range changes."""
    for variable in board.variables:
        if variable.is_query and not variable.reloads_on_time_change:
            yield in_variable(variable, f"the variable {variable.name} keeps its values when the time range changes: set its refresh to 2")


def label_variable(label: str) -> Rule:
    """Return the rule that a Prometheus dashboard has a usable variable for the values of a label."""

    def check(board: Board) -> Iterator[Finding]:
        if not board.queries_prometheus:
            return
        variable = next((variable for variable in board.variables if variable.name == label), None)
        if variable is None:
            yield Finding(f"no variable {label}: add one, of type query, to choose the {label} by")
            return
        if not variable.is_query:
            yield in_variable(variable, f"the variable {label} does not ask for its values: make it one of type query")
        elif variable.source.variable not in {other.name for other in board.variables if other.source_type}:
            yield in_variable(variable, f"the variable {label} asks a fixed data source: let a variable choose it")
        if variable.label.lower() != label:
            yield in_variable(variable, f"the variable {label} is labelled {variable.label!r}: label it {label!r}")
        if not variable.is_multi:
            yield in_variable(variable, f"only one {label} can be chosen: set multi of its variable to true")
        if variable.all_value != _ALL:
            yield in_variable(variable, f"allValue of the variable {label} is {variable.all_value!r}: set it to {_ALL!r}")

    return check

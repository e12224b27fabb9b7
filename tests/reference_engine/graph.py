"""The expressions and queries of a request, and the outcome of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.reference_engine import classic, math, reduce, resample, threshold
from tests.reference_engine.math_text import Tree, references
from tests.reference_engine.values import Items, Outcome, Refused

Parsed = Tree | reduce.Reduce | resample.Resample | threshold.Threshold | list[classic.Condition]
"""A parsed expression: a tree for math, a list of conditions for classic conditions."""


@dataclass(frozen=True)
class Graph:
    """The expressions and queries of a request.

    ``Refused`` replaces an expression that could not be parsed, or the items of a query whose frames could not be read.
    ``classic_ref_ids`` are the refIds of classic conditions.
    """

    expressions: Mapping[str, Parsed | Refused]
    queries: Mapping[str, Items | Refused]
    classic_ref_ids: frozenset[str]

    def outcome(self, ref_id: str) -> Outcome | Refused:
        """Return the outcome of a refId.

        The first of these errors decides: the text is invalid, an input is unsuitable, the expression is in a cycle, an input failed,
        the evaluation fails.
        """
        if ref_id in self.queries:
            items = self.queries[ref_id]
            return items if isinstance(items, Refused) else Outcome(items)
        expression = self.expressions[ref_id]
        if isinstance(expression, Refused):
            return expression
        inputs = inputs_of(expression)
        for name in inputs:
            if fault := self._input_fault(ref_id, name):
                return fault
        if ref_id in self._direct_and_indirect_inputs(ref_id):
            return Refused("cycle", "the expression leads back to itself")
        items_by_name: dict[str, Items] = {}
        for name in inputs:
            outcome = self.outcome(name)
            if isinstance(outcome, Refused):
                return Refused("dependencyError", f"{name} has an error")
            items_by_name[name] = outcome.items
        try:
            return evaluate(expression, items_by_name)
        except Refused as refused:
            return refused

    def _input_fault(self, ref_id: str, name: str) -> Refused | None:
        """Return the error if an input is unsuitable, else None. An input that could not be parsed is not unsuitable, but has failed."""
        if name not in self.expressions and name not in self.queries:
            return Refused("dependencyNotFound", "unable to find dependent node")
        if name == ref_id:
            return Refused("selfReference", "an expression cannot reference itself")
        if isinstance(self.expressions.get(name), Refused):
            return None
        if ref_id in self.classic_ref_ids and name in self.expressions:
            return Refused("classicInput", "only queries may be inputs to a classic condition")
        if name in self.classic_ref_ids:
            return Refused("classicOutput", "classic conditions may not be the input for other expressions")
        return None

    def _direct_and_indirect_inputs(self, ref_id: str) -> set[str]:
        """Return every refId that an expression reads, directly or through other expressions."""
        ref_ids: set[str] = set()
        waiting = [ref_id]
        while waiting:
            expression = self.expressions.get(waiting.pop())
            names = [] if expression is None or isinstance(expression, Refused) else inputs_of(expression)
            waiting += [name for name in names if name not in ref_ids]
            ref_ids |= set(names)
        return ref_ids


def inputs_of(expression: Parsed) -> list[str]:
    """Return the refIds that an expression names, each once, in the order of their first mention."""
    match expression:
        case list():
            return list(dict.fromkeys(condition.ref_id for condition in expression))
        case reduce.Reduce() | resample.Resample() | threshold.Threshold():
            return [expression.expression]
    return references(expression)


def evaluate(expression: Parsed, inputs: Mapping[str, Items]) -> Outcome:
    """Evaluate an expression over the items of its inputs, by refId. Raises Refused if the evaluation fails."""
    match expression:
        case list():
            return classic.evaluate(expression, inputs)
        case reduce.Reduce():
            return reduce.evaluate(expression, inputs[expression.expression])
        case resample.Resample():
            return resample.evaluate(expression, inputs[expression.expression])
        case threshold.Threshold():
            return threshold.evaluate(expression, inputs[expression.expression])
    return math.evaluate(expression, inputs)

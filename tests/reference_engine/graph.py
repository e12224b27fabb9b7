"""The expressions of a request, and their dependencies."""

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

    ``expressions`` has a refusal for each text that was not understood, and ``queries`` one for each query whose frames could not be
    read.
    """

    expressions: Mapping[str, Parsed | Refused]
    queries: Mapping[str, Items | Refused]
    classics: frozenset[str]

    def outcome(self, ref_id: str) -> Outcome | Refused:
        """Return the outcome; errors by precedence: parsing, unsuitable inputs, cycles, failed inputs, evaluation."""
        if ref_id in self.queries:
            read = self.queries[ref_id]
            return read if isinstance(read, Refused) else Outcome(read)
        expression = self.expressions[ref_id]
        if isinstance(expression, Refused):
            return expression
        inputs = inputs_of(expression)
        for name in inputs:
            if fault := self._unsuitable(ref_id, name):
                return fault
        if ref_id in self._direct_and_indirect_inputs(ref_id):
            return Refused("cycle", "the expression leads back to itself")
        body: dict[str, Items] = {}
        for name in inputs:
            outcome = self.outcome(name)
            if isinstance(outcome, Refused):
                return Refused("dependencyError", f"{name} has an error")
            body[name] = outcome.items
        try:
            return evaluate(expression, body)
        except Refused as refused:
            return refused

    def _unsuitable(self, ref_id: str, name: str) -> Refused | None:
        """Return the first fault of an input. An expression that could not be parsed is an input with an error."""
        if name not in self.expressions and name not in self.queries:
            return Refused("dependencyNotFound", "unable to find dependent node")
        if name == ref_id:
            return Refused("selfReference", "an expression cannot reference itself")
        if isinstance(self.expressions.get(name), Refused):
            return None
        if ref_id in self.classics and name in self.expressions:
            return Refused("classicInput", "only queries may be inputs to a classic condition")
        if name in self.classics:
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

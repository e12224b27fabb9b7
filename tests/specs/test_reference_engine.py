"""Runs the plain-text cases of this folder against ``tests/reference_engine``."""

import re
from datetime import UTC, datetime

import pytest
from tests.reference_engine import classic, math, math_text, reduce, resample, threshold
from tests.reference_engine.durations import window
from tests.reference_engine.labels import fingerprint
from tests.reference_engine.values import Item, Items, NoData, Number, Outcome, Refused, Scalar, Series
from tests.specs import test_expression_specs as specs

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_LIMIT_ERRORS = ("windows, more than the", "points, more than the", "series pairs")
"""Parts of error messages about limits. The reference has no limits."""

_SCHEMA_ERRORS = ("reduction foo", "replaceWithValue must be", "downsampling avg", "upsampling zero", "xor", "threshold A above")
"""Parts of errors or expressions. The JSON schemas reject these expressions, so the reference never receives them."""


def to_item(item: specs.Item) -> Item:
    """Return an item of a case as an item of the reference."""
    match item.kind:
        case "series":
            assert item.times is not None
            return Series(list(zip(item.times, item.values, strict=True)), item.labels, item.name)
        case "number":
            return Number(item.values[0], item.labels, item.name)
        case "scalar":
            return Scalar(item.values[0])
    return NoData()


def from_item(item: Item) -> specs.Item:
    """Return an item of the reference as an item of a case."""
    match item:
        case Series(points=points, labels=labels):
            return specs.Item("series", dict(labels), [value for _, value in points], [time for time, _ in points])
        case Number(value=value, labels=labels):
            return specs.Item("number", dict(labels), [value])
        case Scalar(value=value):
            return specs.Item("scalar", {}, [value])
    return specs.Item("nodata", {}, [])


def ref_id_of(text: str) -> str:
    """Return the refId of ``A``, ``$A`` or ``${my query}``."""
    return text.removeprefix("$").removeprefix("{").removesuffix("}")


def to_evaluator(text: str) -> threshold.Evaluator:
    """Return the evaluator of a text such as ``within_range 1 2``."""
    name, *bounds = text.split()
    return threshold.Evaluator(name, [float(bound) for bound in bounds])


def evaluate_reduce(text: str, inputs: dict[str, Items]) -> Outcome:
    match = specs.match_whole(specs._REDUCE, text)
    value = None if match["value"] is None else float(match["value"])
    name = input_ref_id(match["input"])
    return reduce.evaluate(reduce.Reduce(name, match["reducer"], (match["mode"] or "strict").replace("strict", ""), value), inputs[name])


def evaluate_resample(text: str, evaluation: specs.Evaluation, inputs: dict[str, Items]) -> Outcome:
    match = specs.match_whole(specs._RESAMPLE, text)
    start, end = (
        round((time - _EPOCH).total_seconds() * 1000) * 10**6 for time in (evaluation.time_range.start, evaluation.time_range.end)
    )
    name, length = input_ref_id(match["input"]), window(match["window"])
    return resample.evaluate(resample.Resample(name, length, match["down"], match["up"], start, end), inputs[name])


def evaluate_threshold(text: str, inputs: dict[str, Items]) -> Outcome:
    match = specs.match_whole(specs._THRESHOLD, text)
    loaded = {fingerprint(specs.read_labels(labels)) for labels in re.findall(r"\{([^}]*)\}", match["loaded"] or "")}
    name = input_ref_id(match["input"])
    unload_evaluator = to_evaluator(match["until"]) if match["until"] else None
    return threshold.evaluate(threshold.Threshold(name, to_evaluator(match["test"]), unload_evaluator, loaded), inputs[name])


def evaluate_classic(text: str, inputs: dict[str, Items]) -> Outcome:
    # The operators and the conditions alternate. The first condition has no operator.
    words = ["", *re.split(r" (and|or|logic-or|xor) (?=\S+ of )", text)]
    conditions = []
    for operator, condition in zip(words[::2], words[1::2], strict=True):
        match = specs.match_whole(specs._CONDITION, condition)
        bounds = [float(word) for word in match["params"].split()]
        conditions.append(classic.Condition(operator, ref_id_of(match["input"]), match["reducer"], match["evaluator"], bounds))
    return classic.evaluate(conditions, inputs)


def input_ref_id(text: str) -> str:
    """Return the refId of an input. Raises Refused if it is empty."""
    name = ref_id_of(text)
    if not name:
        raise Refused("parseError", "no reference")
    return name


def run(evaluation: specs.Evaluation) -> Outcome:
    """Return the outcome of the reference. Raises Refused if it is an error."""
    inputs = {ref_id: [to_item(item) for item in items] for ref_id, items in evaluation.inputs.items()}
    kind, _, text = evaluation.text.partition(" ")
    match kind:
        case "math":
            return math.evaluate(math_text.parse_math(text), inputs)
        case "reduce":
            return evaluate_reduce(text, inputs)
        case "resample":
            return evaluate_resample(text, evaluation, inputs)
        case "threshold":
            return evaluate_threshold(text, inputs)
    return evaluate_classic(text, inputs)


def is_covered(evaluation: specs.Evaluation) -> bool:
    """Return whether the reference can repeat a case: the case is not about a limit or a fault that the JSON schemas find."""
    return evaluation.error is None or not any(
        text in evaluation.error or text in evaluation.text for text in (*_LIMIT_ERRORS, *_SCHEMA_ERRORS)
    )


_EVALUATIONS = [evaluation for evaluation in specs._EVALUATIONS if is_covered(evaluation)]


@pytest.mark.parametrize("evaluation", _EVALUATIONS, ids=[evaluation.location for evaluation in _EVALUATIONS])
def test_the_reference_has_the_result_of_the_case(evaluation: specs.Evaluation) -> None:
    """The reference has the items, matches and warnings of the case, or fails if the case has an error.

    Items are compared by their order, labels, times and values.
    """
    if evaluation.error is not None:
        with pytest.raises(Refused):
            run(evaluation)
        return
    outcome = run(evaluation)
    result, expected = list(map(from_item, outcome.items)), evaluation.expected or []
    assert len(result) == len(expected), result
    assert all(map(specs.are_equal_items, result, expected)), result
    assert len(outcome.matches) == len(evaluation.matches), outcome.matches
    for (value, metric, labels), match in zip(outcome.matches, evaluation.matches, strict=True):
        assert specs.are_equal_values(value, match.value)
        assert (metric, dict(labels or {})) == (match.metric, dict(match.labels.pairs))
    assert len(outcome.warnings) == len(evaluation.warnings), outcome.warnings
    assert all(text in warning for warning, text in zip(outcome.warnings, evaluation.warnings, strict=True)), outcome.warnings


def test_the_reference_covers_nearly_all_cases() -> None:
    """The reference evaluates nearly all cases of the engine."""
    # Only cases about limits, and about faults that the JSON schemas find, are left out.
    assert len(specs._EVALUATIONS) - len(_EVALUATIONS) < 12

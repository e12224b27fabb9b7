"""Runs the plain-text cases of this folder (see README.md) against the engine."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from dashwright.common.errors import DashwrightError
from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.classic import ClassicConditions, Condition
from dashwright.expressions.engine.expression import Expression, Match, Outcome, ref_id_of
from dashwright.expressions.engine.hysteresis import Hysteresis, fingerprint
from dashwright.expressions.engine.labels import Labels, LabelSets
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.predicates import Predicate
from dashwright.expressions.engine.reduce import Reduce
from dashwright.expressions.engine.resample import Resample
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.threshold import Threshold, predicate_of
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.engine.values import Block, Cells, NoData, Numbers, Scalar, Series, Values

# Patterns of the lines of a case: items, sequences of values such as ``1+2x3`` (1, 3, 5, 7), the expressions, and matches.
_ITEM = re.compile(
    r"(?:(?P<ref>.+?)\s+)?(?P<kind>series|number|scalar|nodata)\b\s*(?:\"(?P<name>[^\"]*)\"\s*)?"
    r"(?:\{(?P<labels>[^}]*)\})?(?P<values>[^@]*)(?:@(?P<times>.*))?"
)
_SEQUENCE = re.compile(r"(?P<start>-?[\d.]+)(?P<step>[+-][\d.]+)x(?P<count>\d+)")
_REDUCE = re.compile(r"(?P<reducer>\S+) of (?P<input>.+?)(?: (?P<mode>dropNN|replaceNN|strict)(?: (?P<value>\S+))?)?")
_RESAMPLE = re.compile(r"(?P<input>.+) every (?P<window>.*), (?P<down>\w+), (?P<up>\w+)")
_CONDITION = re.compile(r"(?P<reducer>\S+) of (?P<input>.*?) ?\b(?P<evaluator>[a-z_]+)(?P<params>(?: -?[\d.]+)*)")
_THRESHOLD = re.compile(r"(?P<input>.+?) (?P<test>[a-z_]+(?: -?[\d.]+)*)(?: until (?P<until>[a-z_]+(?: -?[\d.]+)*), loaded(?P<loaded>.*))?")
_MATCH = re.compile(r"(?P<value>\S+)(?: (?P<metric>[^{]+?))?(?: \{(?P<labels>[^}]*)\})?")
_LIMITS: dict[str, Callable[[Limits, int], Limits]] = {
    "memory": lambda limits, value: replace(limits, math_bytes=value),
    "buckets": lambda limits, value: replace(limits, resample_buckets=value),
    "points": lambda limits, value: replace(limits, query_points=value),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The time range of a case that does not name one, because its expression does not need it.
_EMPTY_RANGE = TimeRange(_EPOCH, _EPOCH)
_SPECIAL_VALUES = {"null": None, "NaN": math.nan, "Inf": math.inf, "-Inf": -math.inf}
#: Nanoseconds of each unit of times.
_UNITS = {"ms": 1_000_000, "s": 1_000_000_000, "ns": 1}
#: Nanoseconds between the points of a series whose times are not given. The first point is at one such step, too.
_DEFAULT_STEP = 5 * _UNITS["s"]


@dataclass(frozen=True)
class Item:
    """Item of a set: ``times`` in nanoseconds, on a series only."""

    kind: str
    labels: dict[str, str]
    values: list[float | None]
    times: list[int] | None = None
    name: str = ""


@dataclass
class Evaluation:
    """Evaluation with the inputs of its case and the expected result."""

    #: The file and the line, such as ``math:12``.
    location: str
    #: The title of the case.
    title: str
    #: The type of the expression, and its text.
    text: str
    inputs: dict[str, list[Item]]
    limits: Limits
    time_range: TimeRange
    #: The expected items; None if an error is expected.
    expected: list[Item] | None = None
    #: A part of the expected error.
    error: str | None = None
    warnings: list[str] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)


def read_item(match: re.Match[str]) -> Item:
    """Return the item of a line that ``_ITEM`` matches."""
    values = [value for word in (match["values"] or "").split() for value in read_values(word)]
    times = None
    if match["kind"] == "series":
        words = (match["times"] or "").split()
        times = [time for word in words for time in read_times(word)] or [_DEFAULT_STEP * (index + 1) for index in range(len(values))]
        assert len(times) == len(values), f"as many times as values: {match[0]}"
    return Item(match["kind"], read_labels(match["labels"]), values, times, match["name"] or "")


def read_labels(text: str | None) -> dict[str, str]:
    """Return the labels of a text such as ``a=1, b=2``."""
    return dict(pair.partition("=")[::2] for pair in (text or "").split(", ") if pair)


def read_match(text: str) -> Match:
    """Return a match of classic conditions: a value, and optionally a metric and labels in braces."""
    match = _MATCH.fullmatch(text)
    assert match, f"cannot be parsed: {text}"
    return Match(read_values(match["value"])[0], match["metric"] or "", Labels.of(read_labels(match["labels"])))


def read_values(word: str) -> list[float | None]:
    """Return the value of a word, or the values of a sequence such as ``1+2x3``, which are one more than the number after ``x``."""
    if word in _SPECIAL_VALUES:
        return [_SPECIAL_VALUES[word]]
    if pattern := _SEQUENCE.fullmatch(word):
        return [float(pattern["start"]) + float(pattern["step"]) * index for index in range(int(pattern["count"]) + 1)]
    return [float(word)]


def read_time(word: str) -> int:
    """Return a time such as ``5s`` in nanoseconds."""
    number, unit = re.fullmatch(r"(-?\d+)(ns|ms|s)", word).groups()  # type: ignore[union-attr]
    return int(number) * _UNITS[unit]


def read_times(word: str) -> list[int]:
    """Return the time of a word, or the times of a sequence such as ``0s+5sx3``, as in ``read_values``."""
    if pattern := re.fullmatch(r"(?P<start>-?\d+[mn]?s)\+(?P<step>\d+[mn]?s)x(?P<count>\d+)", word):
        return [read_time(pattern["start"]) + read_time(pattern["step"]) * index for index in range(int(pattern["count"]) + 1)]
    return [read_time(word)]


def read_time_range(text: str) -> TimeRange:
    """Return the time range of a text such as ``0s to 60s``."""
    start, end = (_EPOCH + timedelta(microseconds=read_time(word) // 1000) for word in text.split(" to "))
    return TimeRange(start, end)


def read_file(path: Path) -> Iterator[Evaluation]:
    """Yield the evaluations of a file. Inputs, limits and the time range apply to all later evaluations of their case."""
    title, inputs, limits, time_range, current = "", dict[str, list[Item]](), Limits(), _EMPTY_RANGE, None
    for index, source_line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = re.sub(r"(^|\s)#.*", "", source_line).strip()
        word, _, arguments = line.partition(" ")
        if word == "case":
            title, inputs, limits, time_range = arguments, {}, Limits(), _EMPTY_RANGE
        elif word == "limit":
            name, value = arguments.split()
            limits = _LIMITS[name](limits, int(value))
        elif word == "range":
            time_range = read_time_range(arguments)
        elif line.endswith(" nothing") and word != "=>":
            inputs[line.removesuffix(" nothing")] = []
        # The refId of an input may be the name of a type of expressions.
        elif word in _EXPRESSION_READERS and not _ITEM.fullmatch(line):
            if current:
                yield current
            current = Evaluation(f"{path.stem}:{index}", title, line, dict(inputs), limits, time_range)
        elif word == "=>":
            assert current, f"{path.name}:{index}: there is no evaluation before it"
            add_expectation(current, arguments)
        elif line:
            match = _ITEM.fullmatch(line)
            assert match, f"{path.name}:{index}: cannot be parsed: {line}"
            assert match["ref"], f"{path.name}:{index}: an input requires a refId: {line}"
            inputs.setdefault(match["ref"], []).append(read_item(match))
    if current:
        yield current


def add_expectation(evaluation: Evaluation, text: str) -> None:
    """Add the expectation of a line ``=>``: an error, a warning, a match, an item, or ``nothing`` for an empty set."""
    word, _, arguments = text.partition(" ")
    if word == "error":
        evaluation.error = arguments
    elif word == "warning":
        evaluation.warnings.append(arguments)
    elif word == "match":
        evaluation.matches.append(read_match(arguments))
    else:
        evaluation.expected = evaluation.expected or []
        if word != "nothing":
            match = _ITEM.fullmatch(text)
            assert match, f"{evaluation.location}: cannot be parsed: {text}"
            evaluation.expected.append(read_item(match))


def to_cells(values: list[float | None]) -> Cells:
    """Return values as the engine stores them."""
    return Cells.with_nulls(np.array(values, np.float64), np.array([value is None for value in values], np.bool_))


def to_values(items: list[Item]) -> Values:
    """Return a set of the engine. Series whose times equal those of the previous series share its block."""
    labels, names = tuple(Labels.of(item.labels) for item in items), tuple(item.name for item in items)
    match items[0].kind if items else "number":
        case "nodata":
            return NoData()
        case "scalar":
            return Scalar.of(items[0].values[0])
        case "number":
            return Numbers(LabelSets.of(labels), to_cells([item.values[0] for item in items]), names)
    groups: list[list[Item]] = []
    for item in items:
        if groups and groups[-1][0].times == item.times:
            groups[-1].append(item)
        else:
            groups.append([item])
    return replace(Series.stacked(labels, [to_block(group) for group in groups]), names=names)


def to_block(group: list[Item]) -> Block:
    """Return series with the same times as a block of the engine."""
    rows = [to_cells(item.values) for item in group]
    cells = Cells.with_nulls(np.stack([row.values for row in rows]), np.stack([row.null_mask() for row in rows]))
    return Block(Axis(np.array(group[0].times, np.int64)), cells)


def from_cells(cells: Cells) -> list[float | None]:
    """Return the values of cells, which may be a single one."""
    nulls = np.atleast_1d(cells.null_mask()).tolist()
    return [None if null else value for value, null in zip(np.atleast_1d(cells.values).tolist(), nulls, strict=True)]


def from_values(values: Values) -> list[Item]:
    """Return the items of a set of the engine."""
    match values:
        case NoData():
            return [Item("nodata", {}, [])]
        case Scalar(cells=cells):
            return [Item("scalar", {}, from_cells(cells))]
        case Numbers(labels=labels, cells=cells):
            return [Item("number", dict(item.pairs), [value]) for item, value in zip(labels, from_cells(cells), strict=True)]
        case Series():
            rows_of_items = zip(values.labels, values.block_of, values.row_of, strict=True)
            blocks = values.blocks
            return [
                Item("series", dict(item.pairs), from_cells(blocks[block_index].cells.at(row)), blocks[block_index].axis.times.tolist())
                for item, block_index, row in rows_of_items
            ]


def to_expression(evaluation: Evaluation) -> Expression:
    """Return the parsed expression of an evaluation."""
    kind, _, arguments = evaluation.text.partition(" ")
    return _EXPRESSION_READERS[kind](arguments, evaluation)


# Each of these functions returns the expression of one type from its text, such as ``mean of A dropNN``.


def to_reduce(text: str, _evaluation: Evaluation) -> Expression:
    match = match_whole(_REDUCE, text)
    value = None if match["value"] is None else float(match["value"])
    return Reduce.of(match["input"], match["reducer"], (match["mode"] or "strict").replace("strict", ""), value)


def to_resample(text: str, evaluation: Evaluation) -> Expression:
    match = match_whole(_RESAMPLE, text)
    return Resample.of(ref_id_of(match["input"]), match["window"], match["down"], match["up"], evaluation.time_range, evaluation.limits)


def to_classic(text: str, _evaluation: Evaluation) -> Expression:
    # The operators and the conditions alternate. The first condition has no operator.
    words = ["", *re.split(r" (and|or|logic-or|xor) (?=\S+ of )", text)]
    conditions = []
    for index, (operator, condition) in enumerate(zip(words[::2], words[1::2], strict=True), 1):
        match = match_whole(_CONDITION, condition)
        params = [float(word) for word in match["params"].split()]
        conditions.append(Condition.of(index, operator, [match["input"]], match["reducer"], match["evaluator"], params))
    return ClassicConditions.of(conditions)


def to_threshold(text: str, _evaluation: Evaluation) -> Expression:
    match = match_whole(_THRESHOLD, text)
    hysteresis = None
    if match["until"]:
        loaded = frozenset(fingerprint(Labels.of(read_labels(labels))) for labels in re.findall(r"\{([^}]*)\}", match["loaded"]))
        hysteresis = Hysteresis(to_predicate(match["until"]), loaded)
    return Threshold(ref_id_of(match["input"]), to_predicate(match["test"]), hysteresis)


def to_predicate(text: str) -> Predicate:
    """Return the predicate of a text such as ``gt 5``."""
    name, *bounds = text.split()
    return predicate_of(name, [float(bound) for bound in bounds])


def match_whole(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    """Return the match of a whole text. Raises AssertionError if it does not match."""
    match = pattern.fullmatch(text)
    assert match, f"cannot be parsed: {text}"
    return match


_EXPRESSION_READERS: dict[str, Callable[[str, Evaluation], Expression]] = {
    "math": lambda text, _evaluation: Math.parse(text),
    "reduce": to_reduce,
    "resample": to_resample,
    "classic": to_classic,
    "threshold": to_threshold,
}


def run(evaluation: Evaluation) -> Outcome:
    """Return the outcome of the engine."""
    inputs = {ref_id: to_values(items) for ref_id, items in evaluation.inputs.items()}
    return to_expression(evaluation).evaluate(inputs, evaluation.limits)


def are_equal_values(actual: float | None, expected: float | None) -> bool:
    """Return whether two values are equal: null equals null, NaN equals NaN, and rounding may differ."""
    if actual is None or expected is None:
        return actual is expected
    if math.isnan(expected):
        return math.isnan(actual)
    return math.isclose(actual, expected, rel_tol=1e-12)


def are_equal_items(actual: Item, expected: Item) -> bool:
    """Return whether two items are equal, apart from their names and rounding."""
    return (
        (actual.kind, actual.labels, actual.times) == (expected.kind, expected.labels, expected.times)
        and len(actual.values) == len(expected.values)
        and all(are_equal_values(a, b) for a, b in zip(actual.values, expected.values, strict=True))
    )


def are_equal_matches(actual: Match, expected: Match) -> bool:
    return actual.labels == expected.labels and actual.metric == expected.metric and are_equal_values(actual.value, expected.value)


_EVALUATIONS = [evaluation for path in sorted(Path(__file__).parent.glob("*.test")) for evaluation in read_file(path)]


@pytest.mark.parametrize("evaluation", _EVALUATIONS, ids=[evaluation.location for evaluation in _EVALUATIONS])
def test_an_expression_has_the_result_of_its_case(evaluation: Evaluation) -> None:
    """Items, their order, labels, times and values, warnings and errors are those of the case."""
    assert (evaluation.error is None) != (evaluation.expected is None), "a case expects items or an error"
    if evaluation.error is not None:
        with pytest.raises(DashwrightError, match=re.escape(evaluation.error)):
            run(evaluation)
        return
    outcome = run(evaluation)
    assert not isinstance(outcome.values, Table)
    result, expected = from_values(outcome.values), evaluation.expected or []
    assert len(result) == len(expected), (evaluation.title, result)
    assert all(are_equal_items(a, b) for a, b in zip(result, expected, strict=True)), (evaluation.title, result)
    matches = outcome.matches or ()
    assert len(matches) == len(evaluation.matches), (evaluation.title, matches)
    assert all(map(are_equal_matches, matches, evaluation.matches)), (evaluation.title, matches)
    assert len(outcome.warnings) == len(evaluation.warnings), (evaluation.title, outcome.warnings)
    for warning, text in zip(outcome.warnings, evaluation.warnings, strict=True):
        assert text in warning


def test_every_spec_file_is_read() -> None:
    """The runner finds the cases: an empty selection would pass without testing anything."""
    assert len(_EVALUATIONS) > 100

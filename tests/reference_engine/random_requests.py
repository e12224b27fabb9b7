"""Random requests: one to three queries, and one to six expressions over them and each other."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf, nan
from typing import Any, Final

from hypothesis import strategies as st
from tests.reference_engine.classic import REDUCERS
from tests.reference_engine.comparisons import RANGES
from tests.reference_engine.labels import fingerprint
from tests.reference_engine.math_text import PRECEDENCE
from tests.reference_engine.random_frames import EPOCH, LABELS, POOLS, Pool, frame, max_item_count, number_column, queries, time_column

Json = Any
Tokens = list[str]

EXPRESSION_TYPES: Final = ["math", "reduce", "resample", "threshold", "classic_conditions"]

# The refIds of queries and expressions, and one that no request has.
_QUERIES: Final = ["A", "A b", "x-1.y"]
_EXPRESSIONS: Final = ["B", "C", "D", "E 2", "F_f", "Ω"]
_MISSING_REF_ID: Final = "Z"
_MAX_ITEMS: Final = 48
"""Maximum number of items of a random expression. Without it, unions of unions would have thousands of items."""

_TIME_RANGE: Final = {"from": str(EPOCH), "to": str(EPOCH + 10_000)}

# Numbers as math reads them: hexadecimal after 0x, octal after 0, and decimal because of the digits 8 and 9.
_NUMBERS: Final = ["1", "0", "2", "0.5", "3.", ".25", "1e1", "2.5e-1", "0x1F", "0X1e", "010", "089", "10", "0"]
_FUNCTIONS: Final = ["abs", "is_null", "is_nan", "is_inf", "is_number", "round", "ceil", "floor", "log"]
_CONSTANTS: Final = ["nan", "inf", "infn", "null"]
_OPERATORS: Final = [symbol for symbols in PRECEDENCE for symbol in symbols]
_INVALID_MATH: Final = ["$A +", "abs($A, 1)", "foo(1)", "1 2", "(1", "$", "${A", "1..2", "abs()", "2A", "$A = 1", "nan(1)", "'A'", "#"]
_EVALUATORS: Final = ["gt", "lt", "eq", "ne", "gte", "lte", *RANGES]
_REDUCERS: Final = ["sum", "mean", "min", "max", "count", "last", "median"]
_BOUNDS: Final = st.sampled_from([0, 1, 2, -1, 0.5, 3, 100, -2.5])


@dataclass
class Context:
    """The refIds that an expression may refer to.

    ``types`` (``series``, ``number``, ``scalar``, ``classic`` or ``other``) and ``sizes`` (number of items) describe the results of
    queries and earlier expressions; ``all_ref_ids`` has later expressions, too. One of ``stray_one_in`` references is to any refId, or
    to a missing one.
    """

    pool: Pool
    all_ref_ids: list[str]
    queries: list[str]
    stray_one_in: int
    types: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)


def happens(draw: st.DrawFn, one_in: int) -> bool:
    """Draw True once in ``one_in`` draws. Hypothesis shrinks a failing example to False."""
    return draw(st.integers(1, one_in)) == one_in


def _ref_id(draw: st.DrawFn, context: Context, preferred_types: Sequence[str], excluded: str = "") -> str:
    """Draw the refId of a result of a preferred type. Rarely, draw any other refId: a missing one, or one that closes a cycle."""
    if happens(draw, context.stray_one_in):
        return draw(st.sampled_from([*context.all_ref_ids, _MISSING_REF_ID]))
    candidates = [ref_id for ref_id, type_ in context.types.items() if type_ in preferred_types and ref_id != excluded]
    if not candidates or happens(draw, 20):
        candidates = [ref_id for ref_id, type_ in context.types.items() if type_ != "classic"]
    return draw(st.sampled_from(candidates))


def _reference(draw: st.DrawFn, ref_id: str) -> str:
    """Draw a reference in the forms of ``expression`` in reduce, resample and threshold."""
    return draw(st.sampled_from([ref_id, f"${ref_id}", f"${{{ref_id}}}"]))


def _math_reference(ref_id: str) -> st.SearchStrategy[Tokens]:
    """Draw a reference in the forms of math."""
    braces = [f"${{{ref_id}}}"]
    return st.sampled_from([[f"${ref_id}"], braces] if re.fullmatch(r"\w+", ref_id) else [braces])


def _compound(parts: st.SearchStrategy[Tokens]) -> st.SearchStrategy[Tokens]:
    """Return longer expressions whose operands get no parentheses automatically, so that precedence matters."""
    return st.one_of(
        st.builds(lambda left, symbol, right: [*left, symbol, *right], parts, st.sampled_from(_OPERATORS), parts),
        parts.map(lambda inside: ["(", *inside, ")"]),
        st.builds(lambda sign, inside: [sign, *inside], st.sampled_from("-!"), parts),
        st.builds(lambda name, inside: [name, "(", *inside, ")"], st.sampled_from(_FUNCTIONS), parts),
    )


@st.composite
def _joined_references(draw: st.DrawFn, names: Sequence[str], leaf: st.SearchStrategy[Tokens]) -> Tokens:
    """Draw two results with an operator between them, in a larger expression."""
    tokens = [*draw(_math_reference(names[0])), draw(st.sampled_from(_OPERATORS)), *draw(_math_reference(names[1]))]
    return (
        draw(st.recursive(st.just(tokens) | st.just(["(", *tokens, ")"]) | leaf, _compound, max_leaves=3))
        if draw(st.booleans())
        else tokens
    )


def _with_spaces(draw: st.DrawFn, tokens: Tokens) -> str:
    """Return the tokens as text, with the same white space between all of them."""
    space = draw(st.sampled_from([" ", "", "\n\t "]))
    return space.join(tokens)


# Each strategy of an expression draws its members, the type of its result, and the number of its items.


@st.composite
def math(draw: st.DrawFn, context: Context) -> Json:
    """Draw an expression over one or two references, rarely an invalid one."""
    if happens(draw, 40):
        return {"expression": draw(st.sampled_from(_INVALID_MATH))}, "other", 1
    types = ["series", "number", "scalar"]
    names = [_ref_id(draw, context, types)]
    if not happens(draw, 3):
        names.append(_ref_id(draw, context, types, excluded=names[0]))
    leaf = st.one_of(
        *map(_math_reference, names),
        st.sampled_from(_NUMBERS).map(lambda text: [text]),
        st.sampled_from(_CONSTANTS).map(lambda name: [name, "(", ")"]),
    )
    tokens = draw(
        st.one_of(_compound(leaf), st.recursive(leaf, _compound, max_leaves=6)) if len(names) == 1 else _joined_references(names, leaf)
    )
    # A union has at most the product of the items of its sides.
    count = 1
    ref_ids = [token.strip("${}") for token in tokens if token.startswith("$")]
    for name in ref_ids:
        count *= context.sizes.get(name, 1)
    if count > _MAX_ITEMS:
        # The expression is replaced by one over its first reference.
        tokens, ref_ids = ["-", *draw(_math_reference(ref_ids[0]))], ref_ids[:1]
    operand_types = {context.types.get(name, "other") for name in ref_ids} or {"scalar"}
    # The first of these types that an operand has is the type of the result.
    type_ = next((type_ for type_ in ("other", "series", "number", "scalar") if type_ in operand_types), "other")
    return {"expression": _with_spaces(draw, tokens)}, type_, min(count, _MAX_ITEMS)


@st.composite
def reduce(draw: st.DrawFn, context: Context) -> Json:
    """Draw a reduce expression in any mode; numbers are valid inputs, too."""
    name = _ref_id(draw, context, ["series", "number"])
    settings = draw(
        st.sampled_from(
            [None, {"mode": "dropNN"}, {"mode": "replaceNN", "replaceWithValue": 7}, {"mode": "replaceNN", "replaceWithValue": -0.5}]
        )
    )
    reducer = draw(st.sampled_from(_REDUCERS))
    optional_settings = {} if settings is None else {"settings": settings}
    return {"expression": _reference(draw, name), "reducer": reducer, **optional_settings}, "number", context.sizes.get(name, 1)


@st.composite
def resample(draw: st.DrawFn, context: Context) -> Json:
    """Draw a resample expression, rarely with a window that is longer than the time range, or invalid."""
    name = _ref_id(draw, context, ["series"])
    usual_windows = ["1s", "2s", "500ms", "1.5s", "3s", "1s1ms", "700ms"]
    unusual_windows = ["1h", "1d", "5", "0s", "-1s", "1d1h", "10s"]
    window = draw(st.sampled_from(unusual_windows if happens(draw, 15) else usual_windows))
    body: dict[str, Json] = {
        "expression": _reference(draw, name),
        "window": window,
        "downsampler": draw(st.sampled_from(_REDUCERS)),
        "upsampler": draw(st.sampled_from(["pad", "backfilling", "fillna"])),
    }
    if happens(draw, 4):
        body["timeRange"] = draw(_time_ranges())
    return body, "series", context.sizes.get(name, 1)


@st.composite
def _time_ranges(draw: st.DrawFn) -> dict[str, str]:
    """Draw a time range of up to 12 seconds in steps of half a second, rarely with a further millisecond."""
    start = draw(st.integers(-4, 10))
    return {
        "from": str(EPOCH + start * 500),
        "to": str(EPOCH + start * 500 + draw(st.integers(0, 24)) * 500 + draw(st.sampled_from([0, 0, 1]))),
    }


@st.composite
def _evaluators(draw: st.DrawFn, *, exact: bool) -> Json:
    """Draw an evaluator, rarely without its bounds. Unless ``exact``, it may have one bound too many."""
    name = draw(st.sampled_from([*_EVALUATORS, "no_value"] if exact else _EVALUATORS))
    required = 2 if name in RANGES else 0 if name == "no_value" else 1
    count = required + (0 if exact else draw(st.integers(0, 1)))
    if happens(draw, 40):
        count = 0
    return {"type": name, "params": draw(st.lists(_BOUNDS, min_size=count, max_size=count))}


@st.composite
def threshold(draw: st.DrawFn, context: Context) -> Json:
    """Draw a threshold expression, half of them with an evaluator for recovery, or with the items that have fired before."""
    name = _ref_id(draw, context, ["series", "number", "scalar"])
    condition = {"evaluator": draw(_evaluators(exact=False))}
    if draw(st.booleans()):
        condition["unloadEvaluator"] = draw(_evaluators(exact=False))
    if draw(st.booleans()):
        condition["loadedDimensions"] = draw(_fingerprints(context.pool))
    return {"expression": _reference(draw, name), "conditions": [condition]}, context.types.get(name, "other"), context.sizes.get(name, 1)


@st.composite
def _fingerprints(draw: st.DrawFn, pool: Pool) -> Json:
    """Draw fingerprints of label sets, most of them of the pool, as whole numbers or as text."""
    labels = draw(st.lists(st.one_of(st.sampled_from(pool.labels), LABELS), max_size=4))
    if not labels and draw(st.booleans()):
        return {}
    convert = draw(st.sampled_from([int, str]))
    return {
        "schema": {
            "meta": {"type": "fingerprints", "typeVersion": [1, 0]},
            "fields": [{"name": "fingerprints", "type": "number", "typeInfo": {"frame": "uint64"}}],
        },
        "data": {"values": [[convert(fingerprint(label_set)) for label_set in labels]]},
    }


@st.composite
def classic_conditions(draw: st.DrawFn, context: Context) -> Json:
    """Draw one to four conditions over queries, rarely with a reducer that classic conditions do not have."""
    conditions = [
        {
            "operator": {"type": draw(st.sampled_from(["and", "or", "logic-or"]))},
            "query": {"params": [_reference(draw, _query_ref_id(draw, context))]},
            "reducer": {"type": "mean" if happens(draw, 60) else draw(st.sampled_from(REDUCERS))},
            "evaluator": draw(_evaluators(exact=True)),
        }
        for _ in range(draw(st.integers(1, 4)))
    ]
    return {"conditions": conditions}, "classic", 1


def _query_ref_id(draw: st.DrawFn, context: Context) -> str:
    """Draw the refId of a query, or rarely any refId, because only queries are valid inputs of classic conditions."""
    return draw(st.sampled_from([*context.all_ref_ids, _MISSING_REF_ID] if happens(draw, context.stray_one_in) else context.queries))


_STRATEGIES: Final = {
    "math": math,
    "reduce": reduce,
    "resample": resample,
    "threshold": threshold,
    "classic_conditions": classic_conditions,
}


@st.composite
def requests(draw: st.DrawFn, types: Sequence[str] = EXPRESSION_TYPES, max_targets: int = 6, stray_one_in: int = 40) -> Json:
    """Draw a request with targets in any order; some are hidden, and one in ``stray_one_in`` references is arbitrary."""
    query_ids = _QUERIES[: draw(st.integers(1, 3))]
    expression_ids = _EXPRESSIONS[: draw(st.integers(1, max_targets))]
    context = Context(draw(POOLS), [*query_ids, *expression_ids], query_ids, stray_one_in)
    targets: list[dict[str, Json]] = []
    for ref_id in query_ids:
        context.types[ref_id], frames = draw(queries(context.pool))
        context.sizes[ref_id] = max_item_count(frames)
        source = {"datasource": {"type": "grafana-testdata-datasource"}, "scenarioId": "raw_frame"}
        targets.append({"refId": ref_id, **source, "rawFrameContent": json.dumps(frames)})
    for ref_id in expression_ids:
        type_ = draw(st.sampled_from(types))
        body, context.types[ref_id], context.sizes[ref_id] = draw(_STRATEGIES[type_](context))
        targets.append({"refId": ref_id, "type": type_, "datasource": {"type": "__expr__"}, **body})
    for target in targets:
        if happens(draw, 5):
            target["hide"] = True
    return {"queries": draw(st.permutations(targets)), **draw(_time_ranges())}


_WORDS: Final = [
    *_OPERATORS,
    *"-!(),$=&|.'\"_é²\u00a0",
    *_NUMBERS,
    *("$A", "${A b}", "(", ")", "abs(", "nan()", "inf", "foo", " ", "e1"),
]
_SPECIAL_VALUES: Final = [None, nan, inf, -inf, 0.0, 1.0, -2.5, 3.0]


def special_values_request(texts: Iterable[str]) -> Json:
    """Return a request of math over ``$A`` and ``${A b}``, two series that contain every pair of the special values."""
    axis = [EPOCH * 10**6 + second * 10**9 for second in range(len(_SPECIAL_VALUES) ** 2)]
    pairs = zip(*product(_SPECIAL_VALUES, _SPECIAL_VALUES), strict=True)
    source = {"datasource": {"type": "grafana-testdata-datasource"}, "scenarioId": "raw_frame"}
    targets = [
        {"refId": ref_id, **source, "rawFrameContent": json.dumps([frame([time_column(axis), number_column(values, None)])])}
        for ref_id, values in zip(_QUERIES, pairs, strict=False)
    ]
    expressions = [{"refId": f"M{index}", "type": "math", "expression": text} for index, text in enumerate(texts)]
    return {"queries": [*targets, *expressions], **_TIME_RANGE}


def operator_pairs() -> Iterator[list[str]]:
    """Yield expressions with every pair of operators, so that precedence matters, and with signs and functions of their results."""
    # A list for each first operator is one request.
    for first in _OPERATORS:
        yield [f"$A {first} ${{A b}} {second} {number}" for second in _OPERATORS for number in ("2", "$A")]
        yield [f"{name}($A {first} ${{A b}}) {first} {sign}$A" for name in _FUNCTIONS for sign in "-!"]


@st.composite
def word_sequences(draw: st.DrawFn) -> Json:
    """Draw a request with math expressions: some are valid, and some are words in any order, which are usually invalid."""
    leaf = st.one_of(*map(_math_reference, _QUERIES[:2]), st.sampled_from(_NUMBERS).map(lambda text: [text]))
    valid_math = st.recursive(leaf, _compound, max_leaves=5).map("".join)
    text = st.one_of(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=7).map("".join), valid_math)
    return special_values_request(draw(st.lists(text, min_size=1, max_size=4)))


def request_text(request: Json) -> str:
    """Return the request as text. Its frames are JSON values instead of strings of JSON."""
    targets = [
        {**target, "rawFrameContent": json.loads(target["rawFrameContent"])} if "rawFrameContent" in target else target
        for target in request["queries"]
    ]
    targets.sort(key=lambda target: "type" in target)
    lines = ",\n  ".join(json.dumps(target, ensure_ascii=False) for target in targets)
    return f'{{"from": "{request["from"]}", "to": "{request["to"]}", "queries": [\n  {lines}]}}'

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
from tests.reference_engine.drawn_frames import EPOCH, LABELS, POOLS, Pool, frame, number_column, queries, size, time_column
from tests.reference_engine.labels import fingerprint
from tests.reference_engine.math_text import PRECEDENCE

Json = Any
Tokens = list[str]

KINDS: Final = ["math", "reduce", "resample", "threshold", "classic_conditions"]

_QUERIES: Final = ["A", "A b", "x-1.y"]
_EXPRESSIONS: Final = ["B", "C", "D", "E 2", "F_f", "Ω"]
_MISSING_REF_ID: Final = "Z"
_LARGEST: Final = 48
"""Items that an expression of a random request may have at most, so that unions of unions stay small."""

_SPAN: Final = {"from": str(EPOCH), "to": str(EPOCH + 10_000)}

_NUMBERS: Final = ["1", "0", "2", "0.5", "3.", ".25", "1e1", "2.5e-1", "0x1F", "0X1e", "010", "089", "10", "0"]
_FUNCTIONS: Final = ["abs", "is_null", "is_nan", "is_inf", "is_number", "round", "ceil", "floor", "log"]
_CONSTANTS: Final = ["nan", "inf", "infn", "null"]
_OPERATORS: Final = [symbol for symbols in PRECEDENCE for symbol in symbols]
_NOT_UNDERSTOOD: Final = ["$A +", "abs($A, 1)", "foo(1)", "1 2", "(1", "$", "${A", "1..2", "abs()", "2A", "$A = 1", "nan(1)", "'A'", "#"]
_EVALUATORS: Final = ["gt", "lt", "eq", "ne", "gte", "lte", *RANGES]
_REDUCERS: Final = ["sum", "mean", "min", "max", "count", "last", "median"]
_BOUNDS: Final = st.sampled_from([0, 1, 2, -1, 0.5, 3, 100, -2.5])


@dataclass
class Context:
    """The refIds that an expression may refer to.

    ``kinds`` and ``sizes`` describe the earlier expressions; ``all_ref_ids`` also has the later ones. One of ``stray_one_in``
    references is to any refId, or to a missing one.
    """

    pool: Pool
    all_ref_ids: list[str]
    queries: list[str]
    stray_one_in: int
    kinds: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)


def seldom(draw: st.DrawFn, one_in: int) -> bool:
    """Draw True once in ``one_in`` draws. A failing example shrinks to False."""
    return draw(st.integers(1, one_in)) == one_in


def _ref_id(draw: st.DrawFn, context: Context, types: Sequence[str], but: str = "") -> str:
    """Draw a refId of one of the wanted kinds, or rarely any other: a missing one, or one that reads this expression."""
    if seldom(draw, context.stray_one_in):
        return draw(st.sampled_from([*context.all_ref_ids, _MISSING_REF_ID]))
    fitting = [ref_id for ref_id, kind in context.kinds.items() if kind in types and ref_id != but]
    if not fitting or seldom(draw, 20):
        fitting = [ref_id for ref_id, kind in context.kinds.items() if kind != "classic"]
    return draw(st.sampled_from(fitting))


def _reference(draw: st.DrawFn, ref_id: str) -> str:
    """Draw a reference in the forms of ``expression`` in reduce, resample and threshold."""
    return draw(st.sampled_from([ref_id, f"${ref_id}", f"${{{ref_id}}}"]))


def _math_reference(ref_id: str) -> st.SearchStrategy[Tokens]:
    """Draw a reference in the forms of math."""
    braces = [f"${{{ref_id}}}"]
    return st.sampled_from([[f"${ref_id}"], braces] if re.fullmatch(r"\w+", ref_id) else [braces])


def _longer(parts: st.SearchStrategy[Tokens]) -> st.SearchStrategy[Tokens]:
    """Return longer expressions without additional parentheses, so that precedence matters."""
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
        draw(st.recursive(st.just(tokens) | st.just(["(", *tokens, ")"]) | leaf, _longer, max_leaves=3)) if draw(st.booleans()) else tokens
    )


def _with_spaces(draw: st.DrawFn, tokens: Tokens) -> str:
    """Draw white space between the words."""
    space = draw(st.sampled_from([" ", "", "\n\t "]))
    return space.join(tokens)


@st.composite
def math(draw: st.DrawFn, context: Context) -> Json:
    if seldom(draw, 40):
        return {"expression": draw(st.sampled_from(_NOT_UNDERSTOOD))}, "other", 1
    types = ["series", "number", "scalar"]
    names = [_ref_id(draw, context, types)]
    if not seldom(draw, 3):
        names.append(_ref_id(draw, context, types, but=names[0]))
    leaf = st.one_of(
        *map(_math_reference, names),
        st.sampled_from(_NUMBERS).map(lambda text: [text]),
        st.sampled_from(_CONSTANTS).map(lambda name: [name, "(", ")"]),
    )
    tokens = draw(
        st.one_of(_longer(leaf), st.recursive(leaf, _longer, max_leaves=6)) if len(names) == 1 else _joined_references(names, leaf)
    )
    count = 1
    named = [token.strip("${}") for token in tokens if token.startswith("$")]
    for name in named:
        count *= context.sizes.get(name, 1)
    if count > _LARGEST:
        tokens, named = ["-", *draw(_math_reference(named[0]))], named[:1]
    kinds = {context.kinds.get(name, "other") for name in named} or {"scalar"}
    kind = next((kind for kind in ("other", "series", "number", "scalar") if kind in kinds), "other")
    return {"expression": _with_spaces(draw, tokens)}, kind, min(count, _LARGEST)


@st.composite
def reduce(draw: st.DrawFn, context: Context) -> Json:
    name = _ref_id(draw, context, ["series", "series", "number"])
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
    name = _ref_id(draw, context, ["series"])
    windows = ["1s", "2s", "500ms", "1.5s", "3s", "1s1ms", "700ms"]
    window = (
        draw(st.sampled_from(windows)) if not seldom(draw, 15) else draw(st.sampled_from(["1h", "1d", "5", "0s", "-1s", "1d1h", "10s"]))
    )
    body: dict[str, Json] = {
        "expression": _reference(draw, name),
        "window": window,
        "downsampler": draw(st.sampled_from(_REDUCERS)),
        "upsampler": draw(st.sampled_from(["pad", "backfilling", "fillna"])),
    }
    if seldom(draw, 4):
        body["timeRange"] = draw(_spans())
    return body, "series", context.sizes.get(name, 1)


@st.composite
def _spans(draw: st.DrawFn) -> dict[str, str]:
    start = draw(st.integers(-4, 10))
    return {
        "from": str(EPOCH + start * 500),
        "to": str(EPOCH + start * 500 + draw(st.integers(0, 24)) * 500 + draw(st.sampled_from([0, 0, 1]))),
    }


@st.composite
def _evaluators(draw: st.DrawFn, *, exactly: bool) -> Json:
    name = draw(st.sampled_from([*_EVALUATORS, "no_value"] if exactly else _EVALUATORS))
    needed = 2 if name in RANGES else 0 if name == "no_value" else 1
    count = needed + (0 if exactly else draw(st.integers(0, 1)))
    if seldom(draw, 40):
        count = 0
    return {"type": name, "params": draw(st.lists(_BOUNDS, min_size=count, max_size=count))}


@st.composite
def threshold(draw: st.DrawFn, context: Context) -> Json:
    name = _ref_id(draw, context, ["series", "number", "scalar"])
    condition = {"evaluator": draw(_evaluators(exactly=False))}
    if draw(st.booleans()):
        condition["unloadEvaluator"] = draw(_evaluators(exactly=False))
    if draw(st.booleans()):
        condition["loadedDimensions"] = draw(_fingerprints(context.pool))
    return {"expression": _reference(draw, name), "conditions": [condition]}, context.kinds.get(name, "other"), context.sizes.get(name, 1)


@st.composite
def _fingerprints(draw: st.DrawFn, pool: Pool) -> Json:
    """Draw fingerprints of label sets, most of them of the pool, as whole numbers or as text."""
    labels = draw(st.lists(st.one_of(st.sampled_from(pool.labels), LABELS), max_size=4))
    if not labels and draw(st.booleans()):
        return {}
    written = draw(st.sampled_from([int, str]))
    return {
        "schema": {
            "meta": {"type": "fingerprints", "typeVersion": [1, 0]},
            "fields": [{"name": "fingerprints", "type": "number", "typeInfo": {"frame": "uint64"}}],
        },
        "data": {"values": [[written(fingerprint(label_set)) for label_set in labels]]},
    }


@st.composite
def classic_conditions(draw: st.DrawFn, context: Context) -> Json:
    conditions = [
        {
            "operator": {"type": draw(st.sampled_from(["and", "or", "logic-or"]))},
            "query": {"params": [_reference(draw, _query(draw, context))]},
            "reducer": {"type": "mean" if seldom(draw, 60) else draw(st.sampled_from(REDUCERS))},
            "evaluator": draw(_evaluators(exactly=True)),
        }
        for _ in range(draw(st.integers(1, 4)))
    ]
    return {"conditions": conditions}, "classic", 1


def _query(draw: st.DrawFn, context: Context) -> str:
    return draw(st.sampled_from([*context.all_ref_ids, _MISSING_REF_ID] if seldom(draw, context.stray_one_in) else context.queries))


_STRATEGIES: Final = {
    "math": math,
    "reduce": reduce,
    "resample": resample,
    "threshold": threshold,
    "classic_conditions": classic_conditions,
}


@st.composite
def requests(draw: st.DrawFn, kinds: Sequence[str] = KINDS, max_targets: int = 6, stray_one_in: int = 40) -> Json:
    """Draw a request with targets in any order; some are hidden, and one in ``stray_one_in`` references is arbitrary."""
    chosen = _QUERIES[: draw(st.integers(1, 3))]
    computed = _EXPRESSIONS[: draw(st.integers(1, max_targets))]
    context = Context(draw(POOLS), [*chosen, *computed], chosen, stray_one_in)
    targets: list[dict[str, Json]] = []
    for ref_id in chosen:
        context.kinds[ref_id], frames = draw(queries(context.pool))
        context.sizes[ref_id] = size(frames)
        source = {"datasource": {"type": "grafana-testdata-datasource"}, "scenarioId": "raw_frame"}
        targets.append({"refId": ref_id, **source, "rawFrameContent": json.dumps(frames)})
    for ref_id in computed:
        kind = draw(st.sampled_from(kinds))
        body, context.kinds[ref_id], context.sizes[ref_id] = draw(_STRATEGIES[kind](context))
        targets.append({"refId": ref_id, "type": kind, "datasource": {"type": "__expr__"}, **body})
    for target in targets:
        if seldom(draw, 5):
            target["hide"] = True
    return {"queries": draw(st.permutations(targets)), **draw(_spans())}


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
    chosen = [
        {"refId": ref_id, **source, "rawFrameContent": json.dumps([frame([time_column(axis), number_column(values, None)])])}
        for ref_id, values in zip(_QUERIES, pairs, strict=False)
    ]
    computed = [{"refId": f"M{index}", "type": "math", "expression": text} for index, text in enumerate(texts)]
    return {"queries": [*chosen, *computed], **_SPAN}


def operator_pairs() -> Iterator[list[str]]:
    """Draw every operator next to every other, so that only precedence decides, and signs and functions of results."""
    for first in _OPERATORS:
        yield [f"$A {first} ${{A b}} {second} {number}" for second in _OPERATORS for number in ("2", "$A")]
        yield [f"{name}($A {first} ${{A b}}) {first} {sign}$A" for name in _FUNCTIONS for sign in "-!"]


@st.composite
def word_sequences(draw: st.DrawFn) -> Json:
    """Draw math expressions of words in any order. Most of them are invalid."""
    leaf = st.one_of(*map(_math_reference, _QUERIES[:2]), st.sampled_from(_NUMBERS).map(lambda text: [text]))
    meaning = st.recursive(leaf, _longer, max_leaves=5).map("".join)
    text = st.one_of(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=7).map("".join), meaning)
    return special_values_request(draw(st.lists(text, min_size=1, max_size=4)))


def readable(request: Json) -> str:
    """Return the request as text. Its frames are JSON values instead of strings of JSON."""
    visible = [
        {**target, "rawFrameContent": json.loads(target["rawFrameContent"])} if "rawFrameContent" in target else target
        for target in request["queries"]
    ]
    visible.sort(key=lambda target: "type" in target)
    targets = ",\n  ".join(json.dumps(target, ensure_ascii=False) for target in visible)
    return f'{{"from": "{request["from"]}", "to": "{request["to"]}", "queries": [\n  {targets}]}}'

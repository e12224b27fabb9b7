"""The published schemas and the models accept the same documents."""

import copy
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic.alias_generators import to_snake

from dashwright.api.models.schema import SCHEMA_DRAFT, panel_schema, target_schema
from dashwright.common.models.expressions import TARGETS
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.requests.binding import BoundQuery, bind

pytestmark = pytest.mark.exhaustive

VALIDATORS = {type_: jsonschema_rs.Draft4Validator(target_schema(type_)) for type_ in TARGETS}
PANEL = jsonschema_rs.Draft4Validator(panel_schema())

TEXT = st.text(max_size=3)
NUMBERS = st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)


def objects(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of objects, whose optional members may be missing or null."""
    return st.fixed_dictionaries(required, optional={name: strategy | st.none() for name, strategy in optional.items()})


def one_of(text: str) -> st.SearchStrategy[str]:
    """Return a strategy of the words of a text."""
    return st.sampled_from(text.split())


REDUCER = one_of("sum mean min max count last median")
COMPARISON = one_of("gt lt eq ne gte lte within_range outside_range within_range_included outside_range_included")
EVALUATOR = objects({"params": st.lists(NUMBERS, max_size=2), "type": COMPARISON}, {})
ASSERTIONS = objects(
    {"typeVersion": st.lists(st.integers(0, 3), min_size=2, max_size=2)},
    {"type": st.just("") | one_of("timeseries-multi table log-lines"), "maxFrames": st.integers(0, 5)},
)
COMMON = {
    "datasource": objects({"type": st.just("__expr__")}, {"uid": TEXT, "apiVersion": TEXT}),
    "hide": st.booleans(),
    "queryType": TEXT,
    "resultAssertions": ASSERTIONS,
    "timeRange": objects({}, {"from": TEXT, "to": TEXT}),
}
SETTINGS = objects({"mode": st.just("dropNN")}, {"replaceWithValue": st.none()}) | objects(
    {"mode": st.just("replaceNN"), "replaceWithValue": NUMBERS}, {}
)
CONDITION = objects(
    {
        "evaluator": objects({"params": st.lists(NUMBERS, max_size=2), "type": TEXT}, {}),
        "operator": objects({"type": one_of("and or logic-or")}, {}),
        "query": objects({"params": st.lists(TEXT, max_size=2)}, {}),
        "reducer": objects({"type": TEXT}, {}),
    },
    {},
)
EXPRESSION = {"expression": st.text(min_size=1, max_size=3)}
# The required and the optional members of each type of target, in addition to the common ones.
MEMBERS_BY_TYPE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "math": (EXPRESSION, {}),
    "reduce": (EXPRESSION | {"reducer": REDUCER}, {"settings": SETTINGS}),
    "resample": (
        EXPRESSION | {"window": st.text(min_size=1, max_size=3), "downsampler": REDUCER, "upsampler": one_of("pad backfilling fillna")},
        {},
    ),
    "classic_conditions": ({"conditions": st.lists(CONDITION, max_size=2)}, {}),
    "threshold": (
        EXPRESSION
        | {
            "conditions": st.lists(
                objects(
                    {"evaluator": EVALUATOR},
                    {"unloadEvaluator": EVALUATOR, "loadedDimensions": st.dictionaries(TEXT, JSON, max_size=2)},
                ),
                max_size=2,
            )
        },
        {},
    ),
    "sql": (EXPRESSION, {}),
}


def targets(type_: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of valid targets of a type."""
    required, optional = MEMBERS_BY_TYPE[type_]
    return objects({"refId": st.text(min_size=1, max_size=3), "type": st.just(type_)} | required, COMMON | optional)


def containers(value: Any) -> list[Any]:
    """Return the value, if it is an object or a list, and every object and list inside it."""
    if not isinstance(value, dict | list):
        return []
    children = value.values() if isinstance(value, dict) else value
    return [value, *(container for item in children for container in containers(item))]


@st.composite
def mutated_targets(draw: st.DrawFn, type_: str) -> dict[str, Any]:
    """Draw a valid target in which one member at any depth is removed, added or changed."""
    target = copy.deepcopy(draw(targets(type_)))
    container = draw(st.sampled_from(containers(target)))
    if isinstance(container, list):
        index = draw(st.integers(0, len(container)))
        container[index : index + 1] = draw(st.lists(JSON, max_size=2))
    elif container and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(container)))
        value = container.pop(name)
        # In half of the cases, the member gets its Python name, which is not a valid name in JSON.
        if draw(st.booleans()):
            container[to_snake(name) if name != "from" else "from_"] = value
    else:
        names = [*sorted(container), "colour", "ref_id", "type_version", "replaceWithValue"]
        container[draw(st.sampled_from(names))] = draw(JSON)
    return target


def is_accepted(type_: str, target: dict[str, Any]) -> bool:
    """Return whether the model of a type accepts a target."""
    try:
        TARGETS[type_].model_validate(target)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("type_", TARGETS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_valid_target_is_accepted_by_model_and_schema(type_: str, data: st.DataObject) -> None:
    """Every valid target is accepted by the model and by the schema."""
    target = data.draw(targets(type_))
    assert is_accepted(type_, target)
    VALIDATORS[type_].validate(target)


@pytest.mark.parametrize("type_", TARGETS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_model_and_schema_agree_about_mutated_targets(type_: str, data: st.DataObject) -> None:
    """The schema accepts exactly the mutated targets that the model accepts."""
    target = data.draw(mutated_targets(type_))
    assert is_accepted(type_, target) == VALIDATORS[type_].is_valid(target)


def is_bound(item: Any) -> bool:
    """Return whether the panel endpoint accepts a target."""
    return isinstance(bind(item, "", QueryContext(QueryEndpoint.PANEL)), BoundQuery)


SOURCES = TEXT | st.sampled_from(["__expr__", "-100"]) | JSON
USUAL_MEMBERS = st.fixed_dictionaries(
    {},
    optional={
        "refId": TEXT | st.none(),
        "datasource": SOURCES | st.fixed_dictionaries({}, optional={"type": SOURCES, "uid": SOURCES}),
        "type": st.sampled_from([*TARGETS, "timeSeriesQuery", None]),
        "intervalMs": JSON,
        "anything": JSON,
        "expression": TEXT,
    },
)


@settings(max_examples=300, deadline=None)
@given(item=st.one_of(USUAL_MEMBERS, *map(mutated_targets, TARGETS)))
def test_the_panel_schema_accepts_what_the_endpoint_accepts(item: Any) -> None:
    """The schema of panels accepts a target exactly if the panel endpoint accepts it."""
    assert PANEL.is_valid({"type": "graph", "targets": [item]}) == is_bound(item)


@pytest.mark.parametrize("document", [panel_schema(), *map(target_schema, TARGETS)], ids=["panel", *TARGETS])
def test_every_document_is_draft_04(document: dict[str, Any]) -> None:
    """Each schema names draft 04, uses no keyword of later drafts, and is valid by the schema of draft 04."""
    assert document["$schema"] == SCHEMA_DRAFT
    jsonschema_rs.meta.validate(document)
    text = str(document)
    for keyword in ("'const'", "'$defs'", "'exclusiveMinimum'", "'prefixItems'"):
        assert keyword not in text

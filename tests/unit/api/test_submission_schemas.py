"""The published schemas of submissions accept and refuse what the gateway accepts and refuses."""

import json
from itertools import product
from typing import Any, Final

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.domain.submissions import read_submission
from dashwright.api.http.schemas import REFERENCE
from dashwright.api.repositories.queue_contract import submission_schemas as published
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.kinds.branches import is_branch

_SCHEMAS: Final = {"components": {"schemas": published.submission_schemas()}}
_VALIDATORS: Final = {
    name: jsonschema_rs.Draft7Validator({"allOf": [{"$ref": f"{REFERENCE}{name}"}], **_SCHEMAS})
    for name in (published.JOB_SPEC, published.JOB_SPECS, published.JOB_OBJECT, published.EVALUATION_OBJECT)
}
# The members of a spec with the options of an action.
_OPTIONS: Final = ("sync", "pull", "export", "push", "pr")
_SYNC: Final = {"action": "sync", "repository": "r", "sync": {}}
_JOB: Final = "provisioning.grafana.app/v0alpha1"
_OTHER_JOB: Final = "provisioning.grafana.app/v1"
_EVALUATION: Final = "expressions.dashwright.io/v0alpha1"


def is_accepted(value: Any) -> bool:
    """Return whether the gateway accepts a submission."""
    try:
        read_submission(json.dumps(value).encode(), "default")
    except (BadRequest, Invalid):
        return False
    return True


def matching_schemas(value: Any) -> list[str]:
    """Return the names of the published schemas that accept a submission."""
    return [name for name, validator in _VALIDATORS.items() if validator.is_valid(value)]


def without_missing(value: Any) -> Any:
    """Return a submission without the members that count as missing: null in specs, options and metadata, and an empty action."""
    if isinstance(value, list):
        return [without_missing(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() & {"kind", "spec"}:
        # A complete object: an Evaluation or a Job.
        complete = dict(value)
        if "metadata" in value:
            complete["metadata"] = _without_null(value["metadata"])
        if "spec" in value:
            is_evaluation = value.get("kind") == "Evaluation"
            complete["spec"] = _without_null(value["spec"]) if is_evaluation else without_missing(value["spec"])
        return complete
    present = _without_null(value)
    if present.get("action") == "":
        del present["action"]
    return {name: _without_null(item) if name in _OPTIONS else item for name, item in present.items()}


def _without_null(value: Any) -> Any:
    """Return an object without its null members, or another value unchanged."""
    if not isinstance(value, dict):
        return value
    return {name: item for name, item in value.items() if item is not None}


def _equally(*strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return values of the strategies, each chosen equally often. ``st.one_of`` would drop repeated strategies."""
    return st.sampled_from(strategies).flatmap(lambda strategy: strategy)


# Texts around the rules of branch names, and numbers around the bounds of 32 and 64 bits.
_TEXTS: Final = st.sampled_from(
    ["", "r", "main", "a..b", "-x", "refs/heads/x", "x.lock", "x.lock/y", "@", "HEAD", "HEADS", "b" * 254, "b" * 256, "x/", "/x", ".x"]
) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
_NUMBERS: Final = st.sampled_from([0, -1, 1, 7, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 1.5])
_VALUES: Final[st.SearchStrategy[Any]] = _TEXTS | _NUMBERS | st.booleans() | st.none() | st.just([]) | st.just({})
_SYNC_OPTIONS: Final = {"incremental": st.booleans(), "ref": st.sampled_from(["", "4f2c"])}
_EXPORT_OPTIONS: Final = {
    **dict.fromkeys(("folder", "branch", "prefix", "path"), _TEXTS),
    **dict.fromkeys(("history", "identifier"), st.booleans()),
}
_OPTION_TYPES: Final[dict[str, dict[str, st.SearchStrategy[Any]]]] = {
    "sync": {**_SYNC_OPTIONS},
    "pull": {**_SYNC_OPTIONS},
    "export": {**_EXPORT_OPTIONS},
    "push": {**_EXPORT_OPTIONS},
    "pr": {"pr": _NUMBERS, **dict.fromkeys(("ref", "hash", "url"), _TEXTS)},
}


def _typed_options(name: str) -> st.SearchStrategy[Any]:
    """Return options of an action whose types are correct."""
    return st.fixed_dictionaries({}, optional=_OPTION_TYPES[name])


def _odd_options(name: str) -> st.SearchStrategy[Any]:
    """Return options of an action with any values, or another value in their place."""
    return st.dictionaries(st.sampled_from([*_OPTION_TYPES[name], "unknown"]), _VALUES, max_size=2) | _VALUES


# Usual submissions are often valid; odd ones cover the reasons of refusals.
_USUAL_SPECS: Final = st.sampled_from(_OPTIONS).flatmap(
    lambda name: st.fixed_dictionaries(
        {"repository": st.just("r"), name: _typed_options(name)}, optional={"action": st.sampled_from(["", name, name, "pull", None])}
    )
)
_ODD_SPECS: Final = st.fixed_dictionaries(
    {},
    optional={
        "action": st.sampled_from(["", *_OPTIONS, "fly", 7, None]),
        "repository": _VALUES,
        "unknown": _VALUES,
        **{name: _odd_options(name) for name in _OPTIONS},
    },
)
_SPECS: Final = _equally(_USUAL_SPECS, _USUAL_SPECS, _ODD_SPECS)
_MAPS: Final = st.dictionaries(st.sampled_from(["a", "b", ""]), st.sampled_from(["", "x"]) | _VALUES, max_size=2)
_NAMES: Final = st.sampled_from(["", "a", "a-b.c", "a-", "-a", "A", "a" * 55, "a" * 56, "a" * 63, "a" * 64, "a\n", 7, None])
_USUAL_METADATA: Final = st.fixed_dictionaries(
    {},
    optional={
        "generateName": st.sampled_from(["a", "a-", "a" * 55]),
        "namespace": st.just("default"),
        "labels": st.dictionaries(_TEXTS, _TEXTS, max_size=2),
        "uid": _VALUES,
    },
)
_ODD_METADATA: Final[st.SearchStrategy[Any]] = st.fixed_dictionaries(
    {},
    optional={
        "name": _NAMES,
        "generateName": _NAMES,
        "namespace": st.sampled_from(["default", "", None]),
        "labels": _MAPS | st.sampled_from([None, 7, "a"]),
        "annotations": _MAPS,
        "finalizers": st.just([]),
    },
)
_USUAL_EVALUATIONS: Final = st.fixed_dictionaries(
    {"panel": st.just({"type": "stat", "targets": []})},
    optional={"queries": st.lists(st.just({"refId": "A"}), max_size=2), "from": _TEXTS | st.integers(-(2**63), 2**63 - 1), "to": _TEXTS},
)
_ODD_EVALUATIONS: Final = st.fixed_dictionaries(
    {}, optional={"panel": _VALUES, "queries": st.lists(_VALUES, max_size=2) | _VALUES, "from": _VALUES, "unknown": _VALUES}
)


def _objects(kind: str, api_version: str, usual_specs: st.SearchStrategy[Any], odd_specs: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return complete objects: valid in half of the cases, except perhaps for their specs."""
    usual_objects = st.fixed_dictionaries(
        {"kind": st.just(kind), "spec": usual_specs},
        optional={"apiVersion": st.just(api_version), "metadata": _USUAL_METADATA, "status": st.just({})},
    )
    odd_objects = st.fixed_dictionaries(
        {},
        optional={
            "kind": st.sampled_from([kind, kind, "Pod"]),
            "apiVersion": st.sampled_from([_JOB, _OTHER_JOB, _EVALUATION, "v9"]),
            "metadata": _ODD_METADATA,
            "spec": _equally(usual_specs, odd_specs),
            "status": st.sampled_from([{}, {"state": "pending"}]),
            "unknown": _VALUES,
        },
    )
    return _equally(usual_objects, odd_objects)


_SUBMISSIONS: Final = _equally(
    _SPECS,
    st.lists(_SPECS, max_size=2),
    st.lists(_VALUES, max_size=2) | _VALUES,
    _objects("Job", _JOB, _USUAL_SPECS, _ODD_SPECS | _VALUES),
    _objects("Evaluation", _EVALUATION, _USUAL_EVALUATIONS, _ODD_EVALUATIONS),
)


@given(_SUBMISSIONS)
def test_schemas_and_gateway_agree(value: Any) -> None:
    """A submission matches exactly one published schema if the gateway accepts it, and none if it does not."""
    expected_matches = 1 if is_accepted(value) else 0
    assert len(matching_schemas(without_missing(value))) == expected_matches, value


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("sync", {"ref": ["", "4f2c"], "incremental": [True, 1]}),
        ("export", {"prefix": ["", "p"], "path": ["", "p"], "history": [False, "no"], "branch": ["", "b", ".."], "unknown": [0]}),
        ("pr", {"pr": [-1, 0, 1, 2**31], "ref": ["", "r"], "url": ["", "u"], "hash": ["", "h"]}),
    ],
)
def test_options_agree_in_all_combinations(name: str, members: dict[str, list[Any]]) -> None:
    """Schema and gateway agree on all combinations of present and missing options."""
    # None is a missing option.
    for chosen in product(*([*values, None] for values in members.values())):
        options = {member: value for member, value in zip(members, chosen, strict=True) if value is not None}
        value = {"repository": "r", name: options}
        assert bool(matching_schemas(value)) == is_accepted(value), value


@given(st.text(st.sampled_from("a./@{-~^:?*[]\\ \n\u2028ä"), max_size=6) | _TEXTS)
def test_the_pattern_of_branches_is_the_rule_of_branches(name: str) -> None:
    """A branch matches the published pattern if and only if it is valid. An empty name counts as missing."""
    value = {"repository": "r", "export": {"branch": name}}
    is_valid = name == "" or is_branch(name)
    assert bool(matching_schemas(value)) == is_valid
    assert is_accepted(value) == is_valid


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (_SYNC, published.JOB_SPEC),
        ({"action": "pull", "repository": "r", "sync": {"incremental": True}}, published.JOB_SPEC),
        ({"repository": "r", "push": {"path": "p", "branch": "team/x", "history": True}}, published.JOB_SPEC),
        ({"repository": "r", "pr": {"pr": 0, "ref": "change", "hash": ""}}, published.JOB_SPEC),
        ([_SYNC] * 1000, published.JOB_SPECS),
        ({"spec": _SYNC}, published.JOB_OBJECT),
        ({"kind": "Job", "metadata": {"generateName": "nightly-", "labels": {"a": "b"}, "uid": 7}, "spec": _SYNC}, published.JOB_OBJECT),
        ({"kind": "Evaluation", "metadata": {"name": "mine"}, "spec": {"panel": {}, "from": 1, "to": "now"}}, published.EVALUATION_OBJECT),
        ([], None),
        ([_SYNC] * 1001, None),
        ([[_SYNC]], None),
        ({**_SYNC, "sync": {"ref": "4f2c"}}, None),
        ({**_SYNC, "pull": {}}, None),
        ({**_SYNC, "export": {}}, None),
        ({**_SYNC, "priority": 9}, None),
        ({"repository": "r", "action": "pr", "pr": {"hash": "4f2c"}}, None),
        ({"repository": "r", "export": {"prefix": "p", "path": "q"}}, None),
        ({"repository": "r", "export": {"branch": "a..b"}}, None),
        ({"kind": "Job", "metadata": {"name": "mine"}, "spec": _SYNC}, None),
        ({"kind": "Job", "metadata": {"labels": {"a": None}}, "spec": _SYNC}, None),
        ({"kind": "Job", "spec": _SYNC, "status": {"state": "working"}}, None),
        ({"kind": "Evaluation", "spec": {}}, None),
    ],
    ids=lambda value: str(value)[:80],
)
def test_schemas_and_gateway_agree_on_known_submissions(value: Any, schema: str | None) -> None:
    """An accepted submission matches exactly the listed schema, and a refused one matches none."""
    if schema is None:
        assert not is_accepted(value)
        assert matching_schemas(value) == []
    else:
        assert is_accepted(value)
        assert matching_schemas(value) == [schema]


@pytest.mark.parametrize("value", [{**_SYNC, "pr": None}, {**_SYNC, "action": ""}, {**_SYNC, "sync": {"ref": None}}], ids=str)
def test_values_that_count_as_missing_are_not_described(value: Any) -> None:
    """Null and an empty action count as missing. The schemas do not allow them, so that generated types are simple."""
    assert is_accepted(value)
    assert matching_schemas(value) == []

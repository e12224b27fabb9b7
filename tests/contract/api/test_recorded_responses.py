"""Comparison with recorded responses: each member that clients read must be present with the same JSON type."""

from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from tests.contract.api.conftest import Api

#: Requests in order, by area, with their statuses and responses. The values are examples.
RECORDED_CASES: Final[dict[str, list[dict[str, Any]]]] = orjson.loads(
    (Path(__file__).parents[2] / "golden" / "responses.json").read_bytes()
)


def types_of(value: Any) -> dict[str, set[str]]:
    """Return the JSON types at each path of a value. All items of a list share one path."""
    types: defaultdict[str, set[str]] = defaultdict(set)
    remaining = [("", value)]
    while remaining:
        path, node = remaining.pop()
        types[path].add(_type(node))
        if isinstance(node, dict):
            remaining += [(f"{path}.{name}", item) for name, item in node.items()]
        elif isinstance(node, list):
            remaining += [(f"{path}[]", item) for item in node]
    return types


def _type(value: Any) -> str:
    """Return the name of a value's JSON type."""
    if isinstance(value, bool):
        return "boolean"
    names = {dict: "object", list: "list", str: "text", int: "number", float: "number", type(None): "null"}
    return names[type(value)]


def differences(recorded: Any, actual: Any) -> list[str]:
    """Return the members that a response lacks or has with another type than the recorded one. Null has any type."""
    result = []
    actual_types = types_of(actual)
    for path, recorded_types_of_path in types_of(recorded).items():
        if path not in actual_types:
            result.append(f"{path} is missing")
            continue
        actual_types_of_path = actual_types[path]
        has_null = "null" in recorded_types_of_path | actual_types_of_path
        if not has_null and not actual_types_of_path <= recorded_types_of_path:
            result.append(f"{path} is {actual_types_of_path}, not {recorded_types_of_path}")
    return result


@pytest.mark.parametrize("area", RECORDED_CASES)
async def test_no_member_is_missing(git_api: Api, area: str) -> None:
    """Each request of an area, in order, returns every recorded member with its type."""
    for case in RECORDED_CASES[area]:
        status, body = await git_api(case["method"], case["path"], case.get("request"))
        assert status == case["status"], (case["path"], body)
        assert differences(case.get("response", body), body) == [], case["path"]


@pytest.mark.parametrize(
    ("recorded", "actual", "expected"),
    [
        ({"a": [{"b": 1}]}, {"a": [{"b": 2.5, "more": True}]}, []),
        ({"a": [{"b": 1}]}, {"a": []}, [".a[] is missing", ".a[].b is missing"]),
        ({"a": None}, {"a": {}}, []),
        ({"a": True}, {"a": 1}, [".a is {'number'}, not {'boolean'}"]),
        ({"a": 1}, {}, [".a is missing"]),
    ],
)
def test_differences_are_found(recorded: Any, actual: Any, expected: list[str]) -> None:
    """A missing member at any depth and a member of another type are differences. More members, other values and null are not."""
    assert differences(recorded, actual) == expected

"""Unknown fields of objects, and their advice."""

from typing import Any

import pytest

from dashwright.api.domain.unknown_fields import find_in_object
from dashwright.api.resources.options import FieldValidation, warning_headers
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, JOB, REPOSITORY


@pytest.mark.parametrize(
    ("kind", "tree", "unknown"),
    [
        (FOLDER, {}, []),
        (FOLDER, {"spec": {"title": "T", "description": "D"}}, []),
        (FOLDER, {"spec": {"title": "T", "colour": 1}, "kind": "Folder", "extra": 1}, ["extra", "spec.colour"]),
        (FOLDER, {"metadata": {"labels": {"any": "x"}, "managedFields": [], "labelz": {}}}, ["metadata.labelz"]),
        # Values of a wrong type have no fields.
        (FOLDER, {"metadata": [], "spec": "none"}, []),
        (DASHBOARD, {"spec": {"anything": {"goes": 1}}}, []),
        (REPOSITORY, {"spec": {"sync": {"enabled": True, "every": 1}, "local": {"path": "/"}}}, ["spec.sync.every"]),
        # A field by its name and by its alias.
        (REPOSITORY, {"spec": {"sync": {"interval_seconds": 1, "intervalSeconds": 1}}}, []),
        (
            REPOSITORY,
            {"status": {"stats": [{"group": "g"}, {"groups": "g"}], "sync": {"x": 1}}},
            ["status.stats[1].groups", "status.sync.x"],
        ),
        # ``path``, ``pull`` and ``push`` are synonyms of ``prefix``, ``sync`` and ``export``.
        (JOB, {"spec": {"export": {"path": "p", "prefix": "p", "postfix": "p"}}}, ["spec.export.postfix"]),
        (JOB, {"spec": {"pull": {"incremental": True}, "push": {"fast": 1}}}, ["spec.push.fast"]),
        # Jobs have neither finalizers nor owners.
        (
            JOB,
            {"metadata": {"finalizers": ["f"], "ownerReferences": [], "labels": {}}},
            ["metadata.finalizers", "metadata.ownerReferences"],
        ),
        (FOLDER, {"metadata": {"finalizers": ["f"], "ownerReferences": []}}, []),
    ],
    ids=lambda value: value.kind if isinstance(value, Kind) else str(value),
)
def test_a_field_is_known_by_any_of_its_names(kind: Kind, tree: dict[str, Any], unknown: list[str]) -> None:
    """A field is known by its name and its alias at any depth, also in lists. The open spec of a dashboard has no unknown fields."""
    assert [field.path for field in find_in_object(tree, kind)] == unknown


@pytest.mark.parametrize(
    ("tree", "advice"),
    [
        ({"spec": {"sync": {"incrementel": True}}}, 'did you mean "incremental"?'),
        ({"spec": {"repo": "r"}}, 'did you mean "repository"?'),
        ({"spec": {"when": "r"}}, "leave it out; known: action, repository, pr, export, sync"),
        ({"spec": {"reposytory": "r"}}, 'did you mean "repository"?'),
        ({"metadata": {"label": {}}}, 'did you mean "labels"?'),
        ({"specs": {}}, 'did you mean "spec"?'),
    ],
    ids=str,
)
def test_an_unknown_field_has_advice(tree: dict[str, Any], advice: str) -> None:
    """The advice for an unknown field is the most similar name, or all known names if none is similar."""
    (field,) = find_in_object(tree, JOB)
    assert field.advice == advice


def test_reported_unknown_fields_are_limited() -> None:
    """At most 20 unknown fields are reported. The strict mode refuses them, and the mode to ignore reports nothing."""
    unknown_fields = {f"field{index}": 1 for index in range(1000)}
    result = FieldValidation.WARN.warnings_for(find_in_object(unknown_fields, FOLDER))
    assert len(result) == 20
    with pytest.raises(BadRequest, match='strict decoding error: unknown field "field0", unknown field'):
        FieldValidation.STRICT.warnings_for(find_in_object(unknown_fields, FOLDER))
    assert FieldValidation.IGNORE.warnings_for(find_in_object(unknown_fields, FOLDER)) == ()


def test_warnings_fit_into_a_header() -> None:
    """Warnings are one header of printable ASCII with a limited length. Without warnings, the header is missing."""
    assert warning_headers(()) == {}
    assert warning_headers(["a"]) == {"Warning": '299 - "a"'}
    assert warning_headers(['a"b\\', "ü\r\n\x00"]) == {"Warning": '299 - "a\\"b\\\\", 299 - "\\\\xfc"'}
    assert len(warning_headers(["x" * 1500] * 9)["Warning"]) < 4096
